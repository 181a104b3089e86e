//! Names of time zones, as Go's `time.LoadLocation` knows them.

use std::collections::HashSet;
use std::sync::LazyLock;

use k8s_value::{FieldError, FieldErrors};

/// The names in Go's lib/time/zoneinfo.zip (2026a).
static NAMES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("../../../../data/time_zones.txt").lines().collect());

/// Finds a time zone.
///
/// # Errors
///
/// Says why there is no such zone, as Go does.
#[doc(alias = "LoadLocation")]
pub(super) fn find(name: &str) -> Result<(), String> {
    if matches!(name, "" | "UTC" | "Local") || NAMES.contains(name) {
        return Ok(());
    }
    if name.contains("..") || name.starts_with(['/', '\\']) {
        return Err("time: invalid location name".to_owned());
    }
    Err(format!("unknown time zone {name}"))
}

#[doc(alias = "validateTimeZone")]
pub(super) fn validate(name: &str, field: &str, causes: &mut FieldErrors) {
    let mut refuse = |why: &str| causes.push(FieldError::invalid(field, name, why));
    if name.is_empty() {
        return refuse("timeZone must be nil or non-empty string");
    }
    if !name.split('/').all(is_part) {
        return refuse(&format!("unknown time zone {name}"));
    }
    if name.eq_ignore_ascii_case("local") {
        refuse(
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        );
    }
    if let Err(why) = find(name) {
        refuse(&why);
    }
}

/// Whether a part between slashes has the form of a file name of the database.
fn is_part(part: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    (1..=14).contains(&part.len())
        && part.chars().all(allowed)
        && !part.starts_with('-')
        && !matches!(part, "." | "..")
}
