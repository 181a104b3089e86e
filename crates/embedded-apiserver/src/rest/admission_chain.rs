//! Admission of a write: mutating hooks and webhooks, the RBAC escalation check, then policies,
//! validating hooks and webhooks.
//!
//! No lock is held meanwhile. A retried write runs the hooks again, so they have seen every stored
//! object (`GuaranteedUpdate` of k8s.io/apiserver).

use futures::future::BoxFuture;
use k8s_merge::managed_fields::ManagedFields;
use parking_lot::Mutex;
use serde_json::Value;

use crate::access::{RoleWrite, authorizer_of, check_escalation};
use crate::admission::configurations::Compiled;
use crate::admission::policies::{Cluster, Verdict};
use crate::admission::surroundings::Surroundings;
use crate::admission::webhooks::Webhook;
use crate::admission::{AdmissionRequest, Hook, Operation};
use crate::api::metadata::{self, Object};
use crate::api::query::Query;
use crate::api::status::Status;
use crate::rest::delete_options::DeleteOptions;
use crate::rest::operation_options::{of_delete, of_write};
use crate::rest::state::ApiState;
use crate::rest::webhooks::reviewed::{Managed, decoded, shown};
use crate::rest::webhooks::{Context, mutating, validating};
use crate::store::stored::Stored;
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
    pub(crate) query: &'a Query,
    /// Of a delete.
    pub(crate) deletion: Option<&'a DeleteOptions>,
    /// Whether the caller can wait for a webhook.
    pub(crate) can_wait: bool,
    /// `None`: the objects are of the kind itself.
    pub(crate) view: Option<View<'a>>,
}

/// What admission sees instead of the object: the Scale of a write to the scale.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) kind: &'a ServedResource,
    pub(crate) of: &'a (dyn Fn(&Object) -> Result<Object, Status> + Sync),
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("kind", &self.kind.kind()).finish_non_exhaustive()
    }
}

/// The hooks of one write.
#[derive(Debug)]
pub(crate) struct AdmissionChain<'a> {
    api: &'a ApiState,
    writer: Writer<'a>,
    hooks: Vec<Hook>,
    /// The webhooks; also whether policies apply. `None`: nothing was ever configured, or the write
    /// is of a configuration.
    registered: Option<Webhooks>,
    warnings: Warnings,
}

/// The configurations of webhooks, by name.
#[derive(Debug)]
struct Webhooks {
    mutating: Compiled<Vec<Webhook>>,
    validating: Compiled<Vec<Webhook>>,
}

/// Warnings of webhooks, in the order in which they came.
#[derive(Debug, Default)]
struct Warnings {
    mutating: Mutex<Vec<String>>,
    validating: Mutex<Vec<String>>,
}

impl<'a> AdmissionChain<'a> {
    /// The hooks that are registered now.
    pub(crate) fn of(api: &'a ApiState, writer: Writer<'a>) -> Self {
        let Writer { kind, subresource, .. } = writer;
        let all = api.admission.now();
        let about = |hook: &&Hook| hook.is_about(kind.group(), kind.plural(), subresource);
        let hooks = all.iter().filter(about).cloned().collect();
        let registrations = &api.registrations;
        let is_exempt = kind.group() == "admissionregistration.k8s.io";
        let registered = (registrations.are_possible() && !is_exempt).then(|| Webhooks {
            mutating: registrations.mutating.now(&api.store),
            validating: registrations.validating.now(&api.store),
        });
        Self { api, writer, hooks, registered, warnings: Warnings::default() }
    }

    /// Whether [`mutate`](Self::mutate) may change an object.
    pub(crate) fn mutates(&self) -> bool {
        self.hooks.iter().any(Hook::mutates) || self.mutating().next().is_some()
    }

    fn validates(&self) -> bool {
        !self.hooks.iter().all(Hook::mutates)
            || self.validating().next().is_some()
            || self.has_policies()
    }

    fn has_policies(&self) -> bool {
        self.registered.is_some() && self.api.policies.are_bound(&self.api.store)
    }

    fn mutating(&self) -> impl Iterator<Item = &Webhook> + Clone + Send {
        let all = self.registered.iter().flat_map(|webhooks| webhooks.mutating.values());
        all.flat_map(|webhooks| webhooks.iter())
    }

    fn validating(&self) -> impl Iterator<Item = &Webhook> + Clone + Send {
        let all = self.registered.iter().flat_map(|webhooks| webhooks.validating.values());
        all.flat_map(|webhooks| webhooks.iter())
    }

    /// The error of the write, with the warnings of webhooks.
    pub(crate) fn warned(&self, status: Status) -> Status {
        let [mutating, validating] = self.warnings();
        status.warned(&mutating).warned_later(validating)
    }

    /// The warnings of the mutating and of the validating webhooks.
    pub(crate) fn warnings(&self) -> [Vec<String>; 2] {
        [&self.warnings.mutating, &self.warnings.validating].map(|all| all.lock().clone())
    }

