//! Validation of single values, in upstream's words: numbers, ports, addresses, names, labels.

use std::net::IpAddr;

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::members::at;

pub(super) const IMMUTABLE: &str = "field is immutable";

/// A negative integer is an error (`ValidateNonnegativeField`).
pub(super) fn not_negative(value: &Value, path: &str, members: &[&str], causes: &mut FieldErrors) {
    for member in members {
        if let Some(number) =
            value.get(*member).filter(|number| number.as_i64().is_some_and(|n| n < 0))
        {
            let why = "must be greater than or equal to 0";
            causes.push(FieldError::invalid_json(format!("{path}.{member}"), number, why));
        }
    }
}

/// `IsValidPortNum`.
pub(super) fn port_number(value: &Value, path: &str, causes: &mut FieldErrors) {
    if !value.as_i64().is_some_and(|port| (1..=65535).contains(&port)) {
        causes.push(FieldError::invalid_json(
            path,
            &or_zero(value),
            "must be between 1 and 65535, inclusive",
        ));
    }
}

fn or_zero(value: &Value) -> Value {
    if value.is_null() { 0.into() } else { value.clone() }
}

/// `ValidatePortNumOrName`.
pub(super) fn port_or_name(value: &Value, path: &str, causes: &mut FieldErrors) {
    match value {
        Value::String(name) => wrong_port_name(name)
            .into_iter()
            .for_each(|why| causes.push(FieldError::invalid(path, name, why))),
        number => port_number(number, path, causes),
    }
}

/// `IsValidPortName`: an IANA service name.
pub(super) fn wrong_port_name(name: &str) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    if name.len() > 15 {
        wrong.push("must be no more than 15 characters");
    }
    if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        || name.is_empty()
    {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        wrong.push("must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        wrong.push("must not begin or end with a hyphen");
    }
    wrong
}

/// TCP, UDP or SCTP.
pub(super) fn protocol(value: &Value, path: &str, causes: &mut FieldErrors) {
    match value.as_str().unwrap_or_default() {
        "" => causes.push(FieldError::required(format!("{path}.protocol"), "")),
        "TCP" | "UDP" | "SCTP" => {}
        other => {
            causes.push(FieldError::unsupported(
                format!("{path}.protocol"),
                other,
                &["SCTP", "TCP", "UDP"],
            ));
        }
    }
}

/// A DNS label, if it is not empty.
pub(super) fn label(value: &str, path: &str, causes: &mut FieldErrors) {
    if let Some(why) = names::wrong_label(value) {
        causes.push(FieldError::invalid(path, value, why));
    }
}

/// A DNS subdomain.
pub(super) fn subdomain(value: &str, path: &str, causes: &mut FieldErrors) {
    if let Some(why) = names::wrong_subdomain(value) {
        causes.push(FieldError::invalid(path, value, why));
    }
}

/// A name in a path.
#[doc(alias = "IsPathSegmentName")]
pub(super) fn path_name(value: &str, path: &str, causes: &mut FieldErrors) {
    if let Some(why) = wrong_path_name(value) {
        causes.push(FieldError::invalid(path, value, why));
    }
}

/// `IsValidIPForLegacyField`: Go allows leading zeros.
pub(super) fn address(text: &str, path: &str, causes: &mut FieldErrors) -> Option<IpAddr> {
    let parsed = text.parse().ok().or_else(|| without_zeros(text).parse().ok());
    if parsed.is_none() {
        causes.push(FieldError::invalid(
            path,
            text,
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ));
    }
    parsed
}

fn without_zeros(text: &str) -> String {
    let part = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    text.split('.').map(part).collect::<Vec<_>>().join(".")
}

