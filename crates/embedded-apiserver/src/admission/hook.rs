//! An admission hook: its resources, its closure, and the handling of a panic.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use crate::admission::{AdmissionRequest, Operation};
use crate::api::status::Status;

/// The refusal of a hook. The client reads it after `admission webhook "name" denied the request:
/// `.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    message: String,
    code: u16,
    reason: String,
}

impl Denied {
    /// A refusal with code 403 and reason `Forbidden`, as in controller-runtime's webhooks.
    #[must_use]
    #[doc(alias = "admission.Denied")]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 403, reason: "Forbidden".to_owned() }
    }

    /// Sets the code. As upstream, codes below 400 become 400.
    #[must_use]
    pub const fn code(mut self, code: u16) -> Self {
        self.code = if code < 400 { 400 } else { code };
        self
    }

    /// Sets the reason. Empty for none.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// `ToStatusErr` of k8s.io/apiserver/pkg/admission/plugin/webhook/errors.
    fn into_status(self, name: &str) -> Status {
        let why = match (self.message.as_str(), self.reason.as_str()) {
            ("", "") => " without explanation".to_owned(),
            ("", reason) => format!(": {reason}"),
            (message, _) => format!(": {message}"),
        };
        Status::denied(
            self.code,
            self.reason,
            format!("admission webhook {name:?} denied the request{why}"),
        )
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Denied {}

impl From<&str> for Denied {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<String> for Denied {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

type Mutate = dyn Fn(&AdmissionRequest, &mut Value) -> Result<(), Denied> + Send + Sync;
type Validate = dyn Fn(&AdmissionRequest) -> Result<(), Denied> + Send + Sync;

#[derive(Clone)]
enum Does {
    Mutate(Arc<Mutate>),
    Validate(Arc<Validate>),
}

/// An admission hook: a name and a closure. [`resource`](Self::resource) and [`on`](Self::on)
/// restrict it. By default it covers all resources without subresources, and all operations.
///
/// The closure must not block: it runs on the task that serves the request.
#[derive(Clone)]
#[must_use = "a hook does nothing until it is added"]
pub struct Hook {
    name: Arc<str>,
    resources: Vec<String>,
    operations: Vec<Operation>,
    does: Does,
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("name", &self.name)
            .field("resources", &self.resources)
            .field("operations", &self.operations)
            .finish_non_exhaustive()
    }
}

impl Hook {
    /// A hook that may change its second argument, the object of a create or an update. The result
    /// is validated like a request body.
    pub fn mutating<F>(name: impl Into<Arc<str>>, hook: F) -> Self
    where
        F: Fn(&AdmissionRequest, &mut Value) -> Result<(), Denied> + Send + Sync + 'static,
    {
        Self {
            name: name.into(),
            resources: Vec::new(),
            operations: Vec::new(),
            does: Does::Mutate(Arc::new(hook)),
        }
    }

    /// A hook that accepts or refuses a write. Runs after all mutating hooks.
    pub fn validating<F>(name: impl Into<Arc<str>>, hook: F) -> Self
    where
        F: Fn(&AdmissionRequest) -> Result<(), Denied> + Send + Sync + 'static,
    {
        let does = Does::Validate(Arc::new(hook));
        Self { name: name.into(), resources: Vec::new(), operations: Vec::new(), does }
    }

    /// Adds a resource: `pods`, `leases.coordination.k8s.io`, `pods/status`.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resources.push(resource.into());
        self
    }

    /// Adds an operation.
    pub fn on(mut self, operation: Operation) -> Self {
        self.operations.push(operation);
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn mutates(&self) -> bool {
        matches!(self.does, Does::Mutate(_))
    }

    /// Whether it covers this resource.
    pub(crate) fn is_about(&self, group: &str, resource: &str, subresource: Option<&str>) -> bool {
        if self.resources.is_empty() {
            return subresource.is_none();
        }
        self.resources.iter().any(|pattern| {
            let (object, part) = match pattern.split_once('/') {
                Some((object, part)) => (object, Some(part)),
                None => (pattern.as_str(), None),
            };
            let named = match object.split_once('.') {
                Some((plural, of)) => plural == resource && of == group,
                None => object == resource,
            };
            named && part == subresource
        })
    }

    fn is_on(&self, operation: Operation) -> bool {
        self.operations.is_empty() || self.operations.contains(&operation)
    }

    /// Runs a mutating hook, if it covers the request. Returns the changed object.
    pub(crate) fn mutate(&self, request: &AdmissionRequest) -> Result<Option<Value>, Status> {
        let Does::Mutate(hook) = &self.does else { return Ok(None) };
        if !self.is_on(request.operation) {
            return Ok(None);
        }
        let mut object = request.object.clone();
        self.call(|| hook(request, &mut object))?;
        Ok(Some(object))
    }

    pub(crate) fn validate(&self, request: &AdmissionRequest) -> Result<(), Status> {
        match &self.does {
            Does::Validate(hook) if self.is_on(request.operation) => self.call(|| hook(request)),
            _ => Ok(()),
        }
    }

    fn call(&self, hook: impl FnOnce() -> Result<(), Denied>) -> Result<(), Status> {
        match catch_unwind(AssertUnwindSafe(hook)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(denied)) => Err(denied.into_status(&self.name)),
            Err(panic) => {
                let why = panic.downcast_ref::<&str>().copied();
                let why = why
                    .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
                    .unwrap_or("no text");
                Err(Status::internal(&format!(
                    "failed calling webhook {:?}: it panicked: {why}",
                    self.name
                )))
            }
        }
    }
}
