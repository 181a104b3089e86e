//! The probes: `/livez` by the progress of controllers and by the election, `/readyz` by caches and
//! by the checks of the user.

use std::panic::{self, AssertUnwindSafe};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use crate::manager::view::View;

/// How much longer than a lease the work of an ended term may last, as in lease-election's
/// `Liveness`.
#[cfg(feature = "election")]
const LEFTOVER_TOLERANCE: std::time::Duration = std::time::Duration::from_secs(20);

/// A readiness check of the user.
pub(super) struct Readiness {
    pub(super) name: String,
    pub(super) check: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl Readiness {
    fn check(&self) -> Result<(), String> {
        // A panic would close the connection without an answer.
        panic::catch_unwind(AssertUnwindSafe(|| (self.check)()))
            .unwrap_or_else(|_| Err("panicked".to_owned()))
    }
}

pub(super) fn livez(view: &View) -> Response {
    let mut text = String::new();
    #[cfg(feature = "election")]
    election(view, &mut text);
    let now = Instant::now();
    for controller in &*view.controllers {
        if let Some(stall) = controller.stall(now) {
            text.push_str(&format!("[-]controller {} {stall}\n", controller.name()));
        }
    }
    if text.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}

/// Adds a line if the election is stuck.
#[cfg(feature = "election")]
fn election(view: &View, text: &mut String) {
    let Some(elector) = &view.elector else { return };
    if let Err(not_live) = elector.liveness().check() {
        text.push_str(&format!("[-]election {not_live}\n"));
        return;
    }
    // As for work that outlives its lease: this process does not lead before the work ends, so it
    // should be restarted.
    let patience = elector.config().lease_duration().saturating_add(LEFTOVER_TOLERANCE);
    if let Some(waited) = view.leftover.overdue(patience) {
        text.push_str(&format!(
            "[-]election work of a term that is over goes on for {waited:?}: \
             it does not campaign before\n"
        ));
    }
}

pub(super) fn readyz(view: &View, checks: &[Readiness]) -> Response {
    let mut ready = true;
    let mut text = String::new();
    for watch in &*view.watches {
        let status = watch.status();
        ready &= status.synced;
        let mark = if status.synced { "[+]" } else { "[-]" };
        text.push_str(mark);
        text.push_str(watch.name());
        match &status.degraded {
            Some(degraded) => {
                text.push_str(" degraded: ");
                text.push_str(&degraded.error);
            }
            None => text.push_str(if status.synced { " complete" } else { " not complete" }),
        }
        text.push('\n');
    }
    for controller in &*view.controllers {
        let missing = controller.missing();
        if !missing.is_empty() {
            let (name, missing) = (controller.name(), missing.join(", "));
            text.push_str(&format!("[-]controller {name} waits for {missing}\n"));
        }
    }
    for readiness in checks {
        let checked = readiness.check();
        ready &= checked.is_ok();
        let line = match checked {
            Ok(()) => format!("[+]{} ok\n", readiness.name),
            Err(why) => format!("[-]{} {}\n", readiness.name, why.replace(char::is_control, " ")),
        };
        text.push_str(&line);
    }
    let code = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, text).into_response()
}
