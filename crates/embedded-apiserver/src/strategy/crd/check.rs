//! Validation of a CustomResourceDefinition: group, names, stored versions, approval, immutable
//! members (pkg/apis/apiextensions/validation of k8s.io/apiextensions-apiserver).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::api::status::{FieldError, FieldErrors};
use crate::strategy::crd::conversion_check::check_conversion;
use crate::strategy::crd::members::{flag, is_true, list, schema_of, text};
use crate::strategy::crd::version_check::{check_shared, check_version, has_default};
use k8s_schema::Path;
use k8s_value::names;

const APPROVED: &str = "api-approved.kubernetes.io";

/// Validates a definition.
pub(crate) fn check(object: &Object, old: Option<&Object>, causes: &mut FieldErrors) {
    let none = Value::Null;
    let spec = object.get("spec").unwrap_or(&none);
    let root = Path::Root;
    let path = root.field("spec");
    let names_of = spec.get("names").unwrap_or(&none);
    let wanted = format!("{}.{}", text(names_of, "plural"), text(spec, "group"));
    for member in ["generateName", "name"] {
        let name = metadata::text(object, member);
        // The metadata reports a missing name.
        if old.is_none() && !name.is_empty() && name != wanted {
            let why = "must be spec.names.plural+\".\"+spec.group";
            causes.push(FieldError::invalid(format!("metadata.{member}"), name, why));
        }
    }
    check_spec(spec, old, &path, causes);
    if let Some(old) = old {
        check_changes(spec, old, &path, causes);
    }
    let status = object.get("status").unwrap_or(&none);
    let at_status = root.field("status");
    check_names(
        status.get("acceptedNames").unwrap_or(&none),
        &at_status.field("acceptedNames"),
        causes,
    );
    check_stored_versions(status, spec, &at_status.field("storedVersions"), causes);
    check_approval(object, old, text(spec, "group"), causes);
    let preserved =
        old.is_some_and(|old| flag(old.get("spec").unwrap_or(&none), "preserveUnknownFields"));
    if flag(spec, "preserveUnknownFields") && !preserved {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                   spec.versions[*].schema instead";
        causes.push(FieldError::invalid_json(
            "spec.preserveUnknownFields",
            &Value::Bool(true),
            why,
        ));
    }
}

/// Validates the status of a definition, after a write to the status alone.
pub(crate) fn check_status(object: &Object, causes: &mut FieldErrors) {
    let names = object.get("status").and_then(|status| status.get("acceptedNames"));
    let root = Path::Root;
    let status = root.field("status");
    check_names(names.unwrap_or(&Value::Null), &status.field("acceptedNames"), causes);
}

fn check_spec(spec: &Value, old: Option<&Object>, path: &Path<'_>, causes: &mut FieldErrors) {
    let field = |name: &str| path.field(name).to_string();
    let group = text(spec, "group");
    if group.is_empty() {
        causes.push(FieldError::required(field("group"), ""));
    } else if let Some(why) = names::wrong_subdomain(group) {
        causes.push(FieldError::invalid(field("group"), group, why));
    } else if !group.contains('.') {
        causes.push(FieldError::invalid(
            field("group"),
            group,
            "should be a domain with at least one dot",
        ));
    }
    match text(spec, "scope") {
        "" => causes.push(FieldError::required(field("scope"), "")),
        "Cluster" | "Namespaced" => {}
        other => {
            causes.push(FieldError::unsupported(field("scope"), other, &["Cluster", "Namespaced"]))
        }
    }
    let versions = list(spec, "versions");
    let at_versions = path.field("versions");
    for (at, version) in versions.iter().enumerate() {
        if schema_of(version).is_none() {
            let place = at_versions.index(at);
            let place = place.field("schema");
            causes.push(FieldError::required(place.field("openAPIV3Schema").to_string(), ""));
        }
    }
    if versions.iter().filter_map(schema_of).any(has_default) && flag(spec, "preserveUnknownFields")
    {
        let why = "must be false in order to use defaults in the schema";
        causes.push(FieldError::invalid_json(
            field("preserveUnknownFields"),
            &Value::Bool(true),
            why,
        ));
    }
    let mut seen = BTreeSet::new();
    let mut unique = true;
    for (at, version) in versions.iter().enumerate() {
        let place = at_versions.index(at);
        let name = text(version, "name");
        unique &= seen.insert(name);
        if let Some(why) = names::wrong_dns_1035_label(name) {
            causes.push(FieldError::invalid(place.field("name").to_string(), name, why));
        }
        check_version(version, spec, &place, causes);
    }
    let all = spec.get("versions").unwrap_or(&Value::Null);
    if !unique {
        let why = "must contain unique version names";
        causes.push(FieldError::invalid_json(field("versions"), all, why));
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(FieldError::invalid_json(field("versions"), all, why));
    }
    let names_of = spec.get("names").cloned().unwrap_or_default();
    let at_names = path.field("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(&names_of, name).is_empty() {
            causes.push(FieldError::required(at_names.field(name).to_string(), ""));
        }
    }
    check_names(&names_of, &at_names, causes);
    check_shared(spec, path, causes);
    check_conversion(spec, old, &path.field("conversion"), causes);
}

