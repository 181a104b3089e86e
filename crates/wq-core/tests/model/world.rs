//! World: one queue with its guards, waits and drains, beside its oracle, and the steps of a
//! program.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use proptest::prelude::*;
use wq_contract::wakes::Wakes;
use wq_core::{
    AddedAll, Drained, Get, GetOwned, GetTimeoutError, HashedAdd, OwnedProcessingGuard, Phase,
    ProcessingGuard, RejectedReason, TryGetError, WorkQueue,
};

use crate::oracle::{Next, Oracle};

/// Few items, so that the steps meet the same item.
pub(crate) const ITEMS: u8 = 6;
/// Further items: enough that the queue releases their slots.
const CROWD: Range<u8> = ITEMS..ITEMS + 132;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Add(u8),
    AddAll(Vec<u8>),
    AddQuietly(Vec<u8>),
    TryAdd(u8),
    TryGet,
    /// Gets on the thread: without a time-out if there is an item, otherwise with a zero time-out.
    GetBlocking,
    /// Begins a wait.
    Get,
    GetOwned,
    /// In this and later steps the number selects an existing getter, guard or drain.
    PollGetter(usize),
    DropGetter(usize),
    Done(usize),
    PanicAtWork(usize),
    DoneAndGet(usize),
    /// Abandons the item of a guard. The guard is kept and ends later.
    Abandon(usize),
    AbandonItem(u8),
    /// Forgets a guard: its item is in flight until it is abandoned.
    Forget(usize),
    EndStale(usize),
    Remove(u8),
    Pause,
    Resume,
    Drain,
    DropDrainer(usize),
    /// Adds and removes many items. The next items then use high slots until memory is released.
    Crowd,
    Shutdown,
    ShutdownNow,
}

/// A wait, the number of its wakes, and how many of them were seen.
struct Waiting<F> {
    future: F,
    wakes: Arc<Wakes>,
    known: usize,
}

impl<F: Future + Unpin> Waiting<F> {
    fn on(future: F) -> Self {
        Self { future, wakes: Wakes::new(), known: 0 }
    }

    fn poll(&mut self) -> Poll<F::Output> {
        self.known = self.wakes.count();
        self.wakes.poll(&mut self.future)
    }

    fn is_woken(&self) -> bool {
        self.wakes.count() > self.known
    }
}

enum Guard<'q> {
    Borrowed(ProcessingGuard<'q, u8>),
    Owned(OwnedProcessingGuard<u8>),
}

impl Guard<'_> {
    fn item(&self) -> u8 {
        match self {
            Self::Borrowed(guard) => *guard.item(),
            Self::Owned(guard) => *guard.item(),
        }
    }

    fn done(self) {
        match self {
            Self::Borrowed(guard) => guard.done(),
            Self::Owned(guard) => guard.done(),
        }
    }

    fn done_and_get(self) -> Result<Self, TryGetError> {
        match self {
            Self::Borrowed(guard) => guard.done_and_get().map(Self::Borrowed),
            Self::Owned(guard) => guard.done_and_get().map(Self::Owned),
        }
    }
}

enum Getter<'q> {
    Borrowed(Waiting<Get<'q, u8>>),
    Owned(Waiting<GetOwned<u8>>),
}

impl<'q> Getter<'q> {
    fn poll(&mut self) -> Poll<Option<Guard<'q>>> {
        match self {
            Self::Borrowed(get) => get.poll().map(|guard| guard.map(Guard::Borrowed)),
            Self::Owned(get) => get.poll().map(|guard| guard.map(Guard::Owned)),
        }
    }

    fn is_woken(&self) -> bool {
        match self {
            Self::Borrowed(get) => get.is_woken(),
            Self::Owned(get) => get.is_woken(),
        }
    }
}

struct World<'q> {
    queue: &'q WorkQueue<u8>,
    oracle: Oracle,
    guards: Vec<Guard<'q>>,
    /// Guards whose items were abandoned.
    stale: Vec<Guard<'q>>,
    /// Items whose guards were forgotten.
    forgotten: Vec<u8>,
    getters: Vec<Getter<'q>>,
    /// Each with whether the queue was idle since its first poll.
    drainers: Vec<(Waiting<Drained<'q, u8>>, bool)>,
}

