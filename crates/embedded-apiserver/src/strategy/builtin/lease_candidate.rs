//! LeaseCandidates.

use k8s_value::{FieldError, FieldErrors, names};

use crate::api::metadata::Object;
use crate::strategy::builtin::lease::validate_strategy;
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::immutable;
use crate::strategy::columns::Cell::Member;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static LEASE_CANDIDATE: Row = Row {
    group: "coordination.k8s.io",
    version: "v1beta1",
    kind: "LeaseCandidate",
    plural: "leasecandidates",
    strategy: &LeaseCandidate,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("LeaseName", Member("/spec/leaseName", "")),
    column("BinaryVersion", Member("/spec/binaryVersion", "")),
    column("EmulationVersion", Member("/spec/emulationVersion", "")),
    AGE,
];

#[derive(Debug)]
struct LeaseCandidate;

impl Strategy for LeaseCandidate {
    fn validate_name(&self, name: &str) -> Option<&'static str> {
        names::wrong_data_key(name)
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_spec(object, causes);
    }

    /// The name of a candidate's Lease is immutable.
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let path = "spec.leaseName";
        immutable(at(object, path), at(old, path), path, causes);
    }

    fn deprecation(&self) -> Option<&str> {
        Some(
            "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in \
             v1.39+",
        )
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

#[doc(alias = "ValidateLeaseCandidateSpec")]
fn validate_spec(object: &Object, causes: &mut FieldErrors) {
    if text(object, "spec.leaseName").is_empty() {
        causes.push(FieldError::required("spec.leaseName", ""));
    }
    let (emulation, binary) =
        (text(object, "spec.emulationVersion"), text(object, "spec.binaryVersion"));
    let wrong = "must be a valid semantic version";
    let emulated = version(emulation);
    if !emulation.is_empty() && emulated.is_none() {
        causes.push(FieldError::invalid("spec.emulationVersion", emulation, wrong));
    }
    let field = "spec.binaryVersion";
    let own = version(binary);
    match (binary, own) {
        ("", _) => causes.push(FieldError::required(field, "")),
        (_, None) => causes.push(FieldError::invalid(field, binary, wrong)),
        (_, Some(_)) => {}
    }
    // An unreadable version is lower than all others.
    if !binary.is_empty() && own.unwrap_or_default() < emulated.unwrap_or_default() {
        causes.push(FieldError::invalid(
            field,
            binary,
            "must be greater than or equal to `emulationVersion`",
        ));
    }
    match text(object, "spec.strategy") {
        "" => causes.push(FieldError::required("spec.strategy", "")),
        strategy => {
            if strategy == "OldestEmulationVersion"
                && emulated.is_none_or(|version| version == (0, 0, 0))
            {
                let why = "must be specified when `strategy` is 'OldestEmulationVersion'";
                causes.push(FieldError::required("spec.emulationVersion", why));
            }
            validate_strategy(strategy, causes);
        }
    }
}

/// The three numbers of a semantic version. Suffixes are not compared.
fn version(text: &str) -> Option<(u64, u64, u64)> {
    let numbers = text.split(['-', '+']).next()?;
    let mut parts = numbers.split('.').map(|part| {
        let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        (plain && (part == "0" || !part.starts_with('0'))).then(|| part.parse().ok())?
    });
    let version = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(version)
}
