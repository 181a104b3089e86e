//! Admission of a write: mutating hooks, the RBAC escalation check, then policies and validating
//! hooks.
//!
//! No lock is held meanwhile. A retried write runs the hooks again, so they have seen every stored
//! object (`GuaranteedUpdate` of k8s.io/apiserver).

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::access::{RoleWrite, authorizer_of, check_escalation};
use crate::admission::policies::{Cluster, Verdict};
use crate::admission::surroundings::Surroundings;
use crate::admission::{AdmissionRequest, Hook, Operation};
use crate::api::metadata::{self, Object};
use crate::api::query::FieldValidation;
use crate::api::status::Status;
use crate::rest::decode;
use crate::rest::state::ApiState;
use crate::strategy::resource::ServedResource;
use api_front::User;

/// The write, for hooks: the kind, the user and the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) user: &'a User,
    pub(crate) kind: &'a ServedResource,
    pub(crate) namespace: Option<&'a str>,
    /// Of the path; empty for a create.
    pub(crate) name: &'a str,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) dry_run: bool,
}

/// The hooks of one write.
#[derive(Debug)]
pub(crate) struct AdmissionChain<'a> {
    api: &'a ApiState,
    writer: Writer<'a>,
    hooks: Vec<Hook>,
    /// Of all attempts of the write, each once.
    warnings: Mutex<Vec<String>>,
}

impl<'a> AdmissionChain<'a> {
    /// The hooks that are registered now.
    pub(crate) fn of(api: &'a ApiState, writer: Writer<'a>) -> Self {
        let Writer { kind, subresource, .. } = writer;
        let all = api.admission.now();
        let about = |hook: &&Hook| hook.is_about(kind.group(), kind.plural(), subresource);
        let hooks = all.iter().filter(about).cloned().collect();
        Self { api, writer, hooks, warnings: Mutex::default() }
    }

    /// The warnings so far.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().clone()
    }

    fn warn(&self, warnings: Vec<String>) {
        let mut known = self.warnings.lock();
        for warning in warnings {
            if !known.contains(&warning) {
                known.push(warning);
            }
        }
    }

    /// Whether [`mutate`](Self::mutate) may change an object.
    pub(crate) fn mutates(&self) -> bool {
        self.hooks.iter().any(Hook::mutates)
    }

    fn request(
        &self,
        operation: Operation,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> AdmissionRequest {
        let Writer { user, kind, namespace, name, subresource, dry_run } = self.writer;
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
            user: user.clone(),
            group: kind.group().to_owned(),
            version: kind.version().to_owned(),
            kind: kind.kind().to_owned(),
            resource: kind.plural().to_owned(),
            subresource: subresource.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
            name: named.filter(|name| !name.is_empty()).unwrap_or_else(|| name.to_owned()),
            object: shown(new),
            old_object: shown(old),
            dry_run,
        }
    }

    /// Runs the mutating hooks. `old` is `None` for a create.
    pub(crate) async fn mutate(
        &self,
        mut new: Object,
        old: Option<&Object>,
    ) -> Result<Object, Status> {
        let Writer { user, kind, namespace, name, .. } = self.writer;
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        for hook in self.hooks.iter().filter(|hook| hook.mutates()) {
            let request = self.request(operation, Some(&new), old);
            let Some(changed) = hook.mutate(&request)? else { continue };
            // Decoded like the result of a patch; only the error differs.
            new = decoded(kind, changed).map_err(|status| {
                let why = status.message();
                Status::internal(&format!("failed calling webhook {:?}: {why}", hook.name()))
            })?;
        }
        let namespace = namespace.unwrap_or_default();
        let write = RoleWrite { kind, namespace, name, old, new: &new };
        check_escalation(&self.api.access, user, &write)?;
        Ok(new)
    }

    /// Asks the policies and the validating hooks about a create or an update.
    pub(crate) async fn validate(&self, new: &Object, old: Option<&Object>) -> Result<(), Status> {
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        self.ask(operation, Some(new), old).await
    }

    /// Asks the policies and the validating hooks about a delete.
    pub(crate) async fn validate_deletion(&self, old: &Object) -> Result<(), Status> {
        self.ask(Operation::Delete, None, Some(old)).await
    }

    async fn ask(
        &self,
        operation: Operation,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), Status> {
        let has_policies = self.api.policies.are_bound(&self.api.store);
        if !has_policies && self.hooks.iter().all(Hook::mutates) {
            return Ok(());
        }
        let request = self.request(operation, new, old);
        if has_policies {
            self.judge(&request)?;
        }
        self.hooks.iter().try_for_each(|hook| hook.validate(&request))
    }

    fn judge(&self, request: &AdmissionRequest) -> Result<(), Status> {
        let (api, Writer { user, kind, .. }) = (self.api, self.writer);
        let surroundings = Surroundings::of(&api.store, &api.registry, kind, request);
        let authorizer = &authorizer_of(&api.access, user);
        let cluster = Cluster { store: &api.store, registry: &api.registry, authorizer };
        let Verdict { denied, warnings } =
            api.policies.judge(&surroundings.subject(request, kind), &cluster);
        self.warn(warnings);
        denied.map_or(Ok(()), Err)
    }
}

/// Decodes the result of a hook with the checks of a request body.
fn decoded(kind: &ServedResource, object: Value) -> Result<Object, Status> {
    let origin = decode::Origin::Document;
    decode::patched(kind, object, &[], FieldValidation::Ignore, origin)
        .map(|decoded| decoded.object)
}
