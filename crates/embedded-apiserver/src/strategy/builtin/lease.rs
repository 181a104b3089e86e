//! Leases.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::columns::Cell::Member;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

const STRATEGIES: [&str; 1] = ["OldestEmulationVersion"];

pub(super) static LEASE: Row = Row {
    group: "coordination.k8s.io",
    kind: "Lease",
    plural: "leases",
    strategy: &Lease,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[NAME, column("Holder", Member("/spec/holderIdentity", "")), AGE];

#[derive(Debug)]
struct Lease;

impl Strategy for Lease {
    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_numbers(object, causes);
        let strategy = text(object, "spec.strategy");
        if at(object, "spec.strategy").is_some() {
            validate_strategy(strategy, causes);
        }
        if !text(object, "spec.preferredHolder").is_empty() && strategy.is_empty() {
            let why = "may only be specified if `strategy` is defined";
            causes.push(FieldError::forbidden("spec.preferredHolder", why));
        }
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "ValidateLeaseSpec")]
fn validate_numbers(object: &Object, causes: &mut FieldErrors) {
    for (path, least, why) in [
        ("spec.leaseDurationSeconds", 1, "must be greater than 0"),
        ("spec.leaseTransitions", 0, "must be greater than or equal to 0"),
    ] {
        if let Some(value) = at(object, path).and_then(Value::as_i64).filter(|value| *value < least)
        {
            causes.push(FieldError::invalid_json(path, &value.into(), why));
        }
    }
}

/// Checks the strategy by which a candidate becomes the holder.
pub(super) fn validate_strategy(strategy: &str, causes: &mut FieldErrors) {
    let field = "spec.strategy.strategy";
    if strategy.contains('/') {
        for why in names::wrongs_of_qualified_name(strategy) {
            causes.push(FieldError::invalid(field, strategy, why));
        }
    } else if !STRATEGIES.contains(&strategy) {
        causes.push(FieldError::unsupported(field, strategy, &STRATEGIES));
    }
}