fn pick<T>(of: &[T], which: usize) -> Option<usize> {
    (!of.is_empty()).then(|| which % of.len())
}

pub(crate) type Verdict = Result<(), TestCaseError>;

impl<'q> World<'q> {
    fn take(&mut self, guard: Option<Guard<'q>>, next: Next) -> Verdict {
        match (guard, next) {
            (Some(guard), Next::Item(item)) => {
                prop_assert_eq!(guard.item(), item);
                self.guards.push(guard);
            }
            (None, Next::Ended) => {}
            (guard, next) => {
                prop_assert!(false, "got {:?}, expected {next:?}", guard.map(|guard| guard.item()));
            }
        }
        Ok(())
    }

    fn take_result(&mut self, result: Result<Guard<'q>, TryGetError>, next: Next) -> Verdict {
        match result {
            Ok(guard) => self.take(Some(guard), next),
            Err(TryGetError::ShutDown) => self.take(None, next),
            Err(_) => {
                prop_assert_eq!(next, Next::Wait);
                Ok(())
            }
        }
    }

    fn take_in_time(&mut self, result: Result<Guard<'q>, GetTimeoutError>, next: Next) -> Verdict {
        match result {
            Ok(guard) => self.take(Some(guard), next),
            Err(GetTimeoutError::ShutDown) => self.take(None, next),
            Err(_) => {
                prop_assert_eq!(next, Next::Wait);
                Ok(())
            }
        }
    }

