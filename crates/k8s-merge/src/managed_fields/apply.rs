//! Server-side apply: the new object, and the owners of its fields.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::Object;
use crate::managed_fields::compare::Mismatch;
use crate::managed_fields::conflict::Conflict;
use crate::managed_fields::element::equal;
use crate::managed_fields::entries::{Entry, ManagedFields};
use crate::managed_fields::manager::Manager;
use crate::managed_fields::operation::{Operation, stripped};
use crate::managed_fields::set::Set;
use crate::managed_fields::types::Types;

/// The annotation that keeps the configuration of a client-side apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The manager of kubectl, which takes over from its client-side apply.
const KUBECTL: &str = "kubectl";
/// The manager of the fields that had no owner before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Why an apply fails. The texts are the API server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyError {
    /// Other managers own fields that it would change.
    Conflicts(Vec<Conflict>),
    /// The configuration does not fit the structure of the kind.
    Configuration(String),
    /// The live object does not fit the structure of the kind.
    Live(String),
}

impl From<Mismatch> for ApplyError {
    fn from(Mismatch(why): Mismatch) -> Self {
        Self::Live(why)
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflicts(conflicts) => f.write_str(&Conflict::message(conflicts)),
            Self::Configuration(why) => write!(f, "the configuration does not fit: {why}"),
            Self::Live(why) => write!(f, "the live object does not fit: {why}"),
        }
    }
}

impl std::error::Error for ApplyError {}

/// The outcome of an apply.
#[derive(Debug, Clone, PartialEq)]
pub struct ApplyOutcome {
    /// The new object. `None` if the live one stays as it is.
    pub object: Option<Object>,
    /// The owners of its fields.
    pub managed: ManagedFields,
}

/// Applies a configuration to a live object, or creates one from it: server-side apply.
///
/// `owned` are the owners of the live object's fields. With `force`, the fields of other managers
/// become this one's; without it they are conflicts. Neither object has `metadata.managedFields`.
///
/// ```
/// use jiff::Timestamp;
/// use k8s_merge::managed_fields::{ApplyError, ManagedFields, Operation, Types, apply};
/// use k8s_merge::{Object, Schema};
/// use serde_json::json;
///
/// let types = Types::of_custom_resource(Schema::new(&json!({}), &Object::new()));
/// let object = |replicas: u32| Object::from_iter([("replicas".to_owned(), json!(replicas))]);
/// let operation = |manager| {
///     Operation::new(&types, "example.com/v1", "Widget", manager, Timestamp::UNIX_EPOCH)
/// };
///
/// let made = apply(&operation("a"), None, &ManagedFields::default(), &object(1), false)?;
/// let live = made.object.ok_or("nothing was created")?;
///
/// let refused = apply(&operation("b"), Some(&live), &made.managed, &object(2), false);
/// let why = refused.expect_err("a owns it").to_string();
/// assert_eq!(why, r#"Apply failed with 1 conflict: conflict with "a": .replicas"#);
///
/// let forced = apply(&operation("b"), Some(&live), &made.managed, &object(2), true)?;
/// assert_eq!(forced.object, Some(object(2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The configuration or the live object does not fit the types, or there are conflicts.
#[doc(alias = "FieldManager.Apply")]
#[doc(alias = "server-side apply")]
pub fn apply(
    operation: &Operation<'_>,
    live: Option<&Object>,
    owned: &ManagedFields,
    config: &Object,
    force: bool,
) -> Result<ApplyOutcome, ApplyError> {
    operation.types.validate(config).map_err(ApplyError::Configuration)?;
    let (live, mut managed) = match live {
        Some(live) if owned.is_empty() => {
            let adopted = operation.adopt(live, BEFORE_FIRST_APPLY).map_err(|Mismatch(why)| {
                ApplyError::Live(operation.types.validate(live).err().unwrap_or(why))
            });
            (live, adopted?)
        }
        Some(live) => (live, owned.clone()),
        None => (operation.types.zero(), ManagedFields::default()),
    };
    operation.reconcile(&mut managed);
    let applied = match operation.apply_once(live, managed.clone(), config, force) {
        Err(ApplyError::Conflicts(conflicts)) if operation.manager == KUBECTL => {
            let conflicts = operation.not_last_applied(live, conflicts);
            if !conflicts.is_empty() {
                return Err(ApplyError::Conflicts(conflicts));
            }
            operation.apply_once(live, managed, config, true)?
        }
        applied => applied?,
    };
    Ok(operation.keep_last_applied(applied, live, config))
}

