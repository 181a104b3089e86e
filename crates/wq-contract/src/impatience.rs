//! Impatience: a wait that is dropped at any of its awaits, woken or not, and polled with ever new
//! wakers.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use crate::play::roll;

/// How a wait was given up.
#[derive(Debug)]
pub enum GaveUp {
    /// Nobody had woken it.
    Asleep,
    /// Somebody had woken it.
    Woken,
}

/// Passes wakes on, and knows of them; no longer once another waker took its place.
struct Relay {
    to: Waker,
    is_replaced: AtomicBool,
    is_woken: AtomicBool,
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, SeqCst);
        if !self.is_replaced.load(SeqCst) {
            self.to.wake_by_ref();
        }
    }
}

/// The outcome of the wait, unless patience ends before.
///
/// # Errors
///
/// How it was given up.
///
/// # Cancel safety
///
/// As the wait's.
pub async fn impatient<F: Future + Unpin>(mut wait: F) -> Result<F::Output, GaveUp> {
    let mut relay: Option<Arc<Relay>> = None;
    let mut gives_up = false;
    poll_fn(move |context| {
        let was_woken = relay.as_ref().is_some_and(|relay| relay.is_woken.load(SeqCst));
        if gives_up {
            return Poll::Ready(Err(if was_woken { GaveUp::Woken } else { GaveUp::Asleep }));
        }
        let new = Arc::new(Relay {
            to: context.waker().clone(),
            is_replaced: AtomicBool::new(false),
            is_woken: AtomicBool::new(false),
        });
        let polled =
            Pin::new(&mut wait).poll(&mut Context::from_waker(&Waker::from(Arc::clone(&new))));
        if let Some(old) = relay.replace(new) {
            old.is_replaced.store(true, SeqCst);
        }
        if polled.is_pending() {
            match roll(4) {
                0 | 1 => {
                    // The others go on for a while before this is polled again, and ends.
                    gives_up = true;
                    context.waker().wake_by_ref();
                }
                2 => context.waker().wake_by_ref(),
                _ => {}
            }
        }
        polled.map(Ok)
    })
    .await
}
