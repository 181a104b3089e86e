//! The moment between the hand-out of a key and the start of its run.

use std::num::NonZeroU32;

use tokio_util::task::TaskTracker;

use super::*;
use crate::limiter::Limiter;
use crate::reasons::Reasons;
use crate::request::Scope;
use crate::{Action, reconcile_fn};

#[tokio::test(start_paused = true)]
async fn a_key_handed_out_as_the_stop_comes_is_not_run_and_not_lost() {
    let metrics = Arc::new(ControllerMetrics::new());
    let queue = Queue::new("test", Limiter::standard(), Arc::clone(&metrics));
    let scope = Scope {
        tracker: TaskTracker::new(),
        #[cfg(feature = "election")]
        leadership: None,
    };
    let shared = Arc::new(Work {
        name: "test".into(),
        reconciler: Arc::new(reconcile_fn(|_: Request<u32>| async { Ok(Action::await_change()) })),
        queue: queue.clone(),
        term: Term::new(scope, TaskTracker::new()),
        policy: Policy {
            max_attempts: NonZeroU32::new(1),
            min_requeue: Duration::ZERO,
            failing_interval: Duration::ZERO,
        },
        timeout: None,
        sources: Arc::new([]),
        metrics: Arc::clone(&metrics),
        failing: FailingKeys::new(),
        parked: Arc::new(ParkedKeys::new()),
        inbox: Arc::new(Inbox::new()),
        dropped: Mutex::default(),
        returned: Mutex::default(),
    });
    queue.add(7, Reasons::default());
    shared.term.stopping.cancel();
    let worker = tokio::spawn(work(Arc::clone(&shared)));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(queue.stop().is_empty(), "the worker took it");
    worker.await.unwrap();
    assert_eq!(metrics.reconciles(), 0);
    assert_eq!(*shared.returned.lock(), [7]);
}
