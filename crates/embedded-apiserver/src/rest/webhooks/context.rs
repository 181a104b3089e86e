//! What the webhooks of one write need of the server.

use std::borrow::Cow;
use std::sync::Arc;

use k8s_cel::Authorizer;
use parking_lot::Mutex;
use serde_json::Value;

use crate::access::authorizer_of;
use crate::admission::AdmissionRequest;
use crate::admission::expressions::Variables;
use crate::admission::matcher::NoNamespace;
use crate::admission::subject::{Matched, Subject};
use crate::admission::surroundings::Surroundings;
use crate::admission::webhooks::Webhook;
use crate::api::metadata::{self, Object};
use crate::api::status::Status;
use crate::rest::conversion::between;
use crate::rest::state::ApiState;
use crate::rest::webhooks::reviewed::shown;
use crate::strategy::resource::ServedResource;

/// The surroundings of a write.
#[derive(Debug)]
pub(in crate::rest) struct Context<'a> {
    pub(super) api: &'a ApiState,
    pub(super) kind: &'a ServedResource,
    /// The kind of the objects that admission sees.
    pub(super) seen: &'a ServedResource,
    surroundings: Surroundings,
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
        Self {
            api,
            kind,
            seen,
            surroundings: Surroundings::of(&api.store, &api.registry, kind, request),
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
        self.surroundings.subject(request, (self.kind, self.seen))
    }

    /// The version in which a webhook is called for a write; `None` if it is not.
    #[doc(alias = "ShouldCallHook")]
    pub(super) async fn matching(
        &self,
        webhook: &Webhook,
        subject: &Subject<'_>,
    ) -> Result<Option<Matched>, Status> {
        let matched = webhook.matcher.matches(subject).map_err(|why| self.no_namespace(&why))?;
        let Some(matched) = matched else { return Ok(None) };
        if webhook.conditions.is_empty() {
            return Ok(Some(matched));
        }
        let converted;
        let mut seen = *subject;
        if self.kind.has_webhook() && matched.0.is_some() {
            let request = subject.request;
            let object = self.versioned(subject, &request.object, &matched).await?;
            let old_object = self.versioned(subject, &request.old_object, &matched).await?;
            let (object, old_object) = (object.into_owned(), old_object.into_owned());
            converted = AdmissionRequest { object, old_object, ..request.clone() };
            seen = self.subject(&converted);
        }
        let variables = Variables::of(&seen, &matched, &self.authorizer);
        let holds = webhook.conditions.hold(&variables.of_conditions(None));
        let forbidden = |why: String| Status::forbidden(self.kind, &subject.request.name, &why);
        Ok(holds.map_err(forbidden)?.then_some(matched))
    }

    /// An object of the request in the version that a webhook matched.
    ///
    /// # Errors
    ///
    /// The conversion webhook of the kind fails.
    #[doc(alias = "NewVersionedAttributes")]
    pub(super) async fn versioned<'v>(
        &self,
        subject: &Subject<'_>,
        object: &'v Value,
        matched: &Matched,
    ) -> Result<Cow<'v, Value>, Status> {
        let other = matched.0.as_ref().filter(|_| self.kind.has_webhook() && !self.has_view());
        let (Some(other), Value::Object(members)) = (other, object) else {
            return Ok(subject.versioned(object, matched));
        };
        self.converted(members.clone(), self.kind, other).await.map(Cow::Owned)
    }

    /// Converts an object from one version to another.
    pub(super) async fn converted(
        &self,
        mut object: Object,
        from: &ServedResource,
        to: &ServedResource,
    ) -> Result<Value, Status> {
        let managed = metadata::of(&mut object).remove("managedFields");
        object.retain(|member, _| !matches!(member.as_str(), "apiVersion" | "kind"));
        let versions = (&*from.api_version(), &*to.api_version());
        let mut object = match self.kind.has_webhook() {
            true => between(self.api, self.kind, object, versions).await?,
            false => to.to_version(from.to_storage(object), u64::MAX),
        };
        if let Some(managed) = managed {
            metadata::set(&mut object, "managedFields", managed);
        }
        Ok(shown(to, (&object, "")))
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
