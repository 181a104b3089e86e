//! ValidatingAdmissionPolicyBindings and MutatingAdmissionPolicyBindings.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::UNSET;
use crate::strategy::builtin::members::{at, part, said, text, texts};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::static_suffix;
use crate::strategy::builtin::values::path_name;
use crate::strategy::builtin::{label_selector, match_resources};
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Generation, Strategy, Write};

pub(super) static VALIDATING_ADMISSION_POLICY_BINDING: Row = Row {
    group: "admissionregistration.k8s.io",
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    categories: &["api-extensions"],
    strategy: &AdmissionPolicyBinding { mutates: false },
    ..CLUSTER
};

pub(super) static MUTATING_ADMISSION_POLICY_BINDING: Row = Row {
    kind: "MutatingAdmissionPolicyBinding",
    plural: "mutatingadmissionpolicybindings",
    strategy: &AdmissionPolicyBinding { mutates: true },
    ..VALIDATING_ADMISSION_POLICY_BINDING
};

const COLUMNS: &[Column] = &[
    NAME,
    column("PolicyName", Member("/spec/policyName", "")),
    column("ParamRef", Made(param_ref)),
    AGE,
];

const ACTIONS: &[&str] = &["Audit", "Deny", "Warn"];

#[derive(Debug)]
struct AdmissionPolicyBinding {
    mutates: bool,
}

impl Strategy for AdmissionPolicyBinding {
    fn default(&self, object: &mut Object) {
        match_resources::default(
            object.get_mut("spec").and_then(|it| it.get_mut("matchResources")),
        );
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        let path = "spec.policyName";
        match text(object, path) {
            "" => causes.push(FieldError::required(path, "")),
            name => {
                if let Some(why) = names::wrong_subdomain(name) {
                    causes.push(FieldError::invalid(path, name, why));
                }
            }
        }
        if let Some(reference) = at(object, "spec.paramRef") {
            validate_param_ref(reference, causes);
        }
        let path = "spec.matchResources";
        if let Some(matches) = at(object, path) {
            match_resources::validate(matches, path, causes);
            if self.mutates {
                match_resources::validate_mutable(matches, path, causes);
            }
        }
        if !self.mutates {
            validate_actions(at(object, "spec.validationActions"), causes);
        }
    }

    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        static_suffix::warnings(object)
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Upstream cannot tell whether parameters are namespaced: those without a namespace have any.
fn param_ref(binding: &Value) -> Value {
    let Some(reference) = binding.pointer("/spec/paramRef") else { return UNSET.into() };
    match (said(reference, "namespace"), said(reference, "name"), part(reference, "selector")) {
        (_, "", None) => UNSET.into(),
        (_, "", Some(selector)) => label_selector::go_string(selector).into(),
        ("", name, _) => format!("*/{name}").into(),
        (namespace, name, _) => format!("{namespace}/{name}").into(),
    }
}

#[doc(alias = "validateParamRef")]
fn validate_param_ref(reference: &Value, causes: &mut FieldErrors) {
    let path = "spec.paramRef";
    let (name, selector) = (said(reference, "name"), part(reference, "selector"));
    let both = !name.is_empty() && selector.is_some();
    let exclusive = "name and selector are mutually exclusive";
    path_name(name, &format!("{path}.name"), causes);
    if both {
        causes.push(FieldError::forbidden(format!("{path}.name"), exclusive));
    }
    if let Some(selector) = selector {
        label_selector::validate(selector, &format!("{path}.selector"), causes);
    }
    if both {
        causes.push(FieldError::forbidden(format!("{path}.selector"), exclusive));
    }
    if name.is_empty() && selector.is_none() {
        let why = "one of name or selector must be specified";
        causes.push(FieldError::required(path, why));
    }
    let path = format!("{path}.parameterNotFoundAction");
    match said(reference, "parameterNotFoundAction") {
        "" => causes.push(FieldError::required(path, "")),
        "Allow" | "Deny" => {}
        other => causes.push(FieldError::unsupported(path, other, &["Deny", "Allow"])),
    }
}

#[doc(alias = "validateValidationActions")]
fn validate_actions(actions: Option<&Value>, causes: &mut FieldErrors) {
    let path = "spec.validationActions";
    let all = texts(actions);
    for (at, action) in all.iter().enumerate() {
        let field = format!("{path}[{at}]");
        if !ACTIONS.contains(action) {
            causes.push(FieldError::unsupported(field.clone(), action, ACTIONS));
        }
        if all.iter().take(at).any(|other| other == action) {
            causes.push(FieldError::duplicate(field, &(*action).into()));
        }
    }
    if all.contains(&"Deny") && all.contains(&"Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure \
                   information in the API response and headers serves no purpose)";
        causes.push(FieldError::invalid_json(path, &all.clone().into(), why));
    }
    if all.is_empty() {
        causes.push(FieldError::required(path, "at least one validation action is required"));
    }
}
