//! `clientConfig` of a webhook: an URL or a service.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::strategy::builtin::members::{part, said};
use crate::strategy::builtin::values::port_number;

const FORM: &str = "; desired format: https://host[/path]";

pub(super) fn validate(client: &Value, path: &str, causes: &mut FieldErrors) {
    match (part(client, "url"), part(client, "service")) {
        (Some(url), None) => {
            validate_url(url.as_str().unwrap_or_default(), &format!("{path}.url"), causes);
        }
        (None, Some(service)) => validate_service(service, &format!("{path}.service"), causes),
        _ => causes.push(FieldError::required(path, "exactly one of url or service is required")),
    }
}

/// The parts of an URL that a webhook's URL is checked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Url<'a> {
    scheme: String,
    user: Option<&'a str>,
    host: &'a str,
    query: &'a str,
    fragment: &'a str,
}

impl<'a> Url<'a> {
    /// Reads an URL as net/url of Go does, without decoding anything.
    fn parse(url: &'a str) -> Result<Self, &'static str> {
        if url.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("net/url: invalid control character in URL");
        }
        let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (scheme, rest) = match rest.split_once(':') {
            Some(("", _)) => return Err("missing protocol scheme"),
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_lowercase(), rest),
            _ => (String::new(), rest),
        };
        let Some(rest) = rest.strip_prefix("//") else {
            let first = rest.split('/').next().unwrap_or_default();
            return if scheme.is_empty() && first.contains(':') {
                Err("first path segment in URL cannot contain colon")
            } else {
                Ok(Self { scheme, query, fragment, ..Self::default() })
            };
        };
        let authority = rest.split('/').next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        Ok(Self { scheme, user, host, query, fragment })
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

#[doc(alias = "ValidateWebhookURL")]
fn validate_url(text: &str, path: &str, causes: &mut FieldErrors) {
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(why) => {
            let why = format!("url must be a valid URL: parse {text:?}: {why}{FORM}");
            causes.push(FieldError::required(path, &why));
            return;
        }
    };
    let mut refuse = |value: &str, why: &str| causes.push(FieldError::invalid(path, value, why));
    if url.scheme != "https" {
        refuse(&url.scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if url.host.is_empty() {
        refuse(url.host, &format!("host must be specified{FORM}"));
    }
    if let Some(user) = url.user {
        refuse(user, "user information is not permitted in the URL");
    }
    if !url.fragment.is_empty() {
        refuse(url.fragment, "fragments are not permitted in the URL");
    }
    if !url.query.is_empty() {
        refuse(url.query, "query parameters are not permitted in the URL");
    }
}

#[doc(alias = "ValidateWebhookService")]
fn validate_service(service: &Value, path: &str, causes: &mut FieldErrors) {
    // Upstream exchanges the two in its call: it names the one for the other.
    for (member, named) in [("namespace", "name"), ("name", "namespace")] {
        if said(service, member).is_empty() {
            causes.push(FieldError::required(format!("{path}.{named}"), ""));
        }
    }
    let mut wrong = FieldErrors::default();
    let port = service.get("port").unwrap_or(&Value::Null);
    port_number(port, "", &mut wrong);
    if !wrong.is_empty() {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(FieldError::invalid_json(format!("{path}.port"), port, why));
    }
    validate_path(said(service, "path"), &format!("{path}.path"), causes);
}

fn validate_path(text: &str, path: &str, causes: &mut FieldErrors) {
    let mut refuse = |why: &str| causes.push(FieldError::invalid(path, text, why));
    match text {
        "" | "/" => return,
        "//" => return refuse("segment[0] may not be empty"),
        _ => {}
    }
    if !text.starts_with('/') {
        refuse("must start with a '/'");
    }
    // Go cuts the first byte, whatever it is.
    let rest = text.char_indices().nth(1).map_or("", |(at, _)| text.get(at..).unwrap_or_default());
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    for (at, segment) in rest.split('/').enumerate() {
        if segment.is_empty() {
            refuse(&format!("segment[{at}] may not be empty"));
        } else if let Some(why) = names::wrong_subdomain(segment) {
            refuse(&format!("segment[{at}]: {why}"));
        }
    }
}
