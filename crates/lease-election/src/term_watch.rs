//! TermWatch: what a watchdog learns of each term and its work. The driver knows no more of a
//! watchdog.

use std::fmt;
use std::sync::Arc;

use crate::clock::Moment;
use crate::version::FenceToken;

/// The driver and the work of one elector call it. Moments are of the elector's clock.
pub(crate) trait TermWatch: fmt::Debug + Send + Sync {
    /// A term begins, valid until `until`.
    fn term_begins(&self, fence: &FenceToken, until: Moment);

    /// The term is valid until `until`.
    fn term_extends(&self, until: Moment);

    /// The term ended at this moment.
    fn term_ended(&self, at: Moment);

    /// The work of the term begins.
    fn work_begins(&self);

    /// The work of the term has ended.
    fn work_ended(&self);
}

/// Reports the end of the work when it is dropped with the work.
pub(crate) struct Working(Option<Arc<dyn TermWatch>>);

impl Working {
    pub(crate) fn begin(watch: Option<Arc<dyn TermWatch>>) -> Self {
        if let Some(watch) = &watch {
            watch.work_begins();
        }
        Self(watch)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(watch) = &self.0 {
            watch.work_ended();
        }
    }
}
