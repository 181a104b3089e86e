//! A version of a custom kind as requests need it: what its definition says, read once.

use std::sync::Arc;

use api_front::Follower;
use serde_json::{Map, Value};

use crate::definition::embedded::{check_embedded, coerce};
use crate::definition::rules::Rules;
use crate::definition::structural::text;
use crate::json_path::JsonPath;
use crate::kind::{Codec, Kind};
use crate::metadata::Object;
use crate::status::{FieldError, FieldErrors};
use crate::strategy::scale_paths;
use k8s_schema::{
    Old, Schema, prune, prune_nulls, set_defaults, validate, validate_lists, validate_member,
};

/// What a definition says of one of its versions.
#[derive(Debug)]
pub(crate) struct Served {
    pub(super) schema: Arc<Schema>,
    /// Of the version that objects are stored in.
    pub(super) stored: Arc<Schema>,
    /// Whether that is this version.
    pub(crate) is_stored: bool,
    /// Its rules in CEL, if it has some.
    pub(super) rules: Option<Arc<Rules>>,
    /// Objects written up to this revision may not be as the schemas say now.
    pub(super) converts_upto: u64,
    pub(crate) columns: Vec<Column>,
    /// What clients of a deprecated version are told.
    pub(crate) deprecation: Option<String>,
    /// The definition is being deleted: nothing new may be created.
    pub(crate) terminating: bool,
    /// Its signal is dropped when the kind is no longer served as it is here.
    pub(super) ended: Follower<()>,
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

impl Column {
    pub(super) fn read(column: &Value) -> Option<Self> {
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
            scale_paths::validate(paths, object, of_status, causes);
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

impl Codec for Served {
    fn converts(&self, revision: u64) -> bool {
        revision <= self.converts_upto
    }

    fn to_version(&self, mut object: Object, _revision: u64) -> Object {
        without_metadata(&mut object, |object| {
            prune(object, &self.stored, 0);
            prune_nulls(object, Some(&self.stored));
            set_defaults(object, &self.stored);
            if !Arc::ptr_eq(&self.stored, &self.schema) {
                prune(object, &self.schema, 0);
                prune_nulls(object, Some(&self.schema));
            }
        });
        object
    }

    fn to_storage(&self, mut object: Object) -> Object {
        if !Arc::ptr_eq(&self.stored, &self.schema) {
            without_metadata(&mut object, |object| {
                prune(object, &self.stored, 0);
                prune_nulls(object, Some(&self.stored));
            });
        }
        object
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
