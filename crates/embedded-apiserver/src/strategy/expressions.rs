//! Expressions about admission: their variables, and the errors of their compilation
//! (k8s.io/apiserver/pkg/admission/plugin/cel/compile.go).

use std::sync::{Arc, LazyLock};

use k8s_cel::{CompileError, Environment, Expression, ObjectType, Type};
use k8s_value::FieldError;

/// The type that an expression must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "ReturnTypes")]
pub(crate) enum Wanted {
    Bool,
    Text,
    TextOrNull,
}

/// Why an expression is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wrong {
    Invalid(String),
    /// Upstream answers as if the server had failed.
    Internal(String),
}

impl Wrong {
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Invalid(why) | Self::Internal(why) => why,
        }
    }

    /// The cause of an invalid object. `value`: what it shows of the field.
    #[doc(alias = "convertCELErrorToValidationError")]
    pub(crate) fn cause(&self, field: String, value: &str) -> FieldError {
        match self {
            Self::Invalid(why) => FieldError::invalid(field, value, why),
            Self::Internal(why) => {
                FieldError::new("InternalError", field, format!("Internal error: {why}"))
            }
        }
    }
}

/// The variables of expressions. Only an expression whose value is a message has no authorizer.
pub(crate) fn environment(has_params: bool, has_authorizer: bool) -> Environment {
    let mut environment = Environment::default()
        .variable("object", Type::Dyn)
        .variable("oldObject", Type::Dyn)
        .variable("namespaceObject", NAMESPACE.clone())
        .variable("request", REQUEST.clone());
    if has_params {
        environment = environment.variable("params", Type::Dyn);
    }
    if has_authorizer {
        environment = environment
            .variable("authorizer", Type::AUTHORIZER)
            .variable("authorizer.requestResource", Type::RESOURCE_CHECK);
    }
    environment
}

/// Compiles an expression.
///
/// # Errors
///
/// It does not compile, or has another type than the wanted one.
#[doc(alias = "CompileCELExpression")]
pub(crate) fn compile(
    source: &str,
    environment: &Environment,
    wanted: Wanted,
) -> Result<Expression, Wrong> {
    let compiled = Expression::compile_in(source, environment).map_err(|why| uncompiled(&why))?;
    let of = compiled.result();
    let fits = match wanted {
        Wanted::Bool => *of == Type::Bool,
        Wanted::Text => *of == Type::String,
        Wanted::TextOrNull => matches!(of, Type::String | Type::Null),
    };
    if !fits {
        let must = match wanted {
            Wanted::Bool => "bool",
            Wanted::Text => "string",
            Wanted::TextOrNull => "one of [string null_type]",
        };
        let why = format!("must evaluate to {must} but got {}", of.declared_name());
        return Err(Wrong::Invalid(why));
    }
    match compiled.wrong_constant() {
        Some(why) => Err(Wrong::Internal(format!("program instantiation failed: {why}"))),
        None => Ok(compiled),
    }
}

/// The error of an expression that does not compile.
pub(crate) fn uncompiled(why: &CompileError) -> Wrong {
    Wrong::Invalid(format!("compilation failed: {why}"))
}

fn object<const N: usize>(name: &str, members: [(&str, Type); N]) -> Type {
    let members = members.map(|(name, of)| (name.to_owned(), of)).into();
    Type::Object(Arc::new(ObjectType { name: format!("kubernetes.{name}"), members }))
}

fn list(of: Type) -> Type {
    Type::List(Arc::new(of))
}

fn map(of: Type) -> Type {
    Type::Map(Arc::new(Type::String), Arc::new(of))
}

#[doc(alias = "BuildRequestType")]
static REQUEST: LazyLock<Type> = LazyLock::new(|| {
    let text = || Type::String;
    let kind =
        object("GroupVersionKind", [("group", text()), ("version", text()), ("kind", text())]);
    let resource = object(
        "GroupVersionResource",
        [("group", text()), ("version", text()), ("resource", text())],
    );
    let user = object(
        "UserInfo",
        [
            ("username", text()),
            ("uid", text()),
            ("groups", list(text())),
            ("extra", map(list(text()))),
        ],
    );
    object(
        "AdmissionRequest",
        [
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", text()),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", text()),
            ("name", text()),
            ("namespace", text()),
            ("operation", text()),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
});

#[doc(alias = "BuildNamespaceType")]
static NAMESPACE: LazyLock<Type> = LazyLock::new(|| {
    let text = || Type::String;
    let condition = object(
        "NamespaceCondition",
        [
            ("status", text()),
            ("type", text()),
            ("lastTransitionTime", Type::Timestamp),
            ("message", text()),
            ("reason", text()),
        ],
    );
    let metadata = object(
        "NamespaceMetadata",
        [
            ("name", text()),
            ("generateName", text()),
            ("namespace", text()),
            ("labels", map(text())),
            ("annotations", map(text())),
            ("UID", text()),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", text()),
            ("finalizers", list(text())),
        ],
    );
    let spec = object("NamespaceSpec", [("finalizers", list(text()))]);
    let status = object("NamespaceStatus", [("conditions", list(condition)), ("phase", text())]);
    object("Namespace", [("metadata", metadata), ("spec", spec), ("status", status)])
});