fn check_names(names_of: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    let field = |name: &str| path.field(name).to_string();
    let mut label = |field: String, value: &str, lower: bool| {
        let tested = if lower { value.to_lowercase() } else { value.to_owned() };
        if let Some(why) = names::wrong_dns_1035_label(&tested) {
            let mixed =
                if lower { "may have mixed case, but should otherwise match: " } else { "" };
            causes.push(FieldError::invalid(field, value, &format!("{mixed}{why}")));
        }
    };
    for (name, lower) in
        [("plural", false), ("singular", false), ("kind", true), ("listKind", true)]
    {
        let value = text(names_of, name);
        if !value.is_empty() {
            label(field(name), value, lower);
        }
    }
    let places = |name| (path.field(name), list(names_of, name));
    let (place, short) = places("shortNames");
    for (at, name) in short.iter().enumerate() {
        label(place.index(at).to_string(), name.as_str().unwrap_or_default(), false);
    }
    let (place, categories) = places("categories");
    let kind = text(names_of, "kind");
    let same = !kind.is_empty() && kind == text(names_of, "listKind");
    if same {
        let why = "kind and listKind may not be the same";
        causes.push(FieldError::invalid(field("listKind"), kind, why));
    }
    for (at, name) in categories.iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        if let Some(why) = names::wrong_dns_1035_label(name) {
            causes.push(FieldError::invalid(place.index(at).to_string(), name, why));
        }
    }
}

/// Checks the immutable members of a definition.
fn check_changes(spec: &Value, old: &Object, path: &Path<'_>, causes: &mut FieldErrors) {
    let before = old.get("spec").cloned().unwrap_or_default();
    let mut same = |place: String, value: Option<&Value>, was: Option<&Value>| {
        if value != was {
            let value = value.cloned().unwrap_or_default();
            causes.push(FieldError::invalid_json(place, &value, "field is immutable"));
        }
    };
    let names_of =
        |spec: &'_ Value, name: &str| spec.get("names").and_then(|names| names.get(name)).cloned();
    let at_names = path.field("names");
    if is_true(old, "Established") {
        same(path.field("scope").to_string(), spec.get("scope"), before.get("scope"));
        let (now, was) = (names_of(spec, "kind"), names_of(&before, "kind"));
        same(at_names.field("kind").to_string(), now.as_ref(), was.as_ref());
    }
    same(path.field("group").to_string(), spec.get("group"), before.get("group"));
    let (now, was) = (names_of(spec, "plural"), names_of(&before, "plural"));
    same(at_names.field("plural").to_string(), now.as_ref(), was.as_ref());
}

fn check_stored_versions(status: &Value, spec: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    let stored = list(status, "storedVersions");
    let shown = status.get("storedVersions").cloned().unwrap_or_default();
    if stored.is_empty() {
        causes.push(FieldError::invalid_json(
            path.to_string(),
            &shown,
            "must have at least one stored version",
        ));
        return;
    }
    let versions = list(spec, "versions");
    for version in versions.iter().filter(|version| flag(version, "storage")) {
        let name = text(version, "name");
        if !stored.iter().any(|stored| stored == name) {
            let why = format!("must have the storage version {name}");
            causes.push(FieldError::invalid_json(path.to_string(), &shown, &why));
        }
    }
    for (at, stored) in stored.iter().enumerate() {
        let name = stored.as_str().unwrap_or_default();
        if !versions.iter().any(|version| text(version, "name") == name) {
            let why = format!(
                "missing from spec.versions; {name} was previously a storage version, and must \
                 remain in spec.versions until a storage migration ensures no data remains \
                 persisted in {name} and removes {name} from status.storedVersions"
            );
            causes.push(FieldError::invalid(path.index(at).to_string(), name, &why));
        }
    }
}

/// Whether the group belongs to Kubernetes. Its definitions need an annotation with the API
/// approval.
pub(crate) fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|of| group == *of || group.strip_suffix(of).is_some_and(|rest| rest.ends_with('.')))
}

fn check_approval(object: &Object, old: Option<&Object>, group: &str, causes: &mut FieldErrors) {
    if !is_protected(group) {
        return;
    }
    let said = |object: &'_ Object| {
        let annotation = metadata::get(object, "annotations").and_then(|all| all.get(APPROVED));
        annotation.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let state = |said: &str| match said {
        "" => 0,
        said if said.starts_with("unapproved") => 1,
        said if said.split_once("://").is_some_and(|(_, rest)| !rest.is_empty()) => 2,
        _ => 3,
    };
    let now = said(object);
    if old.is_some_and(|old| state(&said(old)) == state(&now)) {
        return;
    }
    let place = format!("metadata.annotations[{APPROVED}]");
    match state(&now) {
        0 => {
            let why = format!(
                "protected groups must have approval annotation {APPROVED:?}, see \
                 https://github.com/kubernetes/enhancements/pull/1111"
            );
            causes.push(FieldError::required(place, &why));
        }
        3 => {
            let why = format!(
                "protected groups must have approval annotation {APPROVED:?} with either a URL \
                 or a reason starting with \"unapproved\", see \
                 https://github.com/kubernetes/enhancements/pull/1111"
            );
            causes.push(FieldError::invalid(place, &now, &why));
        }
        _ => {}
    }
}
