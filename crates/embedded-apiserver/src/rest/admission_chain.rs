//! Admission of a write: mutating hooks, the RBAC escalation check, then validating hooks.
//!
//! No lock is held meanwhile. A retried write runs the hooks again, so they have seen every stored
//! object (`GuaranteedUpdate` of k8s.io/apiserver).

use http::Method;
use k8s_merge::managed_fields::ManagedFields;
use serde_json::{Map, Value};

use crate::access::{RoleWrite, check_escalation};
use crate::admission::{AdmissionRequest, Hook, Operation};
use crate::api::metadata::{self, Object};
use crate::api::query::{FieldValidation, Query};
use crate::api::status::Status;
use crate::rest::decode;
use crate::rest::delete_options::DeleteOptions;
use crate::rest::operation_options::{of_delete, of_write};
use crate::rest::state::ApiState;
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
    pub(crate) method: &'a Method,
    pub(crate) query: &'a Query,
    /// Of a delete.
    pub(crate) deletion: Option<&'a DeleteOptions>,
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

/// An object with the JSON text of its managedFields.
type Managed<'a> = (&'a Object, &'a str);

/// The hooks of one write.
#[derive(Debug)]
pub(crate) struct AdmissionChain<'a> {
    api: &'a ApiState,
    writer: Writer<'a>,
    hooks: Vec<Hook>,
}

impl<'a> AdmissionChain<'a> {
    /// The hooks that are registered now.
    pub(crate) fn of(api: &'a ApiState, writer: Writer<'a>) -> Self {
        let Writer { kind, subresource, .. } = writer;
        let all = api.admission.now();
        let about = |hook: &&Hook| hook.is_about(kind.group(), kind.plural(), subresource);
        Self { api, writer, hooks: all.iter().filter(about).cloned().collect() }
    }

    /// Whether [`mutate`](Self::mutate) may change an object.
    pub(crate) fn mutates(&self) -> bool {
        self.hooks.iter().any(Hook::mutates)
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
        let shown =
            |object: Option<Managed<'_>>| object.map_or(Value::Null, |object| shown(seen, object));
        let named = new.or(old).map(|(object, _)| metadata::text(object, "name").to_owned());
        AdmissionRequest {
            operation,
            user: user.clone(),
            group: kind.group().to_owned(),
            version: kind.version().to_owned(),
            kind: seen.kind().to_owned(),
            resource: kind.plural().to_owned(),
            subresource: subresource.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
            name: named.filter(|name| !name.is_empty()).unwrap_or_else(|| name.to_owned()),
            object: shown(new),
            old_object: shown(old),
            dry_run,
            options: self.options(operation),
        }
    }

    fn options(&self, operation: Operation) -> Value {
        let Writer { method, query, deletion, .. } = self.writer;
        match deletion {
            Some(options) => of_delete(options),
            None => of_write(query, operation == Operation::Create, *method == Method::PATCH),
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
        }
        let namespace = namespace.unwrap_or_default();
        let old = old.map(|(object, _)| object);
        let write = RoleWrite { kind, namespace, name, old, new: &new };
        check_escalation(&self.api.access, user, &write)?;
        Ok(new)
    }

    /// Runs the validating hooks of a create or an update.
    pub(crate) async fn validate(
        &self,
        new: &Object,
        managed: &ManagedFields,
        old: Option<(&Object, &Stored)>,
    ) -> Result<(), Status> {
        if self.hooks.iter().all(Hook::mutates) {
            return Ok(());
        }
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        let managed = managed.encode();
        let old = old.map(|(object, stored)| (object, stored.managed()));
        let Some(View { of, .. }) = self.writer.view else {
            return self.ask(operation, Some((new, &managed)), old).await;
        };
        let new = of(new)?;
        let old = old.map(|(object, _)| of(object)).transpose()?;
        self.ask(operation, Some((&new, "")), old.as_ref().map(|old| (old, ""))).await
    }

    /// Runs the validating hooks of a delete.
    pub(crate) async fn validate_deletion(
        &self,
        old: &Object,
        stored: &Stored,
    ) -> Result<(), Status> {
        if self.hooks.iter().all(Hook::mutates) {
            return Ok(());
        }
        self.ask(Operation::Delete, None, Some((old, stored.managed()))).await
    }

    async fn ask(
        &self,
        operation: Operation,
        new: Option<Managed<'_>>,
        old: Option<Managed<'_>>,
    ) -> Result<(), Status> {
        let request = self.request(operation, new, old);
        self.hooks.iter().try_for_each(|hook| hook.validate(&request))
    }
}

/// An object as a review has it.
fn shown(kind: &ServedResource, (object, managed): Managed<'_>) -> Value {
    let mut shown = Map::new();
    shown.insert("apiVersion".to_owned(), kind.api_version().into());
    shown.insert("kind".to_owned(), kind.kind().into());
    shown.extend(object.clone());
    if let Ok(managed) = serde_json::from_str::<Value>(managed) {
        metadata::set(&mut shown, "managedFields", managed);
    }
    Value::Object(shown)
}

/// Decodes the result of a hook with the checks of a request body.
fn decoded(kind: &ServedResource, object: Value) -> Result<Object, Status> {
    let origin = decode::Origin::Document;
    decode::patched(kind, object, &[], FieldValidation::Ignore, origin)
        .map(|decoded| decoded.object)
}
