//! `Cancellation`: how one run learns that it must end. Most runs never ask. A token for each would
//! take the term's lock, which all workers share, so it is made for the first question.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

pub(crate) struct Cancellation {
    term: Arc<CancellationToken>,
    is_cancelled: AtomicBool,
    run: OnceLock<CancellationToken>,
}

impl Cancellation {
    /// Of a run in a term that ends with this token.
    pub(crate) fn new(term: Arc<CancellationToken>) -> Self {
        Self { term, is_cancelled: AtomicBool::new(false), run: OnceLock::new() }
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        let token = self.run.get_or_init(|| self.term.child_token());
        // `cancel` may not have seen the token.
        if self.is_cancelled.load(Ordering::SeqCst) {
            token.cancel();
        }
        token
    }

    /// The run is over or out of time.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        if let Some(token) = self.run.get() {
            token.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_cancelled_with_its_term_or_alone_whenever_it_asks() {
        let term = Arc::new(CancellationToken::new());
        let run = || Cancellation::new(Arc::clone(&term));
        let (early, late, other) = (run(), run(), run());
        assert!(!early.token().is_cancelled());
        early.cancel();
        late.cancel();
        assert!(early.token().is_cancelled() && late.token().is_cancelled());
        assert!(!other.token().is_cancelled() && !term.is_cancelled());
        term.cancel();
        assert!(other.token().is_cancelled() && run().token().is_cancelled());
    }
}