/// `ValidateEndpointIP`: refuses addresses that no endpoint can have.
pub(super) fn endpoint_address(ip: IpAddr, text: &str, path: &str, causes: &mut FieldErrors) {
    let wrong = match ip {
        _ if ip.is_unspecified() => format!("may not be unspecified ({ip})"),
        _ if ip.is_loopback() => {
            "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()
        }
        IpAddr::V4(v4) if v4.is_link_local() => {
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()
        }
        IpAddr::V6(v6) if v6.is_unicast_link_local() => {
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()
        }
        IpAddr::V4(v4) if v4.octets().starts_with(&[224, 0, 0]) => {
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()
        }
        IpAddr::V6(v6) if v6.segments().first().is_some_and(|first| first & 0xff0f == 0xff02) => {
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()
        }
        _ => return,
    };
    causes.push(FieldError::invalid(path, text, &wrong));
}

/// `ValidateLabels` of a map outside of the metadata.
pub(super) fn labels(value: Option<&Value>, path: &str, causes: &mut FieldErrors) {
    for (key, value) in value.and_then(Value::as_object).into_iter().flatten() {
        for why in names::wrongs_of_qualified_name(key) {
            causes.push(FieldError::invalid(path, key, why));
        }
        let value = value.as_str().unwrap_or_default();
        if let Some(why) = names::wrong_label_value(value) {
            causes.push(FieldError::invalid(path, value, why));
        }
    }
}

/// `ValidateImmutableField`.
pub(super) fn immutable(
    new: Option<&Value>,
    old: Option<&Value>,
    path: &str,
    causes: &mut FieldErrors,
) {
    if new.filter(|value| !value.is_null()) != old.filter(|value| !value.is_null()) {
        causes.push(FieldError::invalid_json(path, new.unwrap_or(&Value::Null), IMMUTABLE));
    }
}

/// A positive number, or a percentage (`ValidatePositiveIntOrPercent`).
pub(super) fn int_or_percent(value: &Value, path: &str, causes: &mut FieldErrors) {
    match value {
        Value::String(text) if percent(text).is_none() => {
            let why = "a valid percent string must be a numeric string followed by an ending '%' \
                       (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
            causes.push(FieldError::invalid_json(path, value, why));
        }
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            causes.push(FieldError::invalid_json(
                path,
                value,
                "must be greater than or equal to 0",
            ));
        }
        _ => {}
    }
}

/// The number of a percentage.
pub(super) fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().unwrap_or(i64::MAX))
}

/// A percentage is at most 100% (`IsNotMoreThan100Percent`).
pub(super) fn at_most_100_percent(value: &Value, path: &str, causes: &mut FieldErrors) {
    if value.as_str().and_then(percent).is_some_and(|percent| percent > 100) {
        causes.push(FieldError::invalid_json(path, value, "must not be greater than 100%"));
    }
}

/// Checks that a text, if present, is one of these.
pub(super) fn one_of(object: &Object, path: &str, supported: &[&str], causes: &mut FieldErrors) {
    if let Some(value) = at(object, path) {
        one_of_texts(value, path, supported, causes);
    }
}

/// Checks that a text is one of these.
pub(super) fn one_of_texts(
    value: &Value,
    path: &str,
    supported: &[&str],
    causes: &mut FieldErrors,
) {
    let value = value.as_str().unwrap_or_default();
    if !supported.contains(&value) {
        causes.push(FieldError::unsupported(path, value, supported));
    }
}

/// All that is wrong with a name in a path.
#[doc(alias = "IsPathSegmentName")]
pub(super) fn wrongs_of_path_name(name: &str) -> Vec<&'static str> {
    let dots = wrong_path_name(name).filter(|_| matches!(name, "." | ".."));
    dots.into_iter().chain(names::wrongs_of_path_prefix(name)).collect()
}

/// `IsValidPathSegmentName`.
pub(super) fn wrong_path_name(name: &str) -> Option<&'static str> {
    match name {
        "." => Some("may not be '.'"),
        ".." => Some("may not be '..'"),
        _ if name.contains('/') => Some("may not contain '/'"),
        _ if name.contains('%') => Some("may not contain '%'"),
        _ => None,
    }
}
