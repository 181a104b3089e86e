//! A version of a custom kind as requests need it: what its definition says, read once.

use std::sync::Arc;

use api_front::Follower;
use serde_json::{Map, Value};

use crate::definition::check::schema_of;
use crate::definition::embedded::{check_embedded, coerce};
use crate::definition::rules::Rules;
use crate::definition::status::is_true;
use crate::definition::structural::{flag, list, text};
use crate::json_path::JsonPath;
use crate::kind::Kind;
use crate::metadata::Object;
use crate::rest::scale;
use crate::status::{FieldError, FieldErrors};
use k8s_schema::{
    Old, Schema, prune, prune_nulls, set_defaults, validate, validate_lists, validate_member,
};

/// What a definition says of one of its versions.
#[derive(Debug)]
pub(crate) struct Served {
    schema: Arc<Schema>,
    /// Of the version that objects are stored in.
    stored: Arc<Schema>,
    /// Whether that is this version.
    pub(crate) is_stored: bool,
    /// Its rules in CEL, if it has some.
    rules: Option<Arc<Rules>>,
    /// Objects written up to this revision may not be as the schemas say now.
    converts_upto: u64,
    pub(crate) columns: Vec<Column>,
    /// What clients of a deprecated version are told.
    pub(crate) deprecation: Option<String>,
    /// The definition is being deleted: nothing new may be created.
    pub(crate) terminating: bool,
    /// Its signal is dropped when the kind is no longer served as it is here.
    ended: Follower<()>,
}

/// A column of tables.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) types: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    pub(crate) path: JsonPath,
}

/// What changes of a definition keep of the one before.
#[derive(Debug, Clone)]
pub(crate) struct Around {
    pub(crate) converts_upto: u64,
    pub(crate) ended: Follower<()>,
}

