//! Hostile wakers: one that panics reaches the caller of the verb, and costs the observer no event of what that verb has done.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use wq_core::{Added, Observer, ProcessingGuard, WorkQueue};

/// Panics when it is called.
struct Hostile;

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("the panic that this test wants"));
    }
}

#[derive(Default)]
struct Log(Mutex<Vec<&'static str>>);

impl Log {
    fn note(&self, event: &'static str) {
        self.0.lock().unwrap().push(event);
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Log {
    fn added(&self, added: Added) {
        self.note(match added {
            Added::Queued => "queued",
            Added::Merged => "merged",
            Added::Deferred => "deferred",
            _ => "another",
        });
    }

    fn got(&self, _waited: Duration) {
        self.note("got");
    }

    fn done(&self, _worked: Duration) {
        self.note("done");
    }

    fn requeued(&self) {
        self.note("requeued");
    }

    fn removed(&self) {
        self.note("removed");
    }
}

type Queue = WorkQueue<u32>;
type Held<'q> = Option<ProcessingGuard<'q, u32>>;

/// Who waits with a waker that panics.
#[derive(Clone, Copy)]
enum Waits {
    Getter,
    Drainer,
}

struct Case {
    name: &'static str,
    before: fn(&Queue) -> Held<'_>,
    waits: Waits,
    /// With what `before` holds.
    act: for<'q> fn(&'q Queue, Held<'q>),
    /// Of the verb, and of the end of what it was called with.
    told: &'static [&'static str],
}

fn nothing(_: &Queue) -> Held<'_> {
    None
}

/// Item 1.
fn one_in_hand(queue: &Queue) -> Held<'_> {
    queue.add(1);
    queue.try_get().ok()
}

/// Item 1, which runs again.
fn one_runs_again(queue: &Queue) -> Held<'_> {
    let held = one_in_hand(queue);
    queue.add(1);
    held
}

/// Item 1.
fn one_in_a_pause(queue: &Queue) -> Held<'_> {
    queue.pause();
    queue.add(1);
    None
}

const CASES: &[Case] = &[
    Case { name: "add", before: nothing, waits: Waits::Getter, act: |q, _| _ = q.add(1), told: &["queued"] },
    Case {
        name: "try_add",
        before: nothing,
        waits: Waits::Getter,
        act: |q, _| _ = q.try_add(1),
        told: &["queued"],
    },
    Case {
        name: "add_all",
        before: nothing,
        waits: Waits::Getter,
        act: |q, _| _ = q.add_all([1, 2]),
        told: &["queued", "queued"],
    },
    Case {
        name: "add_quietly",
        before: nothing,
        waits: Waits::Getter,
        act: |q, _| _ = q.add_quietly(1, (), &mut q.notices()),
        told: &["queued"],
    },
    Case {
        name: "done",
        before: one_in_hand,
        waits: Waits::Drainer,
        act: |_, held| drop(held),
        told: &["done"],
    },
    Case {
        name: "done of one that runs again",
        before: one_runs_again,
        waits: Waits::Getter,
        act: |_, held| drop(held),
        told: &["done", "requeued"],
    },
    Case {
        name: "done_and_get of nothing",
        before: one_in_hand,
        waits: Waits::Drainer,
        act: |_, held| drop(held.map(ProcessingGuard::done_and_get)),
        told: &["done"],
    },
    Case {
        // What it was to be handed is queued again.
        name: "done_and_get",
        before: one_runs_again,
        waits: Waits::Getter,
        act: |_, held| drop(held.map(ProcessingGuard::done_and_get)),
        told: &["done", "requeued"],
    },
    Case {
        name: "remove",
        before: |queue| {
            queue.add(1);
            None
        },
        waits: Waits::Drainer,
        act: |q, _| _ = q.remove(&1),
        told: &["removed"],
    },
    Case {
        name: "abandon",
        before: |queue| {
            std::mem::forget(one_in_hand(queue));
            None
        },
        waits: Waits::Drainer,
        act: |q, _| _ = q.abandon(&1),
        told: &["done"],
    },
    Case {
        name: "shutdown_now",
        before: one_in_a_pause,
        waits: Waits::Getter,
        act: |q, _| drop(q.shutdown_now()),
        told: &["removed"],
    },
];

#[test]
fn a_waker_that_panics_costs_no_event_of_any_verb() {
    for Case { name, before, waits, act, told } in CASES {
        let log = Arc::new(Log::default());
        let queue = Queue::builder().observer(Arc::clone(&log)).build().unwrap();
        let held = before(&queue);
        let (mut get, mut drained) = (pin!(queue.get()), pin!(queue.drained()));
        let waker = Waker::from(Arc::new(Hostile));
        let mut context = Context::from_waker(&waker);
        let is_pending = match waits {
            Waits::Getter => get.as_mut().poll(&mut context).is_pending(),
            Waits::Drainer => drained.as_mut().poll(&mut context).is_pending(),
        };
        assert!(is_pending, "{name}");
        log.take();
        let panicked = catch_unwind(AssertUnwindSafe(|| act(&queue, held)));
        assert!(panicked.is_err(), "{name}: the panic reaches the caller");
        assert_eq!(log.take(), *told, "{name}");
    }
}
