//! The registration of a definition whose kinds are served.

use std::sync::Arc;

use api_front::Signal;
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::crd::members::is_true;
use crate::strategy::crd::members::{flag, list, schema_of, text};
use crate::strategy::crd::versions::{Around, kinds};
use crate::strategy::resource::ServedResource;

/// Ends the watches of a registration when it is dropped. Never drop it under a lock.
#[derive(Debug)]
#[must_use = "drop it when no lock is held"]
pub(crate) struct Ended(#[expect(dead_code, reason = "its end is its use")] Signal<()>);

/// A registered definition.
#[derive(Debug)]
pub(crate) struct Registered {
    spec: Value,
    accepted: Value,
    terminating: bool,
    converts_upto: u64,
    /// The names of all versions that there were: their places are the numbers of stored objects.
    numbers: Vec<String>,
    alive: Signal<()>,
    pub(crate) served: Vec<Arc<ServedResource>>,
    pub(crate) stored_as: Arc<ServedResource>,
}

impl Registered {
    /// Whether a definition equals the registered one.
    pub(crate) fn is(&self, object: &Object) -> bool {
        let (spec, accepted) = parts(object);
        self.spec == *spec
            && self.accepted == *accepted
            && self.terminating == is_true(object, "Terminating")
    }

    /// Registers a new version of a definition. Returns the end of the registration before.
    ///
    /// # Errors
    ///
    /// Names the schema that cannot be read. The registration before stays.
    pub(crate) fn next(
        before: &mut Option<Self>,
        object: &Object,
        revision: u64,
    ) -> Result<(Self, Option<Ended>), String> {
        let (spec, accepted) = parts(object);
        let storage = |spec: &Value| {
            let versions = list(spec, "versions");
            let storage = versions.iter().find(|version| flag(version, "storage"));
            storage.map(|version| (text(version, "name").to_owned(), schema_of(version).cloned()))
        };
        let converts_upto = match before {
            Some(before) if storage(&before.spec) == storage(spec) => before.converts_upto,
            _ => revision,
        };
        // If only the status changed, watches continue.
        let same =
            before.as_ref().filter(|before| before.spec == *spec && before.accepted == *accepted);
        let mut numbers = before.as_ref().map(|known| known.numbers.clone()).unwrap_or_default();
        for version in list(spec, "versions") {
            let name = text(version, "name");
            if !numbers.iter().any(|known| known == name) {
                numbers.push(name.to_owned());
            }
        }
        let fresh = Signal::new(());
        let ended = same.map_or_else(|| fresh.follow(), |same| same.alive.follow());
        let is_same = same.is_some();
        let around = Around { converts_upto, ended, numbers };
        let (served, stored_as) = kinds(object, &around)?;
        let (alive, ended) = match before.take() {
            Some(before) if is_same => (before.alive, None),
            Some(before) => (fresh, Some(Ended(before.alive))),
            None => (fresh, None),
        };
        let next = Self {
            spec: spec.clone(),
            accepted: accepted.clone(),
            terminating: is_true(object, "Terminating"),
            converts_upto,
            numbers: around.numbers,
            alive,
            served,
            stored_as,
        };
        Ok((next, ended))
    }

    pub(crate) fn end(self) -> Ended {
        Ended(self.alive)
    }
}

/// The spec and the accepted names.
fn parts(object: &Object) -> (&Value, &Value) {
    const NONE: &Value = &Value::Null;
    let spec = object.get("spec").unwrap_or(NONE);
    (spec, object.get("status").and_then(|status| status.get("acceptedNames")).unwrap_or(NONE))
}
