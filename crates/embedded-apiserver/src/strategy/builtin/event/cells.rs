//! The cells of an Event, of either group.

use serde_json::Value;

use crate::strategy::builtin::cells::either;

pub(super) fn object(event: &Value) -> Value {
    let kind = either(event, "/involvedObject/kind", "/regarding/kind");
    let name = either(event, "/involvedObject/name", "/regarding/name");
    let (kind, name) =
        (kind.as_str().unwrap_or_default().to_lowercase(), name.as_str().unwrap_or_default());
    if name.is_empty() { kind.into() } else { format!("{kind}/{name}").into() }
}

pub(super) fn source(event: &Value) -> Value {
    let mut component = either(event, "/source/component", "/deprecatedSource/component");
    if component == "" {
        component = either(event, "/reportingComponent", "/reportingController");
    }
    let mut host = either(event, "/source/host", "/deprecatedSource/host");
    if host == "" {
        host = either(event, "/reportingInstance", "/reportingInstance");
    }
    match (component.as_str().unwrap_or_default(), host.as_str().unwrap_or_default()) {
        (component, "") => component.into(),
        (component, host) => format!("{component}, {host}").into(),
    }
}

pub(super) fn count(event: &Value) -> Value {
    let counts = ["/series/count", "/count", "/deprecatedCount"]
        .iter()
        .filter_map(|path| event.pointer(path)?.as_i64());
    counts.filter(|count| *count > 0).max().unwrap_or(1).into()
}
