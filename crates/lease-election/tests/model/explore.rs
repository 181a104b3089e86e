//! Explore: breadth-first search through every state of a world, with the shortest way to a broken
//! invariant.
//!
//! It uses all processors. An early stop falls between two depths, so thread timing does not change
//! which states the search covers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::world::{Elector, Rules, Step, World, Wrong};

/// A state, as 64 bits of its outlook. Among 20 million states two collide with a probability of 1
/// in 100,000, and the search then skips one.
type Print = u64;

/// A print is already as good as random.
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

/// The step that reached each state first.
type Origins = HashMap<Print, (Print, Step), BuildHasherDefault<AsIs>>;

const SHARDS: usize = 256;

/// The result of a search.
pub(crate) struct Found {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    /// The number of steps to the farthest state.
    pub(crate) depth: usize,
    /// Whether the search covered every state.
    pub(crate) complete: bool,
    pub(crate) wrong: Option<(Vec<Step>, Wrong)>,
}

/// The check of a state.
type Look<'p, E> = dyn Fn(Print, &World<E>) -> Result<(), Wrong> + Sync + 'p;

/// States whose next steps are still to be searched.
type Frontier<E> = Vec<(Print, World<E>)>;

/// The world to search, and how a restart makes an elector.
pub(crate) struct Play<'p, E: Elector> {
    pub(crate) rules: &'p Rules,
    pub(crate) start: World<E>,
    pub(crate) restart: &'p (dyn Fn(u8, u8) -> E + Sync),
    /// The search completes the depth at which it reaches this many states, and goes no deeper.
    pub(crate) bound: usize,
    /// Checks a state, besides the checks of each step.
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

/// Notes how a state was reached, if it is new.
fn is_new(origins: &[Mutex<Origins>], reached: Print, origin: (Print, Step)) -> bool {
    match shard(origins, reached).entry(reached) {
        Entry::Vacant(vacant) => {
            vacant.insert(origin);
            true
        }
        Entry::Occupied(_) => false,
    }
}

/// The search compares one in this many steps to a known state with the state's first way. More
/// would cost more than the search.
const COMPARED: u64 = 256;

fn is_compared(print: Print, reached: Print) -> bool {
    // A planted bug must show by its effects, not because it decides by a value that the outlook
    // omits.
    cfg!(not(wq_plant)) && (print ^ reached.rotate_left(7)).is_multiple_of(COMPARED)
}

/// States with one outlook must allow the same steps, and each step must lead to one outlook again.
/// Otherwise the outlook omits a value that matters, and the search skips states as known.
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
