//! Expressions of a configuration: compiled once, evaluated for a write within a budget
//! (k8s.io/apiserver/pkg/admission/plugin/cel/activation.go and condition.go).

use std::sync::Arc;

use k8s_cel::{
    Activation, AskedResource, Authorizer, Composition, Environment, Evaluation, Expression, Value,
};
use serde_json::{Map, Value as Json, json};

use crate::admission::subject::{Matched, Subject};
use crate::api::kind::Kind;
use crate::strategy::expressions::{Wanted, Wrong, compile};

/// A compiled expression with its source.
#[derive(Debug)]
pub(crate) struct Compiled {
    source: String,
    expression: Result<Expression, Wrong>,
}

impl Compiled {
    pub(crate) fn new(source: &str, environment: &Environment, wanted: Wanted) -> Self {
        Self { source: source.to_owned(), expression: compile(source, environment, wanted) }
    }
}

/// As much the expressions of a configuration may cost together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget(u64);

/// The budget is used up: nothing more is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spent;

impl Spent {
    pub(crate) const WHY: &str = "validation failed due to running out of cost budget, no further \
                                  validation rules will be run";
}

impl Budget {
    /// `RuntimeCELCostBudget`.
    pub(crate) const VALIDATIONS: Self = Self(10_000_000);
    /// `RuntimeCELCostBudgetMatchConditions`.
    pub(crate) const MATCH_CONDITIONS: Self = Self(2_500_000);

    /// Evaluates an expression, or says why it has no value.
    pub(crate) fn evaluate(
        &mut self,
        compiled: &Compiled,
        activation: &Activation<'_>,
    ) -> Result<Result<Value, String>, Spent> {
        let expression = match &compiled.expression {
            Ok(expression) => expression,
            Err(why) => return Ok(Err(format!("compilation error: {}", why.message()))),
        };
        let Evaluation { value, cost } = activation.evaluate(expression);
        self.0 = self.0.checked_sub(cost).ok_or(Spent)?;
        let failed = |why| format!("expression '{}' resulted in error: {why}", compiled.source);
        Ok(value.map_err(failed))
    }
}

/// The values of the variables for one write, in the version that a configuration matched.
#[derive(Debug, Clone)]
pub(crate) struct Variables {
    object: Value,
    old_object: Value,
    request: Value,
    namespace: Value,
    authorizer: Value,
    request_resource: Value,
}

impl Variables {
    pub(crate) fn of(
        subject: &Subject<'_>,
        matched: &Matched,
        authorizer: &Arc<dyn Authorizer>,
    ) -> Self {
        let object = |object| Value::of_json(&subject.versioned(object, matched));
        let asked = AskedResource {
            group: subject.request.group.clone(),
            resource: subject.request.resource.clone(),
            subresource: subject.subresource().to_owned(),
            namespace: subject.namespace_name().to_owned(),
            name: subject.request.name.clone(),
        };
        Self {
            object: object(&subject.request.object),
            old_object: object(&subject.request.old_object),
            request: Value::of_members(&request(subject, matched)),
            namespace: subject
                .namespace
                .filter(|_| !subject.is_namespace())
                .map_or(Value::Null, |namespace| Value::of_members(&shown_namespace(namespace))),
            authorizer: Value::authorizer(authorizer),
            request_resource: Value::request_resource(authorizer, asked),
        }
    }

    /// The variables of match conditions. They do not see the namespace.
    pub(crate) fn of_conditions<'a>(&self, params: Option<&Value>) -> Activation<'a> {
        self.common(params)
            .set("namespaceObject", Value::Null)
            .set("authorizer", self.authorizer.clone())
            .set("authorizer.requestResource", self.request_resource.clone())
    }

    /// The variables of validations.
    pub(crate) fn of_validations<'a>(
        &self,
        params: Option<&Value>,
        composition: &'a Composition,
    ) -> Activation<'a> {
        self.of_messages(params, composition)
            .set("authorizer", self.authorizer.clone())
            .set("authorizer.requestResource", self.request_resource.clone())
    }

    /// The variables of messages and audit annotations. They do not see the authorizer.
    pub(crate) fn of_messages<'a>(
        &self,
        params: Option<&Value>,
        composition: &'a Composition,
    ) -> Activation<'a> {
        self.common(params).set("namespaceObject", self.namespace.clone()).composed(composition)
    }

    fn common<'a>(&self, params: Option<&Value>) -> Activation<'a> {
        Activation::default()
            .set("object", self.object.clone())
            .set("oldObject", self.old_object.clone())
            .set("request", self.request.clone())
            .set("params", params.cloned().unwrap_or(Value::Null))
    }
}

/// The variable `request`: an AdmissionRequest without its objects.
#[doc(alias = "CreateAdmissionRequest")]
fn request(subject: &Subject<'_>, matched: &Matched) -> Map<String, Json> {
    let request = subject.request;
    let kind =
        |of: &Kind| json!({ "group": of.group(), "version": of.version(), "kind": of.kind() });
    let resource = |of: &Kind| json!({ "group": of.group(), "version": of.version(), "resource": of.plural() });
    let version = matched.0.as_deref().unwrap_or(subject.kind);
    let user = &request.user;
    let mut told = Map::new();
    let mut tell = |name: &str, value: Json| {
        // Go leaves out what is empty.
        let is_empty = match &value {
            Json::String(text) => text.is_empty(),
            Json::Array(items) => items.is_empty(),
            Json::Object(members) => members.is_empty(),
            _ => false,
        };
        if !is_empty {
            told.insert(name.to_owned(), value);
        }
    };
    tell("username", user.name().into());
    tell("uid", user.get_uid().into());
    tell("groups", user.groups().into());
    tell("extra", json!(user.get_extra()));
    let user = std::mem::take(&mut told);
    let mut tell = |name: &str, value: &str| {
        if !value.is_empty() {
            told.insert(name.to_owned(), value.into());
        }
    };
    tell("subResource", subject.subresource());
    tell("requestSubResource", subject.subresource());
    tell("name", &request.name);
    tell("namespace", subject.namespace_name());
    tell("operation", request.operation.as_str());
    let others = [
        ("kind", kind(if subject.has_view() { subject.seen } else { version })),
        ("resource", resource(version)),
        ("requestKind", kind(subject.seen)),
        ("requestResource", resource(subject.kind)),
        ("userInfo", Json::Object(user)),
        ("dryRun", request.dry_run.into()),
        ("options", request.options.clone()),
    ];
    told.extend(others.map(|(name, value)| (name.to_owned(), value)));
    told
}

/// The variable `namespaceObject`: a Namespace without owners and managers.
#[doc(alias = "CreateNamespaceObject")]
fn shown_namespace(namespace: &Map<String, Json>) -> Map<String, Json> {
    let mut shown = namespace.clone();
    if let Some(Json::Object(metadata)) = shown.get_mut("metadata") {
        metadata.retain(|name, _| !matches!(name.as_str(), "ownerReferences" | "managedFields"));
    }
    shown
}
