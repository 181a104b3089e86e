//! The rules of a CustomResourceDefinition object: names, versions, subresources, columns,
//! selectable fields (pkg/apis/apiextensions/validation of k8s.io/apiextensions-apiserver).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::definition::structural::{flag, has, list, text};
use crate::definition::version_paths::{check_column, check_scale, check_selectable};
use crate::definition::{defaults, openapi, rules, structural};
use crate::metadata::{self, Object};
use crate::status::{FieldError, FieldErrors};
use k8s_schema::{Path, Schema};
use k8s_value::names;

/// As many selectable fields a version may have.
const APPROVED: &str = "api-approved.kubernetes.io";

/// What is wrong with a definition.
pub(crate) fn check(object: &Object, old: Option<&Object>, causes: &mut FieldErrors) {
    let none = Value::Null;
    let spec = object.get("spec").unwrap_or(&none);
    let root = Path::Root;
    let path = root.field("spec");
    let names_of = spec.get("names").unwrap_or(&none);
    let wanted = format!("{}.{}", text(names_of, "plural"), text(spec, "group"));
    for member in ["generateName", "name"] {
        let name = metadata::text(object, member);
        // That a name is required is said elsewhere.
        if old.is_none() && !name.is_empty() && name != wanted {
            let why = "must be spec.names.plural+\".\"+spec.group";
            causes.push(FieldError::invalid(format!("metadata.{member}"), name, why));
        }
    }
    check_spec(spec, &path, causes);
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
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                   instead";
        causes.push(FieldError::invalid_json(
            "spec.preserveUnknownFields",
            &Value::Bool(true),
            why,
        ));
    }
}

/// What is wrong with the status of a definition after a write to it alone.
pub(crate) fn check_status(object: &Object, causes: &mut FieldErrors) {
    let names = object.get("status").and_then(|status| status.get("acceptedNames"));
    let root = Path::Root;
    let status = root.field("status");
    check_names(names.unwrap_or(&Value::Null), &status.field("acceptedNames"), causes);
}

fn check_spec(spec: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
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
    check_conversion(
        spec.get("conversion").unwrap_or(&Value::Null),
        &path.field("conversion"),
        causes,
    );
}

/// The schema of a version.
pub(super) fn schema_of(version: &Value) -> Option<&Value> {
    version.get("schema")?.get("openAPIV3Schema").filter(|schema| schema.is_object())
}

fn has_default(schema: &Value) -> bool {
    let mut found = schema.get("default").is_some_and(|value| !value.is_null());
    structural::each_child(schema, &mut |child| found = found || has_default(child));
    found
}

/// What all versions say alike: the real server holds that once for all of them, and names it so in
/// its causes
/// (`Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec`).
fn shared<'a>(spec: &'a Value, member: &str) -> Option<&'a Value> {
    let versions = list(spec, "versions");
    let first = versions.first()?.get(member).filter(|value| !value.is_null())?;
    versions.iter().all(|version| version.get(member) == Some(first)).then_some(first)
}

/// Checks what all versions say alike.
fn check_shared(spec: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    let first = text(list(spec, "versions").first().unwrap_or(&Value::Null), "name");
    if let Some(why) = names::wrong_dns_1035_label(first).filter(|_| !first.is_empty()) {
        causes.push(FieldError::invalid(path.field("version").to_string(), first, why));
    }
    let schema = shared(spec, "schema").and_then(|schema| schema.get("openAPIV3Schema"));
    let has_status = list(spec, "versions").iter().any(|version| {
        version.get("subresources").and_then(|all| all.get("status")).is_some_and(Value::is_object)
    });
    if let Some(schema) = schema {
        let place = path.field("validation");
        check_schema(schema, has_status, &place.field("openAPIV3Schema"), causes);
    }
    if let Some(subresources) = shared(spec, "subresources") {
        check_scale(subresources.get("scale"), &path.field("subresources"), causes);
    }
    let columns = path.field("additionalPrinterColumns");
    let shared_columns = shared(spec, "additionalPrinterColumns").and_then(Value::as_array);
    for (at, column) in shared_columns.into_iter().flatten().enumerate() {
        check_column(column, &columns.index(at), causes);
    }
    let at_fields = path.field("selectableFields");
    match (shared(spec, "selectableFields").and_then(Value::as_array), schema) {
        (Some(fields), Some(schema)) => check_selectable(fields, schema, &at_fields, causes),
        (Some(_), None) => {
            let why = "may only be set when validations.schema is included";
            causes.push(FieldError::invalid(at_fields.to_string(), "", why));
        }
        (None, _) => {}
    }
}

