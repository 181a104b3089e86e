//! A write with hooks: the write is tried under the store's lock until it needs the word of a hook,
//! the hook is asked outside of the lock, and the write begins anew, which now knows the answer.
//! What was answered holds only for exactly the objects that were asked about, so what is stored is
//! what the hooks have seen (`GuaranteedUpdate` of the real server, turned inside out).
//!
//! So a write asks everything before it changes anything: one that had changed something when it
//! met a question would begin anew on top of its own half. What goes along with a change that was
//! made is done without asking.

use std::collections::HashSet;

use api_front::User;
use fastrand::Rng;
use serde_json::{Map, Value};

use crate::access::{RoleWrite, check_escalation};
use crate::admission::{AdmissionRequest, Hook, Operation};
use crate::kind::Kind;
use crate::metadata::{self, Object};
use crate::query::FieldValidation;
use crate::rest::decode_patched;
use crate::server::Core;
use crate::status::Status;
use crate::store::Inner;
use crate::stored::{Key, Stored};

/// How often a write begins anew, each time because somebody else was faster.
const ROUNDS: usize = 1000;

/// Who writes what: what hooks are told beside the objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) user: &'a User,
    pub(crate) kind: &'a Kind,
    pub(crate) namespace: Option<&'a str>,
    /// Of the path; empty for a create.
    pub(crate) name: &'a str,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) dry_run: bool,
}

/// A write that has to ask, and what it was told so far. While the write runs it is in the store's
/// `Inner`.
#[derive(Debug)]
pub(crate) struct Turn {
    hooks: Vec<Hook>,
    user: User,
    namespace: Option<String>,
    name: String,
    subresource: Option<String>,
    dry_run: bool,
    /// The object as it is, in the form that the kind shows.
    old: Option<Object>,
    mutated: Option<(Asked, Object)>,
    validated: Option<Asked>,
    deletable: HashSet<(Key, u64)>,
    pending: Option<Pending>,
    /// The same names and uids each time.
    rng: Option<Rng>,
}

/// What was asked about.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    old: Option<Object>,
    new: Object,
}

#[derive(Debug)]
enum Pending {
    Mutate(Asked),
    Validate(Asked),
    Delete(Key, u64, Object),
}