/// The kinds that a definition serves, and the one that its objects are stored as, served or not.
///
/// # Errors
///
/// Says which schema cannot be read: only of a definition that was never checked.
pub(crate) fn kinds(object: &Object, around: &Around) -> Result<(Vec<Kind>, Kind), String> {
    let none = Value::Null;
    let spec = object.get("spec").unwrap_or(&none);
    let accepted =
        object.get("status").and_then(|status| status.get("acceptedNames")).unwrap_or(&none);
    let versions = list(spec, "versions");
    let storage =
        versions.iter().find(|version| flag(version, "storage")).or_else(|| versions.first());
    let Some(storage) = storage else { return Err("it has no version".to_owned()) };
    let read = |version: &Value| match schema_of(version) {
        Some(schema) => Schema::read(schema).map(Arc::new),
        None => Ok(Arc::new(Schema { preserve: true, ..Schema::default() })),
    };
    let rules_of = |version: &Value, schema: &Schema| {
        schema_of(version).and_then(|said| Rules::read(said, schema)).map(Arc::new)
    };
    let stored = read(storage)?;
    let stored_rules = rules_of(storage, &stored);
    let terminating = is_true(object, "Terminating");
    let mut served = Vec::new();
    let mut stored_as = None;
    for version in versions {
        let is_storage = text(version, "name") == text(storage, "name");
        let as_stored = is_storage || schema_of(version) == schema_of(storage);
        let schema = if as_stored { Arc::clone(&stored) } else { read(version)? };
        let rules = if as_stored { stored_rules.clone() } else { rules_of(version, &schema) };
        let columns =
            list(version, "additionalPrinterColumns").iter().filter_map(Column::read).collect();
        let kind = Kind::of_version(spec, accepted, version).served(Served {
            schema,
            rules,
            stored: Arc::clone(&stored),
            is_stored: is_storage,
            converts_upto: if as_stored { around.converts_upto } else { u64::MAX },
            columns,
            deprecation: deprecation(spec, version),
            terminating,
            ended: around.ended.clone(),
        });
        if is_storage {
            stored_as = Some(kind.clone());
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

impl Column {
    fn read(column: &Value) -> Option<Self> {
        Some(Self {
            name: text(column, "name").to_owned(),
            types: text(column, "type").to_owned(),
            format: text(column, "format").to_owned(),
            description: match text(column, "description") {
                "" => format!(
                    "Custom resource definition column (in JSONPath format): {}",
                    text(column, "jsonPath")
                ),
                said => said.to_owned(),
            },
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
            path: JsonPath::parse(text(column, "jsonPath")).ok()?,
        })
    }
}

/// As many unknown members are told of as an answer has warnings.
const MOST_UNKNOWN: usize = 64;

impl Served {
    /// Resolves when the kind is no longer served as it is here.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let mut ended = self.ended.clone();
        // Nothing is ever sent: it changes by its end.
        async move { while ended.changed().await.is_ok() {} }
    }

    /// Brings an object from outside to its one form: without what the schema does not know, with
    /// its defaults. Returns what was dropped.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the metadata of an embedded object.
    pub(crate) fn decode(&self, object: &mut Object) -> Result<Vec<String>, String> {
        without_metadata(object, |object| {
            let mut unknown = prune(object, &self.schema, MOST_UNKNOWN);
            prune_nulls(object, Some(&self.schema));
            let mut below = Vec::new();
            coerce(object, &self.schema, &mut below)?;
            below.sort_unstable();
            set_defaults(object, &self.schema);
            unknown.iter_mut().for_each(|path| *path = format!("unknown field \"{path}\""));
            unknown.append(&mut below);
            Ok(unknown)
        })
    }

    /// The one form of what an apply has made: it has been held to the schema already, and its
    /// nulls stay. Says whether something was left out.
    pub(crate) fn applied(&self, object: &mut Object) -> bool {
        without_metadata(object, |object| {
            let unknown = prune(object, &self.schema, 1);
            set_defaults(object, &self.schema);
            !unknown.is_empty()
        })
    }

    /// What was stored, as this version shows it.
    pub(crate) fn shown(&self, object: &mut Object, revision: u64) {
        if revision > self.converts_upto {
            return;
        }
        without_metadata(object, |object| {
            prune(object, &self.stored, 0);
            prune_nulls(object, Some(&self.stored));
            set_defaults(object, &self.stored);
            if !Arc::ptr_eq(&self.stored, &self.schema) {
                prune(object, &self.schema, 0);
                prune_nulls(object, Some(&self.schema));
            }
        });
    }

    /// Whether what is stored may have to be changed to be shown.
    pub(crate) const fn converts(&self, revision: u64) -> bool {
        revision <= self.converts_upto
    }

    /// An object of this version as it is stored.
    pub(crate) fn to_stored(&self, object: &mut Object) {
        if !Arc::ptr_eq(&self.stored, &self.schema) {
            without_metadata(object, |object| {
                prune(object, &self.stored, 0);
                prune_nulls(object, Some(&self.stored));
            });
        }
    }

    /// What is wrong with an object, after its metadata was looked at
    /// (registry/customresource/strategy.go and status_strategy.go of
    /// k8s.io/apiextensions-apiserver).
    pub(crate) fn check(
        &self,
        kind: &Kind,
        object: &Object,
        old: Option<&Object>,
        subresource: Option<&str>,
        causes: &mut FieldErrors,
    ) {
        let of_status = subresource == Some("status");
        if of_status {
            if let (Some(schema), Some(status)) =
                (self.schema.properties.get("status"), object.get("status"))
            {
                let was = Old(old.and_then(|old| old.get("status")));
                validate_member(schema, status, was, "status", causes);
            }
        } else {
            let before = old.map(|old| with_type(kind, old));
            validate(&self.schema, &with_type(kind, object), Old(before.as_ref()), causes);
        }
        if let Some(paths) = kind.scale_paths() {
            scale::check(paths, object, of_status, causes);
        }
        self.check_beside_schema(kind, object, old, subresource, causes);
    }

    /// What is wrong with an object that its schema says nothing of, be it of this kind or of
    /// another.
    pub(crate) fn check_beside_schema(
        &self,
        kind: &Kind,
        object: &Object,
        old: Option<&Object>,
        subresource: Option<&str>,
        causes: &mut FieldErrors,
    ) {
        if subresource != Some("status") {
            check_embedded(&self.schema, object, causes);
        }
        self.validate_lists(object, old, causes);
        if self.rules.is_some() && causes.block_rules() {
            let why = "some validation rules were not checked because the object was invalid; correct the existing \
                       errors to complete validation";
            causes.push(FieldError::invalid_shown("<nil>", "null", why));
        } else if let Some(rules) = &self.rules {
            let (whole, before) = (with_type(kind, object), old.map(|old| with_type(kind, old)));
            rules.check(&self.schema, &whole, before.as_ref(), causes, &mut Vec::new());
        }
    }

    /// Rules in CEL that an object breaks and broke before, where nothing has changed since.
    pub(crate) fn warnings(
        &self,
        kind: &Kind,
        object: &Object,
        old: Option<&Object>,
    ) -> Vec<String> {
        let mut warnings = Vec::new();
        if let (Some(rules), Some(old)) = (&self.rules, old) {
            let (whole, before) = (with_type(kind, object), with_type(kind, old));
            rules.check(
                &self.schema,
                &whole,
                Some(&before),
                &mut FieldErrors::default(),
                &mut warnings,
            );
        }
        warnings
    }

    /// An object that was wrong before may stay so.
    fn validate_lists(&self, object: &Object, old: Option<&Object>, causes: &mut FieldErrors) {
        let mut found = FieldErrors::default();
        validate_lists(&self.schema, object, &mut found);
        if found.is_empty() {
            return;
        }
        let mut before = FieldErrors::default();
        if let Some(old) = old {
            validate_lists(&self.schema, old, &mut before);
        }
        if before.is_empty() {
            causes.append(found);
        }
    }
}

/// The schema does not say what metadata is: they are kept out of its way.
fn without_metadata<T>(object: &mut Object, work: impl FnOnce(&mut Object) -> T) -> T {
    let metadata = object.remove("metadata");
    let outcome = work(object);
    if let Some(metadata) = metadata {
        object.insert("metadata".to_owned(), metadata);
    }
    outcome
}

fn with_type(kind: &Kind, object: &Object) -> Value {
    let mut whole: Map<String, Value> = object.clone();
    whole.insert("apiVersion".to_owned(), kind.api_version().into());
    whole.insert("kind".to_owned(), kind.kind().into());
    Value::Object(whole)
}
