//! Leases and the candidates for them: what they refuse, and what of them may change. Pure.

use serde_json::Value;

use crate::builtin::rules::{at, text};
use crate::builtin::values::immutable;
use crate::metadata::Object;
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;

const STRATEGIES: [&str; 1] = ["OldestEmulationVersion"];

/// `ValidateLeaseSpec`.
pub(super) fn check_lease(object: &Object, causes: &mut FieldErrors) {
    let least = |path: &str, least: i64, why: &str, causes: &mut FieldErrors| {
        if let Some(value) = at(object, path).and_then(Value::as_i64).filter(|value| *value < least)
        {
            causes.push(FieldError::invalid_json(path, &value.into(), why));
        }
    };
    least("spec.leaseDurationSeconds", 1, "must be greater than 0", causes);
    least("spec.leaseTransitions", 0, "must be greater than or equal to 0", causes);
    let strategy = text(object, "spec.strategy");
    if at(object, "spec.strategy").is_some() {
        check_strategy(strategy, causes);
    }
    if !text(object, "spec.preferredHolder").is_empty() && strategy.is_empty() {
        let why = "may only be specified if `strategy` is defined";
        causes.push(FieldError::forbidden("spec.preferredHolder", why));
    }
}

fn check_strategy(strategy: &str, causes: &mut FieldErrors) {
    let field = "spec.strategy.strategy";
    if strategy.contains('/') {
        for why in names::wrongs_of_qualified_name(strategy) {
            causes.push(FieldError::invalid(field, strategy, why));
        }
    } else if !STRATEGIES.contains(&strategy) {
        causes.push(FieldError::unsupported(field, strategy, &STRATEGIES));
    }
}

/// `ValidateLeaseCandidateSpec`.
pub(super) fn check_candidate(object: &Object, causes: &mut FieldErrors) {
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
    // One that cannot be read is the least of all.
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
            check_strategy(strategy, causes);
        }
    }
}

/// A candidate stands for one Lease for ever.
pub(super) fn check_candidate_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    let path = "spec.leaseName";
    immutable(at(object, path), at(old, path), path, causes);
}

/// The three numbers of a semantic version; what follows them is not compared.
fn version(text: &str) -> Option<(u64, u64, u64)> {
    let numbers = text.split(['-', '+']).next()?;
    let mut parts = numbers.split('.').map(|part| {
        let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        (plain && (part == "0" || !part.starts_with('0'))).then(|| part.parse().ok())?
    });
    let version = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(version)
}