    /// Whose write it is.
    pub(crate) const fn user(&self) -> &'a User {
        self.writer.user
    }

    /// Whether the write is of a view of the object.
    pub(crate) const fn has_view(&self) -> bool {
        self.writer.view.is_some()
    }

    /// The kind of the objects that admission sees.
    fn seen_kind(&self) -> &'a ServedResource {
        self.writer.view.map_or(self.writer.kind, |view| view.kind)
    }

    fn request(
        &self,
        operation: Operation,
        new: Option<Managed<'_>>,
        old: Option<Managed<'_>>,
    ) -> AdmissionRequest {
        let Writer { user, kind, namespace, name, subresource, dry_run, .. } = self.writer;
        let seen = self.seen_kind();
        let view =
            |object: Option<Managed<'_>>| object.map_or(Value::Null, |object| shown(seen, object));
        let named =
            new.map(|(object, _)| metadata::text(object, "name")).filter(|_| name.is_empty());
        AdmissionRequest {
            operation,
            user: user.clone(),
            group: kind.group().to_owned(),
            version: kind.version().to_owned(),
            kind: seen.kind().to_owned(),
            resource: kind.plural().to_owned(),
            subresource: subresource.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
            name: named.unwrap_or(name).to_owned(),
            object: view(new),
            old_object: view(old),
            dry_run,
            options: self.options(operation),
        }
    }

    fn options(&self, operation: Operation) -> Value {
        let Writer { query, deletion, .. } = self.writer;
        match deletion {
            Some(options) => of_delete(options),
            None => of_write(query, operation == Operation::Create),
        }
    }

    /// Runs the mutating hooks. `managed` are the owners of the fields of the new object. `old` is
    /// `None` for a create.
    pub(crate) async fn mutate(
        &self,
        mut new: Object,
        managed: Option<&ManagedFields>,
        old: Option<(&Object, &Stored)>,
    ) -> Result<Object, Status> {
        let Writer { user, kind, namespace, name, .. } = self.writer;
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        if self.mutates() {
            let managed = managed.map(ManagedFields::encode).unwrap_or_default();
            let before = old.map(|(object, stored)| (object, stored.managed()));
            for hook in self.hooks.iter().filter(|hook| hook.mutates()) {
                let request = self.request(operation, Some((&new, &managed)), before);
                let Some(changed) = hook.mutate(&request)? else { continue };
                // Decoded like the result of a patch; only the error differs.
                new = decoded(self.seen_kind(), changed).map_err(|status| {
                    let why = status.message();
                    Status::internal(&format!("failed calling webhook {:?}: {why}", hook.name()))
                })?;
            }
            if self.mutating().next().is_some() {
                // Webhooks see defaults, hooks do not.
                self.seen_kind().strategy().default(&mut new);
                let request = self.request(operation, Some((&new, &managed)), before);
                new = self.call_mutating(request, &managed).await?.unwrap_or(new);
            }
        }
        let namespace = namespace.unwrap_or_default();
        let old = old.map(|(object, _)| object);
        let write = RoleWrite { kind, namespace, name, old, new: &new };
        check_escalation(&self.api.access, user, &write)?;
        Ok(new)
    }

    /// Calls the mutating webhooks. Boxed: most writes call none, and their futures stay small.
    fn call_mutating<'s>(
        &'s self,
        mut request: AdmissionRequest,
        managed: &'s str,
    ) -> BoxFuture<'s, Result<Option<Object>, Status>> {
        Box::pin(async move {
            let context = self.context(&request, &self.warnings.mutating);
            mutating::mutate(&context, self.mutating(), &mut request, managed).await
        })
    }

    fn context<'s>(
        &'s self,
        request: &AdmissionRequest,
        warnings: &'s Mutex<Vec<String>>,
    ) -> Context<'s> {
        let kinds = (self.writer.kind, self.seen_kind());
        Context::of(self.api, kinds, request, self.writer.can_wait, warnings)
    }

    /// Runs the validating hooks of a create or an update.
    pub(crate) async fn validate(
        &self,
        new: &Object,
        managed: &ManagedFields,
        old: Option<(&Object, &Stored)>,
    ) -> Result<(), Status> {
        if !self.validates() {
            return Ok(());
        }
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        let managed = managed.encode();
        let old = old.map(|(object, stored)| (object, stored.managed()));
        let Some(View { of, .. }) = self.writer.view else {
            return self.validate_request(operation, Some((new, &managed)), old).await;
        };
        let new = of(new)?;
        let old = old.map(|(object, _)| of(object)).transpose()?;
        self.validate_request(operation, Some((&new, "")), old.as_ref().map(|old| (old, ""))).await
    }

    /// Runs the mutating webhooks and the validating hooks of a delete.
    pub(crate) async fn validate_deletion(
        &self,
        old: &Object,
        stored: &Stored,
    ) -> Result<(), Status> {
        let old = Some((old, stored.managed()));
        if self.mutating().next().is_some() {
            let request = self.request(Operation::Delete, None, old);
            self.call_mutating(request, "").await?;
        }
        if !self.validates() {
            return Ok(());
        }
        self.validate_request(Operation::Delete, None, old).await
    }

    async fn validate_request(
        &self,
        operation: Operation,
        new: Option<Managed<'_>>,
        old: Option<Managed<'_>>,
    ) -> Result<(), Status> {
        let request = self.request(operation, new, old);
        if self.has_policies() {
            self.check_policies(&request)?;
        }
        self.hooks.iter().try_for_each(|hook| hook.validate(&request))?;
        if self.validating().next().is_none() {
            return Ok(());
        }
        let context = self.context(&request, &self.warnings.validating);
        Box::pin(validating::validate(&context, self.validating(), &request)).await
    }

    fn check_policies(&self, request: &AdmissionRequest) -> Result<(), Status> {
        let (api, Writer { user, kind, .. }) = (self.api, self.writer);
        let surroundings = Surroundings::of(&api.store, &api.registry, kind, request);
        let authorizer = &authorizer_of(&api.access, user);
        let cluster = Cluster { store: &api.store, registry: &api.registry, authorizer };
        let Verdict { denied, warnings } =
            api.policies.judge(&surroundings.subject(request, (kind, self.seen_kind())), &cluster);
        self.warnings.validating.lock().extend(warnings);
        denied.map_or(Ok(()), Err)
    }
}
