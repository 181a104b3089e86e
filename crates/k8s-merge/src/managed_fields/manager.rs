//! The manager of an entry: a name, and how it writes.

use crate::managed_fields::element::write_string;

/// The longest name of a manager, in bytes: `FieldManagerMaxLength` of apimachinery.
pub const MAX_MANAGER: usize = 128;
/// The longest name of a subresource, in bytes: `MaxSubresourceNameLength` of apimachinery.
pub(super) const MAX_SUBRESOURCE: usize = 256;

/// A field manager. Each has at most one entry in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// The name, as `fieldManager` of a request has it.
    pub name: String,
    /// Whether it writes with server-side apply. One name that applies and updates is two managers.
    pub applies: bool,
    /// The version of the kind, of a manager that updates: in each version it is another manager.
    version: String,
    /// The subresource that it writes to. Empty for the object itself.
    pub subresource: String,
}

impl Manager {
    pub(super) fn new(name: &str, applies: bool, version: &str, subresource: &str) -> Self {
        // Go gives a client without a User-Agent this name.
        let name = if name.is_empty() { "unknown" } else { name };
        let version = if applies { "" } else { version };
        Self {
            name: name.to_owned(),
            applies,
            version: version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// A text that identifies the manager. The API server orders equal entries by it.
    pub(super) fn id(&self) -> String {
        let operation = if self.applies { "Apply" } else { "Update" };
        let mut id = String::with_capacity(128);
        id.push_str("{\"manager\":");
        write_string(&self.name, &mut id);
        id.push_str(",\"operation\":\"");
        id.push_str(operation);
        id.push('"');
        for (member, value) in
            [(",\"apiVersion\":", &self.version), (",\"subresource\":", &self.subresource)]
        {
            if !value.is_empty() {
                id.push_str(member);
                write_string(value, &mut id);
            }
        }
        id.push('}');
        id
    }
}
