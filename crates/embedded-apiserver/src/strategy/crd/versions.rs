//! The versions of a definition as kinds.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::api::metadata::Object;
use crate::strategy::crd::conversion::Conversion;
use crate::strategy::crd::conversion_cache::ConversionCache;
use crate::strategy::crd::members::is_true;
use crate::strategy::crd::members::{flag, list, schema_of, text};
use crate::strategy::crd::served::{Column, Served};
use crate::strategy::resource::ServedResource;
use api_front::Follower;
use k8s_schema::Validator;

/// The parts of a registration that its successor keeps.
#[derive(Debug, Clone)]
pub(crate) struct Around {
    pub(crate) converts_upto: u64,
    pub(crate) ended: Follower<()>,
    /// The names of all versions that there were, by number.
    pub(crate) numbers: Vec<String>,
}

/// The served kinds of a definition, and its storage version, served or not.
///
/// # Errors
///
/// Names the schema that cannot be read. A validated definition has none.
pub(crate) fn kinds(
    object: &Object,
    around: &Around,
) -> Result<(Vec<Arc<ServedResource>>, Arc<ServedResource>), String> {
    let none = Value::Null;
    let spec = object.get("spec").unwrap_or(&none);
    let accepted =
        object.get("status").and_then(|status| status.get("acceptedNames")).unwrap_or(&none);
    let versions = list(spec, "versions");
    let storage =
        versions.iter().find(|version| flag(version, "storage")).or_else(|| versions.first());
    let Some(storage) = storage else { return Err("it has no version".to_owned()) };
    let any = json!({ "x-kubernetes-preserve-unknown-fields": true });
    let read = |version: &Value| Validator::read(schema_of(version).unwrap_or(&any)).map(Arc::new);
    let stored = read(storage)?;
    let terminating = is_true(object, "Terminating");
    let number = |version: &Value| {
        let name = text(version, "name");
        let number = around.numbers.iter().position(|known| known == name).unwrap_or_default();
        u16::try_from(number).unwrap_or(u16::MAX)
    };
    let mut schemas = Vec::new();
    for name in &around.numbers {
        let version = versions.iter().find(|version| text(version, "name") == name);
        schemas.push((name.clone(), version.map(read).transpose()?));
    }
    let conversion = Conversion::read(spec, schemas).map(Arc::new);
    let mut served = Vec::new();
    let mut stored_as = None;
    for version in versions {
        let is_storage = text(version, "name") == text(storage, "name");
        let as_stored = is_storage || schema_of(version) == schema_of(storage);
        let validator = if as_stored { Arc::clone(&stored) } else { read(version)? };
        // A webhook leaves to this server what is within a version.
        let form = if conversion.is_some() { &validator } else { &stored };
        let columns =
            list(version, "additionalPrinterColumns").iter().filter_map(Column::read).collect();
        let kind = Arc::new(resource(
            spec,
            accepted,
            version,
            Served {
                stored: Arc::clone(form),
                validator,
                is_stored: is_storage,
                converts_upto: if as_stored { around.converts_upto } else { u64::MAX },
                number: number(version),
                stored_number: number(storage),
                conversion: conversion.clone(),
                converted: ConversionCache::default(),
                columns,
                deprecation: deprecation(spec, version),
                terminating,
                ended: around.ended.clone(),
            },
        ));
        if is_storage {
            stored_as = Some(Arc::clone(&kind));
        }
        if flag(version, "served") {
            served.push(kind);
        }
    }
    Ok((served, stored_as.ok_or_else(|| "it has no version".to_owned())?))
}

fn deprecation(spec: &Value, version: &Value) -> Option<String> {
    let said = text(version, "deprecationWarning");
    let (group, name) = (text(spec, "group"), text(version, "name"));
    let kind = spec.get("names").map_or("", |names| text(names, "kind"));
    let usual = || format!("{group}/{name} {kind} is deprecated");
    flag(version, "deprecated").then(|| if said.is_empty() { usual() } else { said.to_owned() })
}

fn resource(spec: &Value, accepted: &Value, version: &Value, served: Served) -> ServedResource {
    let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
    ServedResource::defined(kind_of(spec, accepted, version), served, schema.cloned())
}

/// The kind of a version. `accepted`: the names from the status.
fn kind_of(spec: &Value, accepted: &Value, version: &Value) -> Kind {
    let names = spec.get("names").unwrap_or(&Value::Null);
    let texts = |of: &Value, name: &str| -> Vec<String> {
        list(of, name).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let new =
        if text(spec, "scope") == "Cluster" { Kind::cluster_scoped } else { Kind::namespaced };
    let (group, version_name) = (text(spec, "group"), text(version, "name"));
    let subresources = version.get("subresources").unwrap_or(&Value::Null);
    let mut kind = new(group, version_name, text(names, "kind"), text(names, "plural"))
        .named(text(accepted, "singular"), text(names, "listKind"))
        .status(subresources.get("status").is_some_and(Value::is_object));
    for name in texts(accepted, "shortNames") {
        kind = kind.short_name(&name);
    }
    for name in texts(accepted, "categories") {
        kind = kind.category(&name);
    }
    for field in list(version, "selectableFields") {
        kind = kind.selectable_field(text(field, "jsonPath"));
    }
    match subresources.get("scale").filter(|scale| scale.is_object()) {
        Some(paths) => kind.scale(
            text(paths, "specReplicasPath"),
            text(paths, "statusReplicasPath"),
            Some(text(paths, "labelSelectorPath")),
        ),
        None => kind,
    }
}
