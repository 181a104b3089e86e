//! What the webhooks of one write need of the server.

use std::sync::Arc;

use k8s_cel::Authorizer;
use parking_lot::Mutex;

use crate::access::authorizer_of;
use crate::admission::AdmissionRequest;
use crate::admission::expressions::Variables;
use crate::admission::matcher::NoNamespace;
use crate::admission::subject::{Matched, Subject};
use crate::admission::webhooks::Webhook;
use crate::api::metadata::Object;
use crate::api::status::Status;
use crate::rest::state::ApiState;
use crate::store::stored::Key;
use crate::strategy::resource::ServedResource;

/// The surroundings of a write.
#[derive(Debug)]
pub(in crate::rest) struct Context<'a> {
    pub(super) api: &'a ApiState,
    pub(super) kind: &'a ServedResource,
    /// The kind of the objects that admission sees.
    pub(super) seen: &'a ServedResource,
    namespace: Option<Object>,
    versions: Vec<Arc<ServedResource>>,
    authorizer: Arc<dyn Authorizer>,
    pub(super) can_wait: bool,
    warnings: &'a Mutex<Vec<String>>,
}

impl<'a> Context<'a> {
    pub(in crate::rest) fn of(
        api: &'a ApiState,
        (kind, seen): (&'a ServedResource, &'a ServedResource),
        request: &AdmissionRequest,
        can_wait: bool,
        warnings: &'a Mutex<Vec<String>>,
    ) -> Self {
        let is_namespace = kind.group().is_empty() && kind.plural() == "namespaces";
        let name = if is_namespace { Some(&request.name) } else { request.namespace.as_ref() };
        let stored = name.and_then(|name| api.store.get("/namespaces", &Key::new("", name)));
        Self {
            api,
            kind,
            seen,
            namespace: stored.map(|stored| stored.object()),
            versions: api.registry.read().of_storage(&kind.storage),
            authorizer: authorizer_of(&api.access, &request.user),
            can_wait,
            warnings,
        }
    }

    /// Whether admission sees objects of another kind than the resource has.
    pub(super) fn has_view(&self) -> bool {
        !std::ptr::eq(self.kind, self.seen)
    }

    pub(super) fn subject<'s>(&'s self, request: &'s AdmissionRequest) -> Subject<'s> {
        Subject {
            request,
            kind: self.kind,
            namespace: self.namespace.as_ref(),
            versions: &self.versions,
        }
    }

    /// The version in which a webhook is called for a write; `None` if it is not.
    #[doc(alias = "ShouldCallHook")]
    pub(super) fn matching(
        &self,
        webhook: &Webhook,
        subject: &Subject<'_>,
    ) -> Result<Option<Matched>, Status> {
        let matched = webhook.matcher.matches(subject).map_err(|why| self.no_namespace(&why))?;
        let Some(matched) = matched else { return Ok(None) };
        if webhook.conditions.is_empty() {
            return Ok(Some(matched));
        }
        let variables = Variables::of(subject, &matched, &self.authorizer);
        let holds = webhook.conditions.hold(&variables.of_conditions(None));
        let forbidden = |why: String| Status::forbidden(self.kind, &subject.request.name, &why);
        Ok(holds.map_err(forbidden)?.then_some(matched))
    }

    fn no_namespace(&self, NoNamespace(name): &NoNamespace) -> Status {
        let namespaces = self.api.registry.read().find("", "v1", "namespaces");
        match namespaces {
            Some(namespaces) => Status::not_found(&namespaces, name),
            None => Status::internal("namespaces are not served"),
        }
    }

    /// Adds a warning for the client.
    pub(super) fn warn(&self, warnings: Vec<String>) {
        self.warnings.lock().extend(warnings);
    }
}