impl Turn {
    /// A turn, if there is anything to ask about such a write.
    pub(crate) fn of(core: &Core, writer: &Writer<'_>) -> Option<Self> {
        let Writer { user, kind, namespace, name, subresource, dry_run } = *writer;
        let all = core.admission.now();
        let about = |hook: &&Hook| hook.is_about(kind.group(), kind.plural(), subresource);
        let hooks: Vec<_> = all.iter().filter(about).cloned().collect();
        if hooks.is_empty() && !crate::access::watches(core, kind) {
            return None;
        }
        Some(Self {
            hooks,
            user: user.clone(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            subresource: subresource.map(str::to_owned),
            dry_run,
            old: None,
            mutated: None,
            validated: None,
            deletable: HashSet::new(),
            pending: None,
            rng: None,
        })
    }

    fn request(
        &self,
        kind: &Kind,
        operation: Operation,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> AdmissionRequest {
        let shown = |object: Option<&Object>| {
            object.map_or(Value::Null, |object| {
                let mut shown = Map::new();
                shown.insert("apiVersion".to_owned(), kind.api_version().into());
                shown.insert("kind".to_owned(), kind.kind().into());
                shown.extend(object.clone());
                Value::Object(shown)
            })
        };
        let named = new.or(old).map(|object| metadata::text(object, "name").to_owned());
        AdmissionRequest {
            operation,
            user: self.user.clone(),
            group: kind.group().to_owned(),
            version: kind.version().to_owned(),
            kind: kind.kind().to_owned(),
            resource: kind.plural().to_owned(),
            subresource: self.subresource.clone(),
            namespace: self.namespace.clone(),
            name: named.filter(|name| !name.is_empty()).unwrap_or_else(|| self.name.clone()),
            object: shown(new),
            old_object: shown(old),
            dry_run: self.dry_run,
        }
    }

    /// Asks what the last round could not know. Runs the hooks: without any lock.
    fn ask(&mut self, core: &Core, kind: &Kind, pending: Pending) -> Result<(), Status> {
        match pending {
            Pending::Mutate(asked) => {
                let new = self.mutate(kind, &asked)?;
                let write = RoleWrite {
                    kind,
                    namespace: self.namespace.as_deref().unwrap_or_default(),
                    name: &self.name,
                    old: asked.old.as_ref(),
                    new: &new,
                };
                check_escalation(core, &self.user, &write)?;
                self.mutated = Some((asked, new));
            }
            Pending::Validate(asked) => {
                let operation =
                    if asked.old.is_some() { Operation::Update } else { Operation::Create };
                let request = self.request(kind, operation, Some(&asked.new), asked.old.as_ref());
                self.hooks.iter().try_for_each(|hook| hook.validate(&request))?;
                self.validated = Some(asked);
            }
            Pending::Delete(key, revision, old) => {
                let request = self.request(kind, Operation::Delete, None, Some(&old));
                self.hooks.iter().try_for_each(|hook| hook.validate(&request))?;
                self.deletable.insert((key, revision));
            }
        }
        Ok(())
    }

    fn mutate(&self, kind: &Kind, asked: &Asked) -> Result<Object, Status> {
        let operation = if asked.old.is_some() { Operation::Update } else { Operation::Create };
        let mut new = asked.new.clone();
        for hook in self.hooks.iter().filter(|hook| hook.mutates()) {
            let request = self.request(kind, operation, Some(&new), asked.old.as_ref());
            let Some(changed) = hook.mutate(&request)? else { continue };
            // Types and unknown members are looked at as in a patch; whose fault it is differs.
            let decoded =
                decode_patched(kind, changed, FieldValidation::Ignore).map_err(|status| {
                    Status::internal(&format!(
                        "failed calling webhook {:?}: {}",
                        hook.name(),
                        status.message()
                    ))
                })?;
            new = decoded;
        }
        Ok(new)
    }
}

/// A word of a hook is missing: said to the gate by `pending`, and never to a client.
fn unasked() -> Status {
    Status::internal("an admission hook was not asked")
}

/// What a write asks while it runs. Without a turn there is nothing to ask.
impl Inner {
    /// Whether there is anything to ask about the write under way.
    pub(crate) const fn asks(&self) -> bool {
        self.turn.is_some()
    }

    /// The object of a create (`old` is nothing) or an update as mutating hooks want it.
    pub(crate) fn mutated(&mut self, new: Object, old: Option<&Object>) -> Result<Object, Status> {
        let Some(turn) = self.turn.as_deref_mut() else { return Ok(new) };
        turn.old = old.cloned();
        let asked = Asked { old: old.cloned(), new };
        match &turn.mutated {
            Some((known, answer)) if *known == asked => Ok(answer.clone()),
            _ => {
                turn.pending = Some(Pending::Mutate(asked));
                Err(unasked())
            }
        }
    }

    /// Whether validating hooks take the object as it is about to be stored.
    pub(crate) fn validated(&mut self, new: &Object) -> Result<(), Status> {
        let Some(turn) =
            self.turn.as_deref_mut().filter(|turn| turn.hooks.iter().any(|hook| !hook.mutates()))
        else {
            return Ok(());
        };
        let asked = Asked { old: turn.old.clone(), new: new.clone() };
        if turn.validated.as_ref() == Some(&asked) {
            return Ok(());
        }
        turn.pending = Some(Pending::Validate(asked));
        Err(unasked())
    }

    /// Whether validating hooks let an object be deleted.
    pub(crate) fn deletable(&mut self, current: &Stored, shown: &Object) -> Result<(), Status> {
        let Some(turn) =
            self.turn.as_deref_mut().filter(|turn| turn.hooks.iter().any(|hook| !hook.mutates()))
        else {
            return Ok(());
        };
        let key = (current.key.clone(), current.revision);
        if turn.deletable.contains(&key) {
            return Ok(());
        }
        turn.pending = Some(Pending::Delete(key.0, key.1, shown.clone()));
        Err(unasked())
    }
}

/// Runs a write under the store's lock. With a turn it may run several times: each time anew, with
/// the same random numbers.
pub(crate) fn gated<T>(
    core: &Core,
    kind: &Kind,
    turn: Option<Turn>,
    mut write: impl FnMut(&mut Inner) -> Result<T, Status>,
) -> Result<T, Status> {
    let Some(turn) = turn else { return core.store.write(write) };
    let mut turn = Box::new(turn);
    for _ in 0..ROUNDS {
        let (outcome, returned) = core.store.write(|inner| {
            // A stream of its own, as others may draw between two rounds.
            let own = turn.rng.get_or_insert_with(|| inner.rng.fork()).clone();
            let others = std::mem::replace(&mut inner.rng, own);
            inner.turn = Some(turn);
            let before = inner.state.revision();
            let outcome = write(inner);
            let turn = inner.turn.take();
            debug_assert!(
                turn.as_ref().is_none_or(|turn| turn.pending.is_none())
                    || inner.state.revision() == before,
                "a write asks everything before it changes anything"
            );
            inner.rng = others;
            (outcome, turn)
        });
        // The write leaves it where it was put.
        let Some(returned) = returned else { return outcome };
        turn = returned;
        match turn.pending.take() {
            None => return outcome,
            Some(pending) => turn.ask(core, kind, pending)?,
        }
    }
    Err(Status::internal("the object changed each time while its admission hooks looked at it"))
}
