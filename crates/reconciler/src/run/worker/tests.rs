//! Keys that a stop meets: handed out before their run, or in a run that fails.

use tokio_util::task::TaskTracker;

use super::*;
use crate::queue::limiter::Limiter;
use crate::queue::reasons::Reasons;
use crate::run::request::Scope;
use crate::{Action, Failure, reconcile_fn};

fn shared<R: Reconciler<Key = u32>>(reconciler: R) -> Arc<Work<R>> {
    let metrics = Arc::new(ControllerMetrics::new());
    let scope = Scope {
        tracker: TaskTracker::new(),
        #[cfg(feature = "election")]
        leadership: None,
    };
    Arc::new(Work {
        name: "test".into(),
        reconciler: Arc::new(reconciler),
        queue: Queue::new("test", Limiter::standard(), Arc::clone(&metrics)),
        term: Term::new(scope, TaskTracker::new()),
        policy: Policy {
            max_attempts: Some(2),
            min_requeue: Duration::ZERO,
            failing_interval: Duration::ZERO,
            ignores_own_writes: false,
        },
        timeout: None,
        sources: Arc::new([]),
        metrics,
        writes: None,
        failing: Arc::new(FailingKeys::new()),
        active: Arc::new(ActiveRuns::new()),
        parked: Arc::new(ParkedKeys::new()),
        inbox: Arc::new(Inbox::new()),
        postponed: SparseMap::new(),
        dropped: Mutex::default(),
        returned: Mutex::default(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_key_handed_out_as_the_stop_comes_is_not_run_and_not_lost() {
    let shared = shared(reconcile_fn(|_: Request<u32>| async { Ok(Action::await_change()) }));
    shared.queue.add(7, Reasons::default());
    shared.term.stopping.cancel();
    let worker = tokio::spawn(work(Arc::clone(&shared)));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(shared.queue.stop().is_empty(), "the worker took it");
    worker.await.unwrap();
    assert_eq!(shared.metrics.reconciles(), 0);
    assert_eq!(*shared.returned.lock(), [7]);
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_run_fails_as_the_stop_comes_is_not_lost() {
    let shared = shared(reconcile_fn(|_: Request<u32>| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Err::<Action, _>(Failure::retry("not yet"))
    }));
    shared.queue.add(7, Reasons::default());
    let worker = tokio::spawn(work(Arc::clone(&shared)));
    tokio::time::sleep(Duration::from_millis(1)).await;
    shared.term.stopping.cancel();
    assert!(shared.queue.stop().is_empty(), "it runs");
    worker.await.unwrap();
    assert_eq!(shared.metrics.reconciles(), 1);
    assert_eq!(*shared.returned.lock(), [7]);
}