    fn apply(&mut self, step: Step) -> Verdict {
        let queue = self.queue;
        match step {
            Step::Add(item) => prop_assert_eq!(queue.add(item), self.oracle.add(item)),
            Step::AddAll(items) => {
                let all = queue.add_all(items.iter().copied());
                let mut expected = BTreeMap::new();
                for item in items {
                    *expected.entry(format!("{:?}", self.oracle.add(item))).or_insert(0) += 1;
                }
                for (kind, count) in [
                    ("Queued", all.queued),
                    ("Merged", all.merged),
                    ("Deferred", all.deferred),
                    ("ShutDown", all.shut_down),
                ] {
                    prop_assert_eq!(count, expected.remove(kind).unwrap_or(0), "{}", kind);
                }
            }
            Step::AddQuietly(items) => {
                let mut adds = queue.defer_wakes();
                let (singly, together) = items.split_at(items.len() / 2);
                for &item in singly {
                    prop_assert_eq!(adds.add(item, ()), self.oracle.add(item));
                }
                let hashed = together.iter().map(|item| {
                    let hash = queue.item_hash(item);
                    HashedAdd { item: *item, hash, order: () }
                });
                let expected: AddedAll =
                    together.iter().map(|item| self.oracle.add(*item)).collect();
                prop_assert_eq!(adds.add_all(hashed), expected);
            }
            Step::TryAdd(item) => self.added(item, queue.try_add(item))?,
            Step::TryGet => {
                let next = self.oracle.get();
                self.take_result(queue.try_get().map(Guard::Borrowed), next)?;
            }
            Step::GetBlocking => {
                let next = self.oracle.get();
                let result = match next {
                    Next::Wait => queue.get_timeout(Duration::ZERO),
                    _ => queue.get_blocking().ok_or(GetTimeoutError::ShutDown),
                };
                self.take_in_time(result.map(Guard::Borrowed), next)?;
            }
            Step::Get => self.wait(Getter::Borrowed(Waiting::on(queue.get())))?,
            Step::GetOwned => self.wait(Getter::Owned(Waiting::on(queue.get_owned())))?,
            Step::PollGetter(which) => {
                if let Some(which) = pick(&self.getters, which) {
                    let getter = self.getters.remove(which);
                    self.wait(getter)?;
                }
            }
            Step::DropGetter(which) => {
                if let Some(which) = pick(&self.getters, which) {
                    self.getters.remove(which);
                }
            }
            Step::Done(which) => {
                if let Some(which) = pick(&self.guards, which) {
                    let guard = self.guards.remove(which);
                    self.oracle.done(guard.item());
                    guard.done();
                }
            }
            Step::PanicAtWork(which) => {
                if let Some(which) = pick(&self.guards, which) {
                    let guard = self.guards.remove(which);
                    self.oracle.done(guard.item());
                    let result = catch_unwind(AssertUnwindSafe(move || {
                        let _guard = guard;
                        std::panic::resume_unwind(Box::new(()));
                    }));
                    prop_assert!(result.is_err());
                }
            }
            Step::DoneAndGet(which) => {
                if let Some(which) = pick(&self.guards, which) {
                    let guard = self.guards.remove(which);
                    self.oracle.done(guard.item());
                    self.saw_idle();
                    let next = self.oracle.get();
                    self.take_result(guard.done_and_get(), next)?;
                }
            }
            Step::Abandon(which) => {
                if let Some(which) = pick(&self.guards, which) {
                    let guard = self.guards.remove(which);
                    self.oracle.done(guard.item());
                    prop_assert!(queue.abandon(&guard.item()));
                    self.stale.push(guard);
                }
            }
            Step::AbandonItem(item) => {
                if let Some(which) = self.forgotten.iter().position(|other| *other == item) {
                    self.forgotten.swap_remove(which);
                    self.oracle.done(item);
                    prop_assert!(queue.abandon(&item));
                } else if !self.guards.iter().any(|guard| guard.item() == item) {
                    prop_assert!(!queue.abandon(&item));
                }
            }
            Step::Forget(which) => {
                if let Some(which) = pick(&self.guards, which) {
                    let guard = self.guards.remove(which);
                    self.forgotten.push(guard.item());
                    std::mem::forget(guard);
                }
            }
            Step::EndStale(which) => {
                if let Some(which) = pick(&self.stale, which) {
                    self.stale.remove(which).done();
                }
            }
            Step::Remove(item) => prop_assert_eq!(queue.remove(&item), self.oracle.remove(item)),
            Step::Pause => {
                queue.pause();
                self.oracle.pause();
            }
            Step::Resume => {
                queue.resume();
                self.oracle.paused = false;
            }
            Step::Drain => {
                let mut drainer = Waiting::on(queue.drained());
                match drainer.poll() {
                    Poll::Ready(()) => prop_assert!(self.oracle.is_idle()),
                    Poll::Pending => {
                        prop_assert!(!self.oracle.is_idle());
                        self.drainers.push((drainer, false));
                    }
                }
            }
            Step::DropDrainer(which) => {
                if let Some(which) = pick(&self.drainers, which) {
                    self.drainers.remove(which);
                }
            }
            Step::Crowd => {
                queue.add_all(CROWD);
                CROWD.for_each(|item| _ = queue.remove(&item));
            }
            Step::Shutdown => {
                queue.shutdown();
                self.oracle.shutdown();
            }
            Step::ShutdownNow => {
                // The order of items that would run again is not promised.
                let queued = self.oracle.fifo.len();
                let mut left = queue.shutdown_now();
                let mut expected = self.oracle.shutdown_now();
                if queued <= left.len() {
                    left[queued..].sort_unstable();
                    expected[queued..].sort_unstable();
                }
                prop_assert_eq!(left, expected);
            }
        }
        Ok(())
    }

