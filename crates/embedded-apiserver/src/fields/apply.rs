//! What an apply does to an object and to who owns it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::fields::compare::Mismatch;
use crate::fields::element::equal;
use crate::fields::managed::{Entry, Managed, Manager};
use crate::fields::set::{Path, Set};
use crate::fields::types::Types;
use crate::fields::update::{Operation, stripped};
use crate::metadata::Object;

/// Where client-side apply keeps what it has applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The manager of kubectl's server-side apply, which takes over from its client-side one.
const KUBECTL: &str = "kubectl";
/// Who owns what nobody has owned before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// A field that somebody else owns, and that an apply would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) manager: Manager,
    pub(crate) version: String,
    pub(crate) path: Path,
}

/// Why an apply is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Others own what it would change.
    Conflicts(Vec<Conflict>),
    /// The configuration does not fit the kind's schema.
    Configuration(String),
    /// The live object does not.
    Live(String),
}

impl From<Mismatch> for Refused {
    fn from(Mismatch(why): Mismatch) -> Self {
        Self::Live(why)
    }
}

/// What an apply has come to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Applied {
    /// The new object; nothing if it is the live one.
    pub(crate) object: Option<Object>,
    pub(crate) managed: Managed,
}

/// Applies a configuration to a live object, or to nothing. Neither carries apiVersion, kind or
/// managedFields.
///
/// # Errors
///
/// The configuration does not fit the kind, or changes what others own and is not forced to.
#[doc(alias = "FieldManager.Apply")]
#[doc(alias = "server-side apply")]
pub(crate) fn apply(
    operation: &Operation<'_>,
    live: Option<&Object>,
    owned: &Managed,
    config: &Object,
    force: bool,
) -> Result<Applied, Refused> {
    operation.types.validate(config).map_err(Refused::Configuration)?;
    let (live, mut managed) = match live {
        Some(live) if owned.is_empty() => {
            let adopted = operation.adopt(live, BEFORE_FIRST_APPLY).map_err(|Mismatch(why)| {
                Refused::Live(operation.types.validate(live).err().unwrap_or(why))
            });
            (live, adopted?)
        }
        Some(live) => (live, owned.clone()),
        None => (operation.types.zero(), Managed::default()),
    };
    operation.reconcile(&mut managed);
    let applied = match operation.apply(live, managed.clone(), config, force) {
        Err(Refused::Conflicts(conflicts)) if operation.manager == KUBECTL => {
            let conflicts = operation.not_last_applied(live, conflicts);
            if !conflicts.is_empty() {
                return Err(Refused::Conflicts(conflicts));
            }
            operation.apply(live, managed, config, true)?
        }
        applied => applied?,
    };
    Ok(operation.keep_last_applied(applied, live, config))
}

impl Operation<'_> {
    fn apply(
        &self,
        live: &Object,
        mut managed: Managed,
        config: &Object,
        force: bool,
    ) -> Result<Applied, Refused> {
        let merged = self.types.merge(live, config);
        let mut fields = self.types.fields_of(config);
        fields.subtract_with_all_below(self.reset);
        let manager = Manager::new(self.manager, true, self.version, self.subresource);
        let id = manager.id();
        let last = managed.entries.get(&id).cloned();
        let time = last.as_ref().and_then(|last| last.time);
        managed.insert(Entry { time, ..self.entry(manager, fields) });
        let new = match &last {
            Some(last) => self.prune(merged, &managed, last),
            None => merged,
        };
        let (_, conflicts) = self.take(&mut managed, live, &new, Some(&id), force)?;
        if !conflicts.is_empty() {
            return Err(Refused::Conflicts(conflicts));
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
        Ok(Applied { object: changed.then_some(new), managed })
    }

    fn types_of(&self, version: &str) -> Option<&Types> {
        if version == self.version { Some(self.types) } else { self.others.get(version).copied() }
    }

    /// Removes what this manager has applied before, does not apply any more, and nobody else owns.
    /// What was owned in another version of the kind is looked at in that version.
    fn prune(&self, merged: Object, managed: &Managed, last: &Entry) -> Object {
        let Some(types) = self.types_of(&last.version).filter(|_| !last.fields.is_empty()) else {
            return merged;
        };
        let last_fields = types.with_named_fields(&last.fields);
        let mut pruned = types.without(&merged, &last_fields);
        // What somebody owns comes back, with all that it is in.
        let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
        for entry in managed.entries() {
            let fields = owned.entry(&entry.version).or_default();
            *fields = fields.union(&entry.fields);
        }
        let mut back = |version: &str, owned: &Set| {
            if let Some(types) = self.types_of(version) {
                let all = types.with_named_fields(&types.fields_of(&merged));
                let kept = types.with_named_fields(&types.fields_of(&pruned));
                let kept = kept.union(&types.with_named_fields(owned));
                pruned = types.without(&merged, &all.difference(&kept));
            }
        };
        if let Some(owned) = owned.remove(&*last.version) {
            back(&last.version, &owned);
        }
        for (version, owned) in &owned {
            back(version, owned);
        }
        // And so does what this manager did not own before.
        let all = types.with_named_fields(&types.fields_of(&merged));
        let kept = types.with_named_fields(&types.fields_of(&pruned));
        types.without(&merged, &all.difference(&kept).intersection(&last_fields))
    }

    /// The conflicts that client-side apply has not made itself: what it has applied last, and is
    /// still so, is no one else's.
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

    /// kubectl's annotation says what has been applied last, as long as there is one.
    fn keep_last_applied(&self, mut applied: Applied, live: &Object, config: &Object) -> Applied {
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

/// Numbers by what they are worth.
fn are_equal(one: &Object, other: &Object) -> bool {
    let mut pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.all(|((a, x), (b, y))| a == b && equal(x, y))
}

fn annotation(object: &Object) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

impl Conflict {
    /// Who has it, for people.
    pub(crate) fn owner(&self) -> String {
        let mut owner = format!("{:?}", self.manager.name);
        if !self.manager.subresource.is_empty() {
            let _ = write!(owner, " with subresource {:?}", self.manager.subresource);
        }
        if !self.manager.applies {
            let _ = write!(owner, " using {}", self.version);
        }
        owner
    }

    /// The message of a refusal for these.
    pub(crate) fn message(conflicts: &[Self]) -> String {
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

    /// The causes of a refusal for these.
    pub(crate) fn causes(conflicts: &[Self]) -> Value {
        let cause = |conflict: &Self| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {}", conflict.owner()),
                "field": conflict.path.to_string(),
            })
        };
        conflicts.iter().map(cause).collect()
    }
}
