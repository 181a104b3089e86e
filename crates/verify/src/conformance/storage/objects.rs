//! Claims and volumes of a case: how they are made, changed and waited for.

use serde_json::{Value, json};

use crate::conformance::answer::{Outcome, has, text};
use crate::conformance::objects::{claim, volume};
use crate::conformance::target::Target;
use crate::conformance::waiting::eventually;

/// Reads an object until it has what is expected.
pub(super) async fn until(t: &Target, path: &str, expected: Value) -> Result<Value, String> {
    eventually(async || {
        let found = t.get(path).await?.is(200)?;
        Ok(has(&found, expected.clone()).map(|()| found))
    })
    .await
    .map_err(|why| format!("{path}: {why}"))
}

/// A claim that cannot be bound: no volume is of the case's class.
pub(super) async fn lone_claim(t: &Target, name: &str) -> Result<Value, String> {
    t.make(&t.claims(""), claim(name, &t.class)).await
}

/// A volume that no claim asks for.
pub(super) async fn lone_volume(t: &Target, name: &str) -> Result<(String, Value), String> {
    let name = t.own(name);
    let made = t.make(&t.volumes(""), volume(&name, &t.class)).await?;
    Ok((t.volumes(&format!("/{name}")), made))
}

/// A claim, and a volume that names it: they find each other.
pub(super) async fn bound(t: &Target) -> Result<(String, String), String> {
    let made = lone_claim(t, "a").await?;
    let name = t.own("v");
    let mut object = volume(&name, &t.class);
    object["spec"]["claimRef"] = json!({ "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": t.namespace, "name": "a", "uid": text(&made, "/metadata/uid") });
    t.make(&t.volumes(""), object).await?;
    let (claim, volume) = (t.claims("/a"), t.volumes(&format!("/{name}")));
    until(t, &claim, json!({ "status": { "phase": "Bound" } })).await?;
    Ok((claim, volume))
}

pub(super) fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, member) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        if value.is_null() {
            parent.remove(member);
        } else {
            parent.insert(member.to_owned(), value);
        }
    }
    object
}

/// A create (dry run) of a changed claim is refused for these causes.
pub(super) async fn wrong_claim(
    t: &Target,
    pointer: &str,
    value: Value,
    causes: &[&str],
) -> Outcome {
    let object = with(claim("a", &t.class), pointer, value);
    t.post(&t.claims("?dryRun=All"), &object).await?.invalid(causes).map(drop)
}

pub(super) async fn wrong_volume(
    t: &Target,
    pointer: &str,
    value: Value,
    causes: &[&str],
) -> Outcome {
    let object = with(volume(&t.own("v"), &t.class), pointer, value);
    t.post(&t.volumes("?dryRun=All"), &object).await?.invalid(causes).map(drop)
}