fn check_version(version: &Value, spec: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    let own = |member: &str| shared(spec, member).is_none();
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        let place = path.field("deprecationWarning").to_string();
        for why in wrong_warning(flag(version, "deprecated"), warning) {
            causes.push(FieldError::invalid(place.clone(), warning, &why));
        }
    }
    let subresources = version.get("subresources").unwrap_or(&Value::Null);
    let at_schema = path.field("schema");
    if let Some(schema) = schema_of(version).filter(|_| own("schema")) {
        let has_status = subresources.get("status").is_some_and(Value::is_object);
        check_schema(schema, has_status, &at_schema.field("openAPIV3Schema"), causes);
    }
    if own("subresources") {
        check_scale(subresources.get("scale"), &path.field("subresources"), causes);
    }
    let columns = path.field("additionalPrinterColumns");
    let own_columns = own("additionalPrinterColumns");
    for (at, column) in
        list(version, "additionalPrinterColumns").iter().enumerate().filter(|_| own_columns)
    {
        check_column(column, &columns.index(at), causes);
    }
    let fields = list(version, "selectableFields");
    if let Some(schema) =
        schema_of(version).filter(|_| own("selectableFields") && !fields.is_empty())
    {
        let at_fields = path.field("selectableFields");
        if own("schema") {
            check_selectable(fields, schema, &at_fields, causes);
        } else {
            let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
            causes.push(FieldError::invalid(at_fields.to_string(), "", why));
        }
    }
}

fn wrong_warning(deprecated: bool, warning: &str) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut wrong = Vec::new();
    if warning.len() > 256 {
        wrong.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        wrong.push("must not be an empty string".to_owned());
    }
    // Of all white space only the plain one can be printed.
    let unprintable = |c: char| c.is_control() || (c.is_whitespace() && c != ' ');
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| unprintable(*c)) {
        wrong.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
    wrong
}

/// What may stand at the root of a schema where the status is a subresource.
const AT_ROOT: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

fn check_schema(schema: &Value, has_status: bool, path: &Path<'_>, causes: &mut FieldErrors) {
    let mut found = FieldErrors::default();
    if has_status {
        let members = schema.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let stranger = members
            .filter(|name| has(schema, name))
            .any(|name| AT_ROOT.iter().all(|(known, _)| *known != name));
        let named = text(schema, "type");
        if !named.is_empty() && named != "object" {
            let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                       enabled";
            found.push(FieldError::invalid(path.field("type").to_string(), named, why));
        } else if stranger {
            let allowed: Vec<&str> = AT_ROOT.iter().map(|(_, name)| *name).collect();
            let why = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                allowed.join(" ")
            );
            found.push(FieldError::invalid_json(path.to_string(), schema, &why));
        }
    }
    if flag(schema, "nullable") {
        let place = path.field("nullable").to_string();
        found.push(FieldError::forbidden(place, "nullable cannot be true at the root"));
    }
    let unsupported = structural::unsupported(schema);
    let mut structured = None;
    if unsupported.is_none() {
        let mut wrong = structural::check(schema, path);
        let parsed = Schema::read(schema).ok().filter(|_| wrong.is_empty());
        if let Some(parsed) = &parsed {
            defaults::check(parsed, path, &mut wrong);
        }
        structured = parsed.filter(|_| wrong.is_empty());
        found.append(wrong);
    }
    openapi::check(schema, path, &mut found);
    if let Some(parsed) = structured {
        rules::check(schema, &parsed, path, &mut found);
    }
    if let Some(why) = unsupported.filter(|_| found.is_empty()) {
        found.push(FieldError::invalid(path.to_string(), "", &why));
    }
    causes.append(found);
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

fn check_conversion(conversion: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    if conversion.is_null() {
        return;
    }
    let field = |name: &str| path.field(name).to_string();
    match text(conversion, "strategy") {
        "" => causes.push(FieldError::required(field("strategy"), "")),
        "None" => {
            let webhook = conversion.get("webhook").filter(|webhook| webhook.is_object());
            let why = "should not be set when strategy is not set to Webhook";
            if webhook.is_some_and(|webhook| webhook.get("clientConfig").is_some()) {
                causes.push(FieldError::forbidden(field("webhookClientConfig"), why));
            }
            if webhook.is_some_and(|webhook| !list(webhook, "conversionReviewVersions").is_empty())
            {
                causes.push(FieldError::forbidden(field("conversionReviewVersions"), why));
            }
        }
        // Answered before the checks: not implemented.
        "Webhook" => {}
        other => {
            causes.push(FieldError::unsupported(field("strategy"), other, &["None", "Webhook"]))
        }
    }
}

/// What of a definition may not change.
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
    if super::status::is_true(old, "Established") {
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
                "missing from spec.versions; {name} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
                 {name} from status.storedVersions"
            );
            causes.push(FieldError::invalid(path.index(at).to_string(), name, &why));
        }
    }
}

/// Groups that belong to Kubernetes want the approval of its API reviewers, as an annotation.
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
                "protected groups must have approval annotation {APPROVED:?} with either a URL or a reason starting \
                 with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111"
            );
            causes.push(FieldError::invalid(place, &now, &why));
        }
        _ => {}
    }
}
