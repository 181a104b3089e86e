//! Versions of objects, as they are shown and stored.

use std::sync::Arc;

use k8s_merge::managed_fields::ManagedFields;

use crate::api::kind::Kind;
use crate::api::metadata::Object;
use crate::api::status::Status;
use crate::rest::conversion::stored_form;
use crate::rest::guaranteed_update::Answer;
use crate::rest::state::ApiState;
use crate::store::stored::{Key, NEXT, Stored};
use crate::store::transaction::Transaction;
use crate::strategy::resource::ServedResource;

/// etcd's default limit of an object's size.
const MAX_OBJECT: usize = 3 * 512 * 1024;

/// A version to store.
pub(super) struct Version<'a> {
    pub(super) key: Key,
    pub(super) object: Object,
    pub(super) managed: &'a ManagedFields,
    /// The stored form omits parts of the text, which a read fills in.
    pub(super) unsaid: bool,
    /// What an update replaces. `None` for a new object.
    pub(super) over: Option<Over<'a>>,
}

/// The stored version that an update replaces, and the member beside the metadata that it writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Over<'a> {
    pub(super) stored: &'a Stored,
    pub(super) written: &'a str,
}

impl Over<'_> {
    /// Restores what the conversion to the stored form has changed beside the written member.
    pub(super) fn restore(self, kind: &Kind, object: &mut Object) {
        if kind.is_lossy() {
            kind.keep_rest(object, &self.stored.object(), self.written);
        }
    }
}

/// Stores a version at the next revision. A dry run keeps the revision of the object.
pub(super) async fn put(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    version: Version<'_>,
    old_revision: u64,
    dry_run: bool,
) -> Result<Answer, Status> {
    let Version { key, object, managed, unsaid, over } = version;
    let encoded = managed.encode();
    let (mut object, number) = stored_form(api, kind, object, &encoded).await?;
    if let Some(over) = over {
        over.restore(kind, &mut object);
    }
    let revision = if dry_run { old_revision } else { NEXT };
    let mut stored = Stored::new(kind, key.clone(), revision, &mut object, &encoded);
    if stored.size() > MAX_OBJECT {
        // As upstream, an object that is too large is first stored without managedFields.
        stored = Stored::new(kind, key, revision, &mut object, "");
    }
    let stored = stored.unsaid(unsaid).written_as(number);
    if stored.size() > MAX_OBJECT {
        return Err(Status::unknown("etcdserver: request is too large"));
    }
    Ok(match dry_run {
        true => Answer::Known(Arc::new(stored)),
        false => Answer::Change(transaction.put(&kind.storage, stored)),
    })
}

/// The stored object as `kind` shows it.
pub(super) fn shown(kind: &Kind, stored: &Stored) -> Object {
    stored.shown(kind)
}
