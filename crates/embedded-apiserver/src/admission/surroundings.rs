//! What of the server must be known to match a write.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::admission::AdmissionRequest;
use crate::admission::subject::Subject;
use crate::api::metadata::Object;
use crate::store::Store;
use crate::store::stored::Key;
use crate::strategy::registry::Registry;
use crate::strategy::resource::ServedResource;

/// The table of Namespaces.
const NAMESPACES: &str = "/namespaces";

/// The namespace of an object, and the versions of its kind.
#[derive(Debug)]
pub(crate) struct Surroundings {
    namespace: Option<Object>,
    versions: Vec<Arc<ServedResource>>,
}

impl Surroundings {
    /// Reads them for a write of a kind.
    pub(crate) fn of(
        store: &Store,
        registry: &RwLock<Registry>,
        kind: &ServedResource,
        request: &AdmissionRequest,
    ) -> Self {
        let bare = Subject { request, kind, namespace: None, versions: &[] };
        let found = store.get(NAMESPACES, &Key::new("", bare.namespace_name()));
        Self {
            namespace: found.map(|namespace| namespace.object()),
            versions: registry.read().of_storage(&kind.storage),
        }
    }

    /// The write within them.
    pub(crate) fn subject<'a>(
        &'a self,
        request: &'a AdmissionRequest,
        kind: &'a ServedResource,
    ) -> Subject<'a> {
        Subject { request, kind, namespace: self.namespace.as_ref(), versions: &self.versions }
    }
}
