//! Conflicts of an apply, in the API server's words.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::managed_fields::manager::Manager;
use crate::managed_fields::set::Path;

/// A field that an apply would change, and that another manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The other manager.
    pub manager: Manager,
    /// The version of the kind in which it owns the field.
    pub version: String,
    /// The field.
    pub path: Path,
}

impl Conflict {
    /// The other manager, for people.
    fn owner(&self) -> String {
        let mut owner = format!("{:?}", self.manager.name);
        if !self.manager.subresource.is_empty() {
            let _ = write!(owner, " with subresource {:?}", self.manager.subresource);
        }
        if !self.manager.applies {
            let _ = write!(owner, " using {}", self.version);
        }
        owner
    }

    /// The message of an apply that fails with these conflicts.
    pub(super) fn message(conflicts: &[Self]) -> String {
        if let [only] = conflicts {
            return format!(
                "Apply failed with 1 conflict: conflict with {}: {}",
                only.owner(),
                only.path
            );
        }
        let mut message = format!("Apply failed with {} conflicts:", conflicts.len());
        let mut owner = None;
        for conflict in conflicts {
            if owner != Some(&conflict.manager) {
                let separator = if owner.is_none() { ' ' } else { '\n' };
                let _ = write!(message, "{separator}conflicts with {}:", conflict.owner());
                owner = Some(&conflict.manager);
            }
            let _ = write!(message, "\n- {}", conflict.path);
        }
        message
    }

    /// Returns the cause of this conflict, as `details.causes` of a Conflict status lists it.
    #[doc(alias = "NewConflictError")]
    pub fn to_cause(&self) -> Value {
        json!({
            "reason": "FieldManagerConflict",
            "message": format!("conflict with {}", self.owner()),
            "field": self.path.to_string(),
        })
    }
}
