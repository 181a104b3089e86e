//! The cells of an autoscaler, as `printHorizontalPodAutoscaler` in
//! pkg/printers/internalversion/printers.go of Kubernetes.

use serde_json::Value;

use crate::strategy::builtin::cells::{NONE, list, text_at};
use crate::strategy::builtin::members::said;

const UNKNOWN: &str = "<unknown>";
/// A missing quantity, where Go expects one.
const NIL: &str = "<nil>";

pub(super) fn reference(scaler: &Value) -> Value {
    let target = |member: &str| text_at(scaler, &format!("/spec/scaleTargetRef/{member}"));
    format!("{}/{}", target("kind"), target("name")).into()
}

/// The first two metrics, and how many more there are.
#[doc(alias = "formatHPAMetrics")]
pub(super) fn targets(scaler: &Value) -> Value {
    const SHOWN: usize = 2;
    let metrics = list(scaler, "/spec/metrics");
    let statuses = list(scaler, "/status/currentMetrics");
    if metrics.is_empty() {
        return NONE.into();
    }
    let shown = metrics.iter().take(SHOWN).enumerate();
    let shown: Vec<String> = shown.map(|(at, metric)| target(metric, statuses.get(at))).collect();
    let shown = shown.join(", ");
    match metrics.len().saturating_sub(SHOWN) {
        0 => shown.into(),
        more => format!("{shown} + {more} more...").into(),
    }
}

fn target(metric: &Value, status: Option<&Value>) -> String {
    let source = match said(metric, "type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let wanted = &metric[source]["target"];
    let current = status.and_then(|status| status.get(source)).map(|status| &status["current"]);
    let amount = |of: &Value, member: &str| of[member].as_str().map(str::to_owned);
    let seen = |member: &str| match current {
        None => UNKNOWN.to_owned(),
        Some(current) => amount(current, member).unwrap_or_else(|| NIL.to_owned()),
    };
    let average = amount(wanted, "averageValue");
    let of_all = || {
        let wanted = amount(wanted, "value").unwrap_or_else(|| NIL.to_owned());
        format!("{}/{wanted}", seen("value"))
    };
    match (source, average) {
        ("external" | "object", Some(average)) => {
            let current = current.and_then(|current| amount(current, "averageValue"));
            format!("{}/{average} (avg)", current.unwrap_or_else(|| UNKNOWN.to_owned()))
        }
        ("external" | "object", None) => of_all(),
        ("pods", average) => {
            format!("{}/{}", seen("averageValue"), average.unwrap_or_else(|| NIL.to_owned()))
        }
        (_, Some(average)) => {
            format!("{}: {}/{average}", said(&metric[source], "name"), seen("averageValue"))
        }
        (_, None) => {
            let percent =
                |of: &Value| of["averageUtilization"].as_i64().map(|percent| format!("{percent}%"));
            let current = current.and_then(percent).unwrap_or_else(|| UNKNOWN.to_owned());
            let wanted = percent(wanted).unwrap_or_else(|| "<auto>".to_owned());
            format!("{}: {current}/{wanted}", said(&metric[source], "name"))
        }
    }
}
