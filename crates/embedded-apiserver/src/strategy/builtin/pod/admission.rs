//! The admission plugins of Pods: Priority and DefaultTolerationSeconds.

use serde_json::{Map, Value, json};

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::priority_class;

/// Adds priority and tolerations to a new Pod.
///
/// # Errors
///
/// Says why a plugin refuses the Pod.
pub(super) fn admit(object: &mut Object, classes: &[Object]) -> Result<(), String> {
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return Ok(()) };
    let name = spec.get("priorityClassName").and_then(Value::as_str).unwrap_or_default();
    let class = match name {
        "" => priority_class::default_of(classes),
        name => classes.iter().find(|class| metadata::text(class, "name") == name),
    };
    let known = priority_class::SYSTEM.iter().find(|(system, _)| *system == name);
    let priority = match (class, known) {
        (Some(class), _) => priority_class::value(class),
        (None, Some((_, value))) => *value,
        (None, None) if name.is_empty() => 0,
        (None, None) => return Err(format!("no PriorityClass with name {name} was found")),
    };
    if let Some(class) = class {
        spec.insert("priorityClassName".to_owned(), metadata::text(class, "name").into());
    }
    if let Some(said) =
        spec.get("priority").and_then(Value::as_i64).filter(|said| *said != priority)
    {
        return Err(format!(
            "the integer value of priority ({said}) must not be provided in pod spec; priority \
             admission controller computed {priority} from the given PriorityClass name"
        ));
    }
    spec.insert("priority".to_owned(), priority.into());
    let preemption = class.map_or("", |class| text(class, "preemptionPolicy"));
    let preemption = if preemption.is_empty() { "PreemptLowerPriority" } else { preemption };
    if let Some(said) =
        spec.get("preemptionPolicy").and_then(Value::as_str).filter(|said| *said != preemption)
    {
        return Err(format!(
            "the string value of PreemptionPolicy ({said}) must not be provided in pod spec; \
             priority admission controller computed {preemption} from the given PriorityClass name"
        ));
    }
    spec.insert("preemptionPolicy".to_owned(), preemption.into());
    add_tolerations(spec);
    Ok(())
}

/// Keeps the plugins' members on an update.
pub(super) fn prepare_update(object: &mut Object, old: &Object) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    for member in ["priority", "preemptionPolicy"] {
        if let (None, Some(value)) = (spec.get(member), at(old, &format!("spec.{member}"))) {
            spec.insert(member.to_owned(), value.clone());
        }
    }
    add_tolerations(spec);
}

/// Tolerates a lost node for five minutes, unless the Pod has its own tolerations.
fn add_tolerations(spec: &mut Map<String, Value>) {
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Value::Array(tolerations) = tolerations else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |toleration: &Value| {
            let says = |member: &str| toleration[member].as_str().unwrap_or_default();
            matches!(
                says("key"),
                "" | "node.kubernetes.io/not-ready" | "node.kubernetes.io/unreachable"
            ) && (says("key").is_empty() || says("key") == key)
                && matches!(says("effect"), "" | "NoExecute")
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }));
        }
    }
}
