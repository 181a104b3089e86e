//! How a strategic merge patch changes a member: the extensions of OpenAPI for patches.

use serde_json::Value;

use crate::Schema;
use crate::patch::error::PatchError;

/// How a patch changes a member of an object.
#[derive(Debug, Clone, Copy)]
#[doc(alias = "PatchMeta")]
pub(super) struct Merging<'a> {
    /// Of the member; of a list, of its items.
    pub(super) schema: Schema<'a>,
    /// `patchStrategy`, without `retainKeys`.
    pub(super) strategy: Strategy,
    /// The member that identifies items of a list.
    pub(super) key: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// None is given: objects are merged, lists replaced.
    Default,
    Merge,
    Replace,
}

impl<'a> Merging<'a> {
    /// Of the member of this name, in an object of a schema.
    ///
    /// # Errors
    ///
    /// The schema has no such member.
    pub(super) fn of(schema: Schema<'a>, name: &str) -> Result<Self, PatchError> {
        let member = schema.value["properties"].get(name).ok_or_else(|| {
            let why = "unable to find api field in struct for the json field";
            PatchError::Unmergeable(format!("{why} {name:?}"))
        })?;
        let resolved = |value: &'a Value| {
            let schema = Schema { value, ..schema };
            let named = schema.reference().and_then(|name| schema.definitions.get(name));
            Schema { value: named.unwrap_or(value), ..schema }
        };
        let strategies = member["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
        let strategy = strategies.split(',').find_map(|word| match word {
            "merge" => Some(Strategy::Merge),
            "replace" => Some(Strategy::Replace),
            _ => None,
        });
        let whole = resolved(member);
        Ok(Self {
            schema: whole.value.get("items").map_or(whole, resolved),
            strategy: strategy.unwrap_or(Strategy::Default),
            key: member["x-kubernetes-patch-merge-key"].as_str(),
        })
    }
}
