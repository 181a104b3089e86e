//! The end of a term whose future is dropped.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;

use super::*;

/// Never ends by itself, and records when it is dropped.
#[derive(Default)]
struct Endless {
    gone: Arc<AtomicBool>,
}

impl InTerm for Endless {
    fn run(self: Arc<Self>, _term: Term) -> BoxFuture<'static, ()> {
        struct Gone(Arc<AtomicBool>);
        impl Drop for Gone {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let gone = Gone(Arc::clone(&self.gone));
        async move {
            let _gone = gone;
            std::future::pending().await
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_term_that_is_dropped_counts_its_members_until_they_are_gone() {
    let scope = Scope {
        tracker: TaskTracker::new(),
        #[cfg(feature = "election")]
        leadership: None,
    };
    let (tasks, member) = (TaskTracker::new(), Arc::new(Endless::default()));
    let gone = Arc::clone(&member.gone);
    let grace = Grace { stop: Duration::ZERO, lost: Duration::ZERO };
    let (end, lost) = (std::future::pending(), std::future::pending());
    let term = run(vec![member], Term::new(scope, tasks.clone()), end, lost, grace);
    // The elector drops work that outlived its margin in this way.
    assert!(tokio::time::timeout(Duration::from_millis(1), term).await.is_err());
    assert!(!gone.load(Ordering::SeqCst), "aborted, but not gone");
    assert_eq!(tasks.len(), 1);
    tasks.close();
    tasks.wait().await;
    assert!(gone.load(Ordering::SeqCst));
}