    fn added(
        &mut self,
        item: u8,
        result: Result<wq_core::Added, wq_core::Rejected<u8>>,
    ) -> Verdict {
        match result {
            Ok(added) => prop_assert_eq!(self.oracle.try_add(item), Some(added)),
            Err(rejected) => {
                prop_assert_eq!(*rejected.item(), item);
                match rejected.reason() {
                    RejectedReason::ShutDown => prop_assert!(self.oracle.shut_down),
                    _ => prop_assert_eq!(self.oracle.try_add(item), None),
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, mut getter: Getter<'q>) -> Verdict {
        let next = self.oracle.get();
        match getter.poll() {
            Poll::Ready(guard) => self.take(guard, next),
            Poll::Pending => {
                prop_assert_eq!(next, Next::Wait);
                self.getters.push(getter);
                Ok(())
            }
        }
    }

    fn saw_idle(&mut self) {
        if self.oracle.is_idle() {
            self.drainers.iter_mut().for_each(|(_, seen)| *seen = true);
        }
    }

    /// Checks the invariants after each step.
    fn check(&mut self) -> Verdict {
        self.saw_idle();
        let snapshot = self.queue.snapshot();
        let counts = self.queue.counts();
        prop_assert_eq!(snapshot.counts, counts);
        let phases: BTreeMap<u8, Phase> =
            snapshot.items.iter().map(|seen| (seen.item, seen.phase)).collect();
        prop_assert_eq!(snapshot.items.len(), phases.len(), "an item is there twice");
        prop_assert_eq!(&phases, &self.oracle.phases());
        let count = |phase| phases.values().filter(|&&other| other == phase).count();
        prop_assert_eq!(counts.queued, count(Phase::Queued));
        prop_assert_eq!(counts.to_run_again, count(Phase::ProcessingDirty));
        prop_assert_eq!(counts.in_flight, count(Phase::Processing) + counts.to_run_again);
        prop_assert_eq!(counts.in_flight, self.guards.len() + self.forgotten.len());
        prop_assert_eq!(
            (snapshot.is_paused, snapshot.is_shutting_down),
            (self.oracle.paused, self.oracle.shut_down)
        );
        for item in 0..ITEMS {
            prop_assert_eq!(self.queue.phase(&item).is_some(), phases.contains_key(&item));
        }
        // No wake-up is lost.
        if !matches!(self.oracle.clone().get(), Next::Wait) && !self.getters.is_empty() {
            prop_assert!(
                self.getters.iter().any(Getter::is_woken),
                "items, getters, and nobody was woken"
            );
        }
        if self.oracle.shut_down {
            prop_assert!(self.getters.iter().all(Getter::is_woken));
        }
        for (drainer, seen) in &self.drainers {
            prop_assert_eq!(drainer.is_woken(), *seen);
        }
        self.drainers.retain_mut(|(drainer, seen)| !*seen || drainer.poll().is_pending());
        prop_assert!(
            self.drainers.iter().all(|(_, seen)| !seen),
            "idle was seen, but the drain goes on"
        );
        Ok(())
    }

    /// Ends the run: each remaining item comes out once, and the queue is drained.
    fn finish(mut self) -> Verdict {
        self.apply(Step::Shutdown)?;
        self.check()?;
        while !self.getters.is_empty() || !self.guards.is_empty() {
            self.apply(Step::PollGetter(0))?;
            self.apply(Step::Done(0))?;
            self.check()?;
        }
        loop {
            let next = self.oracle.get();
            let result = self.queue.try_get().map(Guard::Borrowed);
            self.take_result(result, next)?;
            if next == Next::Ended {
                break;
            }
            self.apply(Step::Done(0))?;
            self.check()?;
        }
        while let Some(&item) = self.forgotten.first() {
            prop_assert!(Waiting::on(self.queue.drained()).poll().is_pending());
            self.apply(Step::AbandonItem(item))?;
            self.check()?;
            // An item that was added again is handed out once more.
            let next = self.oracle.get();
            self.take_result(self.queue.try_get().map(Guard::Borrowed), next)?;
            self.apply(Step::Done(0))?;
            self.check()?;
        }
        self.stale.clear();
        prop_assert!(self.queue.counts().is_idle());
        prop_assert!(Waiting::on(self.queue.drained()).poll().is_ready());
        self.check()
    }
}

/// Plays the steps on a new queue, and checks it after each.
pub(crate) fn play(capacity: Option<usize>, steps: impl IntoIterator<Item = Step>) -> Verdict {
    let builder = WorkQueue::<u8>::builder();
    let builder = match capacity {
        Some(capacity) => builder.capacity(capacity),
        None => builder,
    };
    let queue = builder.build().unwrap();
    let mut world = World {
        queue: &queue,
        oracle: Oracle::new(capacity),
        guards: Vec::new(),
        stale: Vec::new(),
        forgotten: Vec::new(),
        getters: Vec::new(),
        drainers: Vec::new(),
    };
    for step in steps {
        let shown = format!("{step:?}");
        world.apply(step)?;
        if let Err(error) = world.check() {
            return Err(TestCaseError::fail(format!("after {shown}: {error}")));
        }
    }
    world.finish()
}
