//! Tests of the line of waiters: random steps against a plain list.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use proptest::prelude::*;

use super::*;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Count {
    fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Enter,
    /// Goes to sleep again, woken or not.
    Sleep(usize),
    Leave(usize),
    Call,
    CallFor(usize, usize),
    Everybody,
}

fn step() -> impl Strategy<Value = Step> {
    let which = || 0_usize..16;
    prop_oneof![
        6 => Just(Step::Enter),
        3 => which().prop_map(Step::Sleep),
        4 => which().prop_map(Step::Leave),
        6 => Just(Step::Call),
        1 => (0_usize..40, 0_usize..40).prop_map(|(things, again)| Step::CallFor(things, again)),
        1 => Just(Step::Everybody),
    ]
}

struct Waiter {
    key: Option<Key>,
    count: Arc<Count>,
    id: usize,
    /// Wakes expected so far.
    woken: usize,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_line_is_a_line(steps in prop::collection::vec(step(), 0..if cfg!(miri) { 20 } else { 200 })) {
        let mut waiters = Waiters::new();
        let mut all: Vec<Waiter> = Vec::new();
        // The ids of sleepers in line, and of the woken.
        let mut asleep: VecDeque<usize> = VecDeque::new();
        let mut woken: Vec<usize> = Vec::new();
        let mut presumed_lost: Vec<usize> = Vec::new();
        let mut pressure = 0;
        for (id, step) in steps.into_iter().enumerate() {
            let mut expected = 0;
            let mut wakes = Wakes::new();
            match step {
                Step::Enter => {
                    let mut waiter = Waiter { key: None, count: Arc::default(), id, woken: 0 };
                    prop_assert!(waiters.sleep(&mut waiter.key, waiter.count.waker()).is_none());
                    asleep.push_back(id);
                    all.push(waiter);
                }
                Step::Sleep(which) if !all.is_empty() => {
                    let which = which % all.len();
                    let waiter = &mut all[which];
                    let was_woken = woken.contains(&waiter.id) || presumed_lost.contains(&waiter.id);
                    prop_assert_eq!(waiters.is_woken(waiter.key.as_ref().unwrap()), was_woken);
                    let replaced = waiters.sleep(&mut waiter.key, waiter.count.waker());
                    prop_assert_eq!(replaced.is_none(), was_woken);
                    if was_woken {
                        woken.retain(|id| *id != waiter.id);
                        presumed_lost.retain(|id| *id != waiter.id);
                        let behind = asleep.iter().position(|id| *id > waiter.id);
                        asleep.insert(behind.unwrap_or(asleep.len()), waiter.id);
                    }
                    prop_assert!(waiters.sleeps_with(waiter.key.as_ref().unwrap(), &waiter.count.waker()));
                }
                Step::Leave(which) if !all.is_empty() => {
                    let mut waiter = all.remove(which % all.len());
                    let (was_woken, waker) = waiters.leave(waiter.key.take().unwrap());
                    prop_assert_eq!(was_woken, woken.contains(&waiter.id) || presumed_lost.contains(&waiter.id));
                    prop_assert_eq!(waker.is_none(), was_woken);
                    woken.retain(|id| *id != waiter.id);
                    presumed_lost.retain(|id| *id != waiter.id);
                    asleep.retain(|id| *id != waiter.id);
                }
                Step::Sleep(_) | Step::Leave(_) => {}
                Step::Call | Step::CallFor(..) => {
                    let (things, again) = match step {
                        Step::CallFor(things, again) => {
                            waiters.call_for(things, again, &mut wakes);
                            (things, again)
                        }
                        _ => {
                            if waiters.is_due() {
                                waiters.wake_first(&mut wakes);
                            }
                            (1, 0)
                        }
                    };
                    let doubted = usize::from(!presumed_lost.is_empty());
                    expected = things.min(asleep.len()).min(IN_FLIGHT.saturating_sub(woken.len() + doubted));
                    if expected == 0 && !asleep.is_empty() {
                        pressure += things + again;
                        if pressure >= PRESSURE {
                            pressure = 0;
                            presumed_lost.append(&mut woken);
                            expected = 1;
                        }
                    }
                }
                Step::Everybody => {
                    waiters.call_everybody(&mut wakes);
                    expected = asleep.len();
                }
            }
            for id in asleep.drain(..expected) {
                woken.push(id);
                all.iter_mut().filter(|waiter| waiter.id == id).for_each(|waiter| waiter.woken += 1);
            }
            prop_assert_eq!(wakes.is_empty(), expected == 0);
            wakes.fire();
            prop_assert_eq!(waiters.counts(), (asleep.len(), woken.len(), presumed_lost.len()));
            for waiter in &all {
                prop_assert_eq!(waiter.count.get(), waiter.woken, "waiter {}", waiter.id);
            }
            prop_assert!(waiters.entries.len() <= 200);
        }
        for waiter in all {
            waiters.leave(waiter.key.unwrap());
        }
        prop_assert!(waiters.entries.len() <= KEPT, "few entries are kept when nobody waits");
        prop_assert!(waiters.entries.iter().all(|entry| matches!(entry, Entry::Free(_))));
    }
}

struct Notes {
    id: usize,
    panics: bool,
    order: Arc<std::sync::Mutex<Vec<usize>>>,
}

impl Wake for Notes {
    fn wake(self: Arc<Self>) {
        self.order.lock().unwrap().push(self.id);
        if self.panics {
            resume_unwind(Box::new(self.id));
        }
    }
}

/// Two panics at once would end the program.
#[test]
fn all_are_called_in_line_whoever_panics_and_the_first_panic_goes_on() {
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut waiters = Waiters::new();
    let mut keys = [None, None, None, None, None];
    for (id, key) in keys.iter_mut().enumerate() {
        let panics = id == 1 || id == 3;
        waiters.sleep(key, Waker::from(Arc::new(Notes { id, panics, order: Arc::clone(&order) })));
    }
    let mut wakes = Wakes::new();
    waiters.call_everybody(&mut wakes);
    let panic = catch_unwind(AssertUnwindSafe(|| wakes.fire())).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&1_usize));
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn wakes_that_are_dropped_are_called() {
    let count = Arc::new(Count::default());
    let mut waiters = Waiters::new();
    let mut keys = [None, None, None];
    for key in &mut keys {
        waiters.sleep(key, count.waker());
    }
    let mut wakes = Wakes::new();
    waiters.call_everybody(&mut wakes);
    assert_eq!(count.get(), 0);
    drop(wakes);
    assert_eq!(count.get(), 3);
}
