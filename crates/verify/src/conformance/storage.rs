//! Claims, volumes and classes; here: how they are made and waited for.

mod bindings;
mod claims;
mod classes;
mod topology;
mod volumes;

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::waiting::eventually;
use crate::conformance::{Case, Outcome, Target};

/// Reads an object until it has what is expected.
async fn until(t: &Target, path: &str, expected: Value) -> Result<Value, String> {
    eventually(async || {
        let found = t.get(path).await?.is(200)?;
        Ok(has(&found, expected.clone()).map(|()| found))
    })
    .await
    .map_err(|why| format!("{path}: {why}"))
}

/// A claim that cannot be bound: no volume is of the case's class.
async fn lone_claim(t: &Target, name: &str) -> Result<Value, String> {
    t.make(&t.claims(""), claim(name, &t.class)).await
}

/// A volume that no claim asks for.
async fn lone_volume(t: &Target, name: &str) -> Result<(String, Value), String> {
    let name = t.own(name);
    let made = t.make(&t.volumes(""), volume(&name, &t.class)).await?;
    Ok((t.volumes(&format!("/{name}")), made))
}

/// A claim, and a volume that names it: they find each other.
async fn bound(t: &Target) -> Result<(String, String), String> {
    let made = lone_claim(t, "a").await?;
    let name = t.own("v");
    let mut object = volume(&name, &t.class);
    object["spec"]["claimRef"] = json!({ "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": t.namespace, "name": "a", "uid": text(&made, "/metadata/uid") });
    t.make(&t.volumes(""), object).await?;
    let (claim, volume) = (t.claims("/a"), t.volumes(&format!("/{name}")));
    until(t, &claim, json!({ "status": { "phase": "Bound" } })).await?;
    Ok((claim, volume))
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
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
async fn wrong_claim(t: &Target, pointer: &str, value: Value, causes: &[&str]) -> Outcome {
    let object = with(claim("a", &t.class), pointer, value);
    t.post(&t.claims("?dryRun=All"), &object).await?.invalid(causes).map(drop)
}

async fn wrong_volume(t: &Target, pointer: &str, value: Value, causes: &[&str]) -> Outcome {
    let object = with(volume(&t.own("v"), &t.class), pointer, value);
    t.post(&t.volumes("?dryRun=All"), &object).await?.invalid(causes).map(drop)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = claims::cases();
    cases.extend(volumes::cases());
    cases.extend(classes::cases());
    cases.extend(topology::cases());
    cases.extend(bindings::cases());
    cases
}
