//! Options of DELETE.

use bytes::Bytes;
use http::Request;
use serde::Deserialize;
use serde_json::Value;

use crate::api::json_syntax;
use crate::api::media;
use crate::api::query::{self, Query, dry_run_cause};
use crate::api::recorded::types::TYPES;
use crate::api::status::{FieldError, Status};
use crate::strategy::resource::ServedResource;
use crate::strategy::shape::{Source, canonical};
use crate::strategy::{Dependents, Propagation};

/// `metav1.DeleteOptions`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DeleteOptions {
    pub(super) grace_period_seconds: Option<i64>,
    pub(super) propagation_policy: Option<String>,
    pub(super) orphan_dependents: Option<bool>,
    pub(super) dry_run: Option<Vec<Option<String>>>,
    pub(super) preconditions: Option<Preconditions>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Preconditions {
    pub(super) uid: Option<String>,
    pub(super) resource_version: Option<String>,
}

impl Preconditions {
    /// Reads the query as `Convert_url_Values_To_v1_DeleteOptions` of k8s.io/apimachinery. For a
    /// collection `resourceVersion` also selects the list.
    fn in_query(uid: Option<&str>, version: Option<&str>) -> Option<Self> {
        let said = uid.is_some() || version.is_some();
        said.then(|| Self {
            uid: uid.map(str::to_owned),
            resource_version: version.map(str::to_owned),
        })
    }
}

/// The body, with its types checked.
fn sent(body: &[u8]) -> Result<Value, String> {
    let options = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    json_syntax::interpret(&options)?;
    check_type(&options)?;
    if let (Value::Object(members), Some(message)) = (&options, TYPES.kind("v1", "DeleteOptions")) {
        canonical(message, members.clone(), Source::Json, &mut Vec::new())?;
    }
    Ok(options)
}

/// Checks a declared kind: a different object, sent by mistake, must not delete.
fn check_type(options: &Value) -> Result<(), String> {
    let says = |member: &str| options.get(member).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (says("kind"), says("apiVersion"));
    if version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {version}"));
    }
    if matches!(kind, "" | "DeleteOptions") {
        return Ok(());
    }
    let version = if version.is_empty() { "meta.k8s.io/v1" } else { version };
    Err(format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
    ))
}

impl DeleteOptions {
    /// Reads the body, or the query if there is no body.
    pub(super) fn parse(query: &Query, request: &Request<Bytes>) -> Result<Self, Status> {
        let bad = |why: String| Status::bad_request(format!("DeleteOptions: {why}"));
        let options: Self = if request.body().is_empty() {
            let text = |name: &str| query.get(name).filter(|value| !value.is_empty());
            Self {
                grace_period_seconds: query.number("gracePeriodSeconds")?,
                propagation_policy: query.get("propagationPolicy").map(str::to_owned),
                orphan_dependents: query
                    .get("orphanDependents")
                    .map(|_| query.flag("orphanDependents")),
                dry_run: Some(query.all("dryRun").map(|value| Some(value.to_owned())).collect()),
                preconditions: Preconditions::in_query(text("uid"), text("resourceVersion")),
            }
        } else {
            media::require_json(request.headers())?;
            let options = sent(request.body()).map_err(Status::bad_request)?;
            let options: Option<Self> =
                serde_json::from_value(options).map_err(|error| bad(error.to_string()))?;
            options.unwrap_or_default()
        };
        options.check()?;
        Ok(options)
    }

    /// The same options for a dry run, if the request is one.
    ///
    /// # Errors
    ///
    /// The options say something else.
    #[doc(alias = "propagateDryRun")]
    pub(super) fn with_dry_run(mut self, dry_run: bool) -> Result<Self, Status> {
        if !dry_run {
            return Ok(self);
        }
        let all = vec![Some("All".to_owned())];
        let own = self.dry_run.take().filter(|own| !own.is_empty());
        if let Some(own) = own.filter(|own| *own != all) {
            let own: Vec<&str> = own.iter().map(|one| one.as_deref().unwrap_or_default()).collect();
            return Err(Status::unknown(format!(
                "Non-matching dry-run options in request and content: [All] and [{}]",
                own.join(" ")
            )));
        }
        self.dry_run = Some(all);
        Ok(self)
    }

    /// Whether a precondition names a resourceVersion.
    pub(super) fn has_version(&self) -> bool {
        self.preconditions.as_ref().is_some_and(|wanted| wanted.resource_version.is_some())
    }

    /// The same options for this version of the object. `None`: for that which they name.
    pub(super) fn at_version(&self, version: Option<String>) -> Self {
        let mut options = self.clone();
        if version.is_some() {
            options.preconditions.get_or_insert_default().resource_version = version;
        }
        options
    }

    pub(super) fn check(&self) -> Result<(), Status> {
        let mut causes = Vec::new();
        if self.orphan_dependents.is_some()
            && let Some(policy) = &self.propagation_policy
        {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(FieldError::invalid("propagationPolicy", policy, why));
        }
        if let Some(policy) = &self.propagation_policy
            && !matches!(policy.as_str(), "Background" | "Foreground" | "Orphan")
        {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            causes.push(FieldError::unsupported("propagationPolicy", policy, &supported));
        }
        // Null is the empty text.
        let dry_run =
            self.dry_run.iter().flatten().map(|value| value.as_deref().unwrap_or_default());
        causes.extend(dry_run_cause(dry_run));
        query::refuse("DeleteOptions", &causes)
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run.as_ref().is_some_and(|values| !values.is_empty())
    }

    /// The options for dependents.
    pub(super) fn propagation(&self) -> Propagation<'_> {
        Propagation { policy: self.propagation_policy.as_deref(), orphans: self.orphan_dependents }
    }

    /// Whether dependents are orphaned by default.
    pub(super) fn orphans_by_default(&self, kind: &ServedResource) -> bool {
        self.default_of(kind).is_some()
    }

    /// The warnings of a delete.
    pub(super) fn warnings(&self, kind: &ServedResource) -> Vec<String> {
        self.default_of(kind).flatten().map(str::to_owned).into_iter().collect()
    }

    /// If dependents are orphaned by default, the warning of it.
    fn default_of(&self, kind: &ServedResource) -> Option<Option<&'static str>> {
        match kind.strategy().dependents() {
            Dependents::Orphan(warning) => Some(warning).filter(|_| !self.says_what_waits()),
            Dependents::Delete | Dependents::Unsupported => None,
        }
    }

    /// Whether the options say how to treat dependents.
    pub(super) const fn says_what_waits(&self) -> bool {
        self.propagation_policy.is_some() || self.orphan_dependents.is_some()
    }

    /// The finalizer for which the garbage collector treats dependents first.
    pub(super) fn waits_for(&self, kind: &ServedResource) -> Option<&'static str> {
        match (self.propagation_policy.as_deref(), self.orphan_dependents) {
            _ if kind.strategy().dependents() == Dependents::Unsupported => None,
            (None, None) if self.orphans_by_default(kind) => Some("orphan"),
            (Some("Foreground"), _) => Some("foregroundDeletion"),
            (Some("Orphan"), _) | (None, Some(true)) => Some("orphan"),
            _ => None,
        }
    }
}
