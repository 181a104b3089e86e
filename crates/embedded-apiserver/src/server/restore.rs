//! Restores an object from a backup.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::api::metadata;
use crate::server::handle::EmbeddedApiServer;
use crate::server::manifests::{kind_of, named};
use crate::store::stored::{Key, Stored};

/// An object cannot be restored: it has no name, no resourceVersion, or no served kind.
#[derive(Debug)]
pub struct RestoreError {
    object: String,
    why: String,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.why)
    }
}

impl std::error::Error for RestoreError {}

impl EmbeddedApiServer {
    /// Restores an object as a client has read it, without validation: uid, resourceVersion, times,
    /// status and managedFields included.
    ///
    /// Clients see it as a restore of etcd. It replaces the object of that name. Watches of its
    /// kind end with 410 Expired. The server's revision still increases, so no resourceVersion
    /// repeats.
    ///
    /// # Errors
    ///
    /// [`RestoreError`] if the object has no name, no resourceVersion, or no served kind.
    #[doc(alias = "etcdctl snapshot restore")]
    pub fn restore(&self, object: &impl Serialize) -> Result<(), RestoreError> {
        let object = serde_json::to_value(object)
            .map_err(|why| RestoreError { object: "an object".to_owned(), why: why.to_string() })?;
        let name = named(&object);
        self.put_back(object).map_err(|why| RestoreError { object: name, why })
    }

    fn put_back(&self, object: Value) -> Result<(), String> {
        let api = self.core().api();
        let kind = kind_of(&api.registry.read(), &object)?;
        let Value::Object(mut object) = object else { return Err("not an object".to_owned()) };
        let version = metadata::text(&object, "resourceVersion");
        let revision =
            version.parse().map_err(|_| "metadata.resourceVersion: expected a number")?;
        let namespace =
            if kind.is_namespaced() { metadata::text(&object, "namespace") } else { "" };
        let key = Key::new(namespace, metadata::text(&object, "name"));
        if key.name().is_empty() || kind.is_namespaced() == namespace.is_empty() {
            return Err("metadata: expected a name, and a namespace if the kind has one".to_owned());
        }
        object.remove("apiVersion");
        object.remove("kind");
        let managed = metadata::of(&mut object).remove("managedFields");
        let managed = managed.map(|managed| managed.to_string()).unwrap_or_default();
        if kind.is_built_in() {
            object = kind.to_storage(object);
        }
        let number = kind.definition().map_or(0, |served| served.number);
        let stored = Stored::new(&kind, key, revision, &mut object, &managed).written_as(number);
        api.registrations.note(&kind.storage);
        api.store.write(|state| state.restore(&kind.storage, Arc::new(stored)));
        Ok(())
    }
}
