//! ValidatingAdmissionPolicyBindings and MutatingAdmissionPolicyBindings.

use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::{UNSET, text_at};
use crate::strategy::builtin::match_resources;
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Generation, Strategy};

pub(super) static VALIDATING_ADMISSION_POLICY_BINDING: Row = Row {
    group: "admissionregistration.k8s.io",
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    categories: &["api-extensions"],
    strategy: &AdmissionPolicyBinding,
    ..CLUSTER
};

pub(super) static MUTATING_ADMISSION_POLICY_BINDING: Row = Row {
    kind: "MutatingAdmissionPolicyBinding",
    plural: "mutatingadmissionpolicybindings",
    ..VALIDATING_ADMISSION_POLICY_BINDING
};

const COLUMNS: &[Column] = &[
    NAME,
    column("PolicyName", Member("/spec/policyName", "")),
    column("ParamRef", Made(param_ref)),
    AGE,
];

#[derive(Debug)]
struct AdmissionPolicyBinding;

impl Strategy for AdmissionPolicyBinding {
    fn default(&self, object: &mut Object) {
        match_resources::default(
            object.get_mut("spec").and_then(|it| it.get_mut("matchResources")),
        );
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

fn param_ref(binding: &Value) -> Value {
    let reference = "/spec/paramRef";
    let (namespace, name) = (
        text_at(binding, &format!("{reference}/namespace")),
        text_at(binding, &format!("{reference}/name")),
    );
    match (namespace, name) {
        (_, "") => UNSET.into(),
        ("", name) => format!("*/{name}").into(),
        (namespace, name) => format!("{namespace}/{name}").into(),
    }
}
