//! ValidatingAdmissionPolicies and MutatingAdmissionPolicies.

mod compiler;
mod validation;

use k8s_cel::Expression;
use k8s_value::FieldErrors;
use serde_json::{Value, json};

use crate::api::metadata;
use crate::api::metadata::Object;
use crate::strategy::builtin::admission_policy::compiler::{Compiler, sources};
use crate::strategy::builtin::admission_policy::validation::{
    validate_common, validate_conditions, validate_mutations, validate_type_checking,
    validate_validations,
};
use crate::strategy::builtin::cells::{UNSET, text_at};
use crate::strategy::builtin::match_resources;
use crate::strategy::builtin::members::{at, fill, part};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::static_suffix;
use crate::strategy::columns::Cell::{Items, Made};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static VALIDATING_ADMISSION_POLICY: Row = Row {
    group: "admissionregistration.k8s.io",
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
    status: true,
    categories: &["api-extensions"],
    strategy: &AdmissionPolicy { mutates: false },
    ..CLUSTER
};

pub(super) static MUTATING_ADMISSION_POLICY: Row = Row {
    kind: "MutatingAdmissionPolicy",
    plural: "mutatingadmissionpolicies",
    status: false,
    strategy: &AdmissionPolicy { mutates: true },
    ..VALIDATING_ADMISSION_POLICY
};

const PARAM_KIND: Column = column("ParamKind", Made(param_kind));
const COLUMNS: &[Column] =
    &[NAME, column("Validations", Items("/spec/validations")), PARAM_KIND, AGE];
const MUTATING_COLUMNS: &[Column] =
    &[NAME, column("Mutations", Items("/spec/mutations")), PARAM_KIND, AGE];

#[derive(Debug)]
struct AdmissionPolicy {
    mutates: bool,
}

impl Strategy for AdmissionPolicy {
    /// Upstream's PUT to the status creates nothing, its apply does.
    fn creates_on_status_update(&self) -> bool {
        !self.mutates
    }

    fn prepare_create(&self, object: &mut Object, _: Creation) {
        self.reset_status(object);
    }

    fn reset_status(&self, object: &mut Object) {
        if !self.mutates {
            object.insert("status".to_owned(), json!({}));
        }
    }

    fn default(&self, object: &mut Object) {
        fill(object, "spec", &[("failurePolicy", json!("Fail"))]);
        let constraints = object.get_mut("spec").and_then(|it| it.get_mut("matchConstraints"));
        match_resources::default(constraints);
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_some() {
            let warnings = at(object, "status.typeChecking.expressionWarnings");
            validate_type_checking(warnings, causes);
            return;
        }
        let spec = object.get("spec").unwrap_or(&Value::Null);
        validate_common(spec, causes);
        if self.mutates
            && let Some(constraints) = part(spec, "matchConstraints")
        {
            match_resources::validate_mutable(constraints, "spec.matchConstraints", causes);
        }
        let mut compiler = Compiler::of(spec);
        let old = write.old.and_then(|old| old.get("spec"));
        validate_conditions(spec, old, &mut compiler, causes);
        if self.mutates {
            validate_mutations(spec, causes);
        } else {
            validate_validations(metadata::text(object, "name"), spec, &compiler, causes);
        }
    }

    fn not_implemented(&self, object: &Object) -> Option<String> {
        sources(object.get("spec")?).find_map(Expression::unsupported)
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

    fn changes_metadata_by_status(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        if self.mutates { MUTATING_COLUMNS } else { COLUMNS }
    }
}

fn param_kind(policy: &Value) -> Value {
    if policy["spec"]["paramKind"].is_null() {
        return UNSET.into();
    }
    let (version, kind) =
        (text_at(policy, "/spec/paramKind/apiVersion"), text_at(policy, "/spec/paramKind/kind"));
    format!("{version}/{kind}").into()
}
