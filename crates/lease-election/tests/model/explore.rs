//! Breadth-first search through every state of a world, on all processors, with the shortest way to
//! what must never be. A search that stops early stops between two depths: so what it has looked at
//! does not hang on how far the threads came.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::world::{Elector, Rules, Step, World, Wrong};

/// A state by 64 bits of its outlook. Of 20 million states two are confused with a probability of 1
/// in 100,000, and then one is not looked at.
type Print = u64;

/// A print is as good as random already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("only prints are keys");
    }
    fn write_u64(&mut self, print: u64) {
        self.0 = print;
    }
}

/// How a state was reached first.
type Origins = HashMap<Print, (Print, Step), BuildHasherDefault<AsIs>>;

const SHARDS: usize = 256;

/// What a search found.
pub(crate) struct Found {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    /// Length of the shortest way to the farthest state.
    pub(crate) depth: usize,
    /// Whether every state was looked at.
    pub(crate) complete: bool,
    pub(crate) wrong: Option<(Vec<Step>, Wrong)>,
}

/// What a look at a state says.
type Look<'p, E> = dyn Fn(Print, &World<E>) -> Result<(), Wrong> + Sync + 'p;

/// States that are to be looked at.
type Frontier<E> = Vec<(Print, World<E>)>;

/// What is played, and how electors are made when they are started again.
pub(crate) struct Play<'p, E: Elector> {
    pub(crate) rules: &'p Rules,
    pub(crate) start: World<E>,
    pub(crate) restart: &'p (dyn Fn(u8, u8) -> E + Sync),
    /// The search goes no deeper once it has reached so many states: the depth at which it gets
    /// there is looked at whole.
    pub(crate) bound: usize,
    /// Looks at a state and says what is wrong with it, besides what the steps say.
    pub(crate) look: &'p Look<'p, E>,
}

fn print_of<E: Elector>(world: &World<E>, rules: &Rules, words: &mut Vec<u64>) -> Print {
    words.clear();
    world.outlook(rules, words);
    let mut hasher = DefaultHasher::new();
    for word in words.iter() {
        hasher.write_u64(*word);
    }
    hasher.finish()
}

pub(crate) fn explore<E>(play: &Play<'_, E>) -> Found
where
    E: Elector + Send + Sync,
    E::Read: Send + Sync,
    E::Write: Send + Sync,
{
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let origins: Vec<Mutex<Origins>> = (0..SHARDS).map(|_| Mutex::default()).collect();
    let first = print_of(&play.start, play.rules, &mut Vec::new());
    shard(&origins, first).insert(first, (first, Step::Tick));
    let (states, steps) = (AtomicUsize::new(1), AtomicUsize::new(0));
    let wrong: Mutex<Option<(Print, Option<Step>, Wrong)>> = Mutex::new(None);
    let mut frontier = vec![(first, play.start.clone())];
    let mut depth = 0;
    while !frontier.is_empty() && states.load(Relaxed) <= play.bound && locked(&wrong).is_none() {
        let chunks: Vec<Mutex<Frontier<E>>> = {
            let mut chunks = Vec::new();
            let mut rest = frontier;
            while !rest.is_empty() {
                let tail = rest.split_off(rest.len().saturating_sub(512));
                chunks.push(Mutex::new(tail));
            }
            chunks
        };
        let next_chunk = AtomicUsize::new(0);
        let work = || {
            let (mut next, mut todo, mut words) = (Vec::new(), Vec::new(), Vec::new());
            while let Some(chunk) = chunks.get(next_chunk.fetch_add(1, Relaxed)) {
                for (print, world) in std::mem::take(&mut *locked(chunk)) {
                    if let Err(found) = (play.look)(print, &world) {
                        locked(&wrong).get_or_insert((print, None, found));
                    }
                    todo.clear();
                    world.steps(play.rules, &mut todo);
                    for step in &todo {
                        steps.fetch_add(1, Relaxed);
                        let mut after = world.clone();
                        if let Err(found) = after.step(play.rules, *step, &play.restart) {
                            locked(&wrong).get_or_insert((print, Some(*step), found));
                            continue;
                        }
                        let reached = print_of(&after, play.rules, &mut words);
                        if is_new(&origins, reached, (print, *step)) {
                            next.push((reached, after));
                            states.fetch_add(1, Relaxed);
                        } else if is_compared(print, reached)
                            && let Err(found) =
                                behave_alike(play, &way_to(&origins, first, reached), &after)
                        {
                            locked(&wrong).get_or_insert((print, Some(*step), found));
                        }
                    }
                }
            }
            next
        };
        frontier = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .flat_map(|worker| {
                    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        });
        depth += 1;
    }
    let wrong = locked(&wrong).take().map(|(at, last, found)| {
        let mut way = way_to(&origins, first, at);
        way.extend(last);
        (way, found)
    });
    Found {
        states: states.into_inner(),
        steps: steps.into_inner(),
        depth,
        complete: frontier.is_empty() && wrong.is_none(),
        wrong,
    }
}

/// Notes how a state was reached, if it is the first time.
fn is_new(origins: &[Mutex<Origins>], reached: Print, origin: (Print, Step)) -> bool {
    match shard(origins, reached).entry(reached) {
        Entry::Vacant(vacant) => {
            vacant.insert(origin);
            true
        }
        Entry::Occupied(_) => false,
    }
}

/// Of the steps that lead to a state known already, so few are compared with how it was reached
/// first: more would cost more than the search.
const COMPARED: u64 = 256;

fn is_compared(print: Print, reached: Print) -> bool {
    // A planted bug is to be seen by what it does, and not because it decides by what nothing else
    // decides by.
    cfg!(not(wq_plant)) && (print ^ reached.rotate_left(7)).is_multiple_of(COMPARED)
}

/// What counts as the same must be: the same may happen after both, and what that leads to counts
/// as the same again. Otherwise the outlook leaves out what decides something, and states are taken
/// for known which nobody has looked at.
fn behave_alike<E: Elector>(
    play: &Play<'_, E>,
    way: &[Step],
    other: &World<E>,
) -> Result<(), Wrong> {
    let mut first = play.start.clone();
    for step in way {
        first.step(play.rules, *step, play.restart)?;
    }
    let differs =
        |what: String| Err(Wrong(format!("it counts as the same as after {way:?}, and {what}")));
    let (mut todo, mut other_todo, mut words) = (Vec::new(), Vec::new(), Vec::new());
    first.steps(play.rules, &mut todo);
    other.steps(play.rules, &mut other_todo);
    if todo != other_todo {
        return differs(format!("what may happen is {todo:?} there and {other_todo:?} here"));
    }
    for step in todo {
        let mut after = |world: &World<E>| {
            let mut world = world.clone();
            let print = world
                .step(play.rules, step, play.restart)
                .map(|()| print_of(&world, play.rules, &mut words));
            print.ok()
        };
        if after(&first) != after(other) {
            return differs(format!("{step:?} does not lead to the same"));
        }
    }
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shard(origins: &[Mutex<Origins>], print: Print) -> std::sync::MutexGuard<'_, Origins> {
    locked(&origins[usize::try_from(print >> 56).unwrap_or(0) % SHARDS])
}

fn way_to(origins: &[Mutex<Origins>], first: Print, mut at: Print) -> Vec<Step> {
    let mut way = Vec::new();
    while at != first {
        let Some((before, step)) = shard(origins, at).get(&at).copied() else { break };
        way.push(step);
        at = before;
    }
    way.reverse();
    way
}
