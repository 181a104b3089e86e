//! `/debug`: the state of a manager as JSON, for people. At most [`MOST`] keys of each list.

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::controller::{MOST, millis};
use crate::hostile::unless_panics;
use crate::manager::view::{View, WatchView};

/// The state of the manager now.
pub(super) fn state(view: &View, now: Instant) -> Value {
    let controllers = view.controllers.iter().map(|controller| {
        unless_panics(|| controller.state(now))
            .unwrap_or_else(|| json!({"name": controller.name(), "error": "a key panicked"}))
    });
    let caches = view.watches.iter().map(|watch| cache(&**watch, now));
    json!({
        "keys_at_most": MOST,
        "leader": leader(view),
        "controllers": controllers.collect::<Vec<_>>(),
        "caches": caches.collect::<Vec<_>>(),
    })
}

fn cache(watch: &dyn WatchView, now: Instant) -> Value {
    let status = watch.status();
    let failing = status.degraded.map(|degraded| {
        let lasts = now.into_std().saturating_duration_since(degraded.since);
        json!({"error": &*degraded.error, "failures": degraded.failures, "ms": millis(lasts)})
    });
    json!({
        "name": watch.name(),
        "synced": status.synced,
        "objects": status.objects,
        "lists": status.lists,
        "failures": status.failures,
        "failing": failing,
    })
}

/// `null` without an election.
fn leader(view: &View) -> Value {
    #[cfg(feature = "election")]
    if let Some(elector) = &view.elector {
        let (status, config) = (elector.status(), elector.config());
        return json!({
            "lease": format!("{}/{}", config.namespace(), config.name()),
            "identity": config.identity(),
            "leads": status.leading,
            "holder": status.leader.as_deref().map(crate::hostile::loggable),
            "terms": elector.stats().terms,
            "last_error": status.blocked.map(|error| error.to_string()),
        });
    }
    let _ = view;
    Value::Null
}