impl Operation<'_> {
    fn apply_once(
        &self,
        live: &Object,
        mut managed: ManagedFields,
        config: &Object,
        force: bool,
    ) -> Result<ApplyOutcome, ApplyError> {
        let merged = self.types.merge(live, config);
        let mut fields = self.types.fields_of(config);
        fields.subtract_with_all_below(self.reset);
        let manager = Manager::new(self.manager, true, self.version, self.subresource);
        let id = manager.id();
        let last = managed.entries.get(&id).cloned();
        let time = last.as_ref().and_then(|last| last.time);
        managed.insert(Entry { time, ..self.entry(manager, fields) });
        let new = match &last {
            Some(last) => self.prune(merged, &managed, last)?,
            None => merged,
        };
        let (_, conflicts) = self.take(&mut managed, live, &new, Some(&id), force)?;
        if !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(conflicts));
        }
        let changed = !are_equal(live, &new);
        if let Some(mut entry) = managed.entries.remove(&id) {
            entry.fields.subtract(stripped());
            if changed {
                entry.time = Some(self.now);
            }
            if !entry.fields.is_empty() {
                managed.insert(entry);
            }
        }
        Ok(ApplyOutcome { object: changed.then_some(new), managed })
    }

    fn types_of(&self, version: &str) -> Option<&Types> {
        if version == self.version {
            Some(self.types)
        } else {
            self.other_versions.get(version).copied()
        }
    }

    /// Removes the fields that this manager has applied before, does not apply any more, and no
    /// other manager owns. Each entry is compared in its own version of the kind.
    fn prune(
        &self,
        merged: Object,
        managed: &ManagedFields,
        last: &Entry,
    ) -> Result<Object, Mismatch> {
        let Some(types) = self.types_of(&last.version).filter(|_| !last.fields.is_empty()) else {
            return Ok(merged);
        };
        let last_fields = types.with_named_fields(&last.fields);
        let merged_last = self.in_version(&merged, self.version, &last.version)?;
        let mut pruned = types.without(&merged_last, &last_fields);
        // The versions of `now` and `pruned`.
        let (mut now, mut version_now) = (merged_last.clone(), last.version.as_str());
        // Owned fields come back, with the objects and items that they are in.
        let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
        for entry in managed.entries() {
            let fields = owned.entry(&entry.version).or_default();
            *fields = fields.union(&entry.fields);
        }
        // Those of the last version first: a conversion may need them.
        let first = owned.remove_entry(&*last.version);
        for (version, owned) in first.into_iter().chain(owned) {
            let Some(types) = self.types_of(version) else { continue };
            let merged = self.in_version(&now, version_now, version)?.into_owned();
            let kept = self.in_version(&pruned, version_now, version)?;
            let all = types.with_named_fields(&types.fields_of(&merged));
            let kept = types.with_named_fields(&types.fields_of(&kept));
            let kept = kept.union(&types.with_named_fields(&owned));
            pruned = types.without(&merged, &all.difference(&kept));
            (now, version_now) = (Cow::Owned(merged), version);
        }
        let pruned = self.in_version(&pruned, version_now, &last.version)?;
        // So do the fields that this manager did not own before.
        let all = types.with_named_fields(&types.fields_of(&merged_last));
        let kept = types.with_named_fields(&types.fields_of(&pruned));
        let lost = all.difference(&kept).intersection(&last_fields);
        let pruned = types.without(&merged_last, &lost);
        Ok(self.in_version(&pruned, &last.version, self.version)?.into_owned())
    }

    /// The conflicts but for fields that still are as client-side apply has applied them last.
    fn not_last_applied(&self, live: &Object, conflicts: Vec<Conflict>) -> Vec<Conflict> {
        let Some(mine) = self.last_applied(live) else { return conflicts };
        conflicts.into_iter().filter(|conflict| !mine.has_path(&conflict.path.0)).collect()
    }

    fn last_applied(&self, live: &Object) -> Option<Set> {
        let mut last: Object = serde_json::from_str(annotation(live)?).ok()?;
        if last.remove("apiVersion")? != self.version {
            return None;
        }
        last.remove("kind");
        self.types.validate(&last).ok()?;
        let difference = self.types.compare(&last, live).ok()?;
        let fields = self.types.fields_of(&last);
        Some(
            fields
                .difference(&difference.modified)
                .difference(&difference.added)
                .difference(&difference.removed),
        )
    }

    /// Updates the annotation of client-side apply, if the object has one.
    fn keep_last_applied(
        &self,
        mut applied: ApplyOutcome,
        live: &Object,
        config: &Object,
    ) -> ApplyOutcome {
        let object = applied.object.as_ref().unwrap_or(live);
        if self.manager != KUBECTL || annotation(object).is_none() {
            return applied;
        }
        let mut config = config.clone();
        annotations(&mut config).map(|annotations| annotations.remove(LAST_APPLIED));
        config.insert("apiVersion".to_owned(), self.version.into());
        config.insert("kind".to_owned(), self.kind.into());
        let mut object = object.clone();
        let text = format!("{}\n", Value::Object(config));
        annotations(&mut object)
            .map(|annotations| annotations.insert(LAST_APPLIED.to_owned(), text.into()));
        if applied.object.is_some() || !are_equal(live, &object) {
            applied.object = Some(object);
        }
        applied
    }
}

fn annotations(object: &mut Object) -> Option<&mut Object> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}

/// Compares numbers by their value.
fn are_equal(one: &Object, other: &Object) -> bool {
    let mut pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.all(|((a, x), (b, y))| a == b && equal(x, y))
}

fn annotation(object: &Object) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()?;
    (!text.is_empty()).then_some(text)
}
