//! What no two Services have, addresses and ports on the nodes: those of a folder beside those that
//! the server keeps.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::builtin::services::allocation::Taken;
use crate::metadata::Object;
use crate::resource::ServedResource;
use crate::rest::ApiState;
use crate::snapshot::folder::FoundObject;
use crate::store::state::{Place, State};
use crate::stored::{Key, Stored};

/// The Services of a folder, by their names: those that the server has of these names are replaced.
pub(super) struct Replaced {
    pub(super) kind: Arc<ServedResource>,
    keys: HashSet<Key>,
}

impl Replaced {
    /// Nothing if the folder has no Services.
    pub(super) fn by(core: &ApiState, objects: &[FoundObject]) -> Option<Self> {
        let kind = core.registry.read().find("", "v1", "services")?;
        let text = |object: &Value, pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let services = objects.iter().map(|found| &found.object).filter(|object| {
            text(object, "/kind") == kind.kind()
                && text(object, "/apiVersion") == kind.api_version()
        });
        let keys: HashSet<_> = services
            .map(|object| {
                let namespace = text(object, "/metadata/namespace");
                let namespace = if namespace.is_empty() { "default" } else { &namespace };
                Key::new(namespace, &text(object, "/metadata/name"))
            })
            .collect();
        (!keys.is_empty()).then_some(Self { kind, keys })
    }

    /// The Services that the server keeps.
    pub(super) fn kept(&self, state: &State) -> Vec<Arc<Stored>> {
        let place = Place { table: &self.kind.storage, namespace: None, from: None };
        let mut services = state.snapshot(&place, None).unwrap_or_default();
        services.retain(|service| !self.keys.contains(&service.key));
        services
    }

    /// What those have.
    pub(super) fn taken(&self, state: &State) -> Taken {
        let mut taken = Taken::default();
        self.kept(state).iter().for_each(|service| taken.add(&service.object()));
        taken
    }
}

/// What a Service has that is taken, if anything is.
pub(super) fn clash(taken: &Taken, service: &Object) -> Option<String> {
    taken
        .of(service)
        .map(|(path, value)| format!("{path}: {value} is another Service's on this server"))
}
