//! Whether removals are paused, as this process knows: what readiness, metric, log and Event say.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::metrics::Metrics;

/// Why nothing is removed at the moment, if so. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Pause {
    why: Arc<Mutex<Option<String>>>,
    begun: Arc<Notify>,
    metrics: Metrics,
}

/// How the pause has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseNews {
    Nothing,
    Begins,
    Ends,
}

impl Pause {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self { why: Arc::default(), begun: Arc::default(), metrics }
    }

    /// Takes over what the disk says, and says what is new in the log.
    pub(crate) fn set(&self, why: Option<&str>) -> PauseNews {
        let mut known = self.why.lock();
        let news = match (&*known, why) {
            (None, Some(_)) => PauseNews::Begins,
            (Some(_), None) => PauseNews::Ends,
            _ => PauseNews::Nothing,
        };
        *known = why.map(str::to_owned);
        drop(known);
        self.metrics.removals_paused(why.is_some());
        match (news, why) {
            (PauseNews::Begins, Some(why)) => {
                tracing::error!(%why, "removals are paused");
                self.begun.notify_one();
            }
            (PauseNews::Ends, _) => tracing::info!("removals go on"),
            _ => {}
        }
        news
    }

    /// Ends when a pause has begun since the last call: the sweep looks for its end from then on.
    pub(crate) async fn begins(&self) {
        self.begun.notified().await;
    }

    /// Another replica leads now, and knows better.
    pub(crate) fn forget(&self) {
        *self.why.lock() = None;
        self.metrics.removals_paused(false);
    }

    pub(crate) fn why(&self) -> Option<String> {
        self.why.lock().clone()
    }

    /// For `/readyz`.
    pub(crate) fn readiness(&self) -> Result<(), String> {
        self.why().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn readiness_and_metric_follow_the_disk() {
        let mut registry = Registry::default();
        let pause = Pause::new(Metrics::new("hostpath", &mut registry));
        let gauge = |value: &str| {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            assert!(
                text.contains(&format!("hostpath_provisioner_removals_paused {value}\n")),
                "{text}"
            );
        };
        gauge("0");
        assert_eq!(pause.set(None), PauseNews::Nothing);
        assert_eq!(pause.set(Some("restored")), PauseNews::Begins);
        assert_eq!(pause.set(Some("restored")), PauseNews::Nothing);
        assert_eq!(pause.readiness(), Err("restored".to_owned()));
        gauge("1");
        assert_eq!(pause.set(None), PauseNews::Ends);
        assert_eq!(pause.readiness(), Ok(()));
        gauge("0");
    }
}
