//! A version of a custom kind as requests need it: what its definition says, read once.

use std::sync::Arc;

use api_front::Follower;
use serde_json::{Map, Value};

use crate::api::json_path::JsonPath;
use crate::api::kind::{Codec, Kind};
use crate::api::metadata::Object;
use crate::api::status::FieldErrors;
use crate::strategy::crd::embedded::{check_embedded, coerce};
use crate::strategy::crd::members::text;
use crate::strategy::scale_paths;
use k8s_schema::{
    Old, Validator, prune, prune_nulls, set_defaults, validate, validate_lists, validate_member,
};

/// What a definition says of one of its versions.
#[derive(Debug)]
pub(crate) struct Served {
    pub(super) validator: Arc<Validator>,
    /// Of the version that objects are stored in.
    pub(super) stored: Arc<Validator>,
    /// Whether that is this version.
    pub(crate) is_stored: bool,
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
        let schema = self.validator.schema();
        without_metadata(object, |object| {
            let mut unknown = prune(object, schema, MOST_UNKNOWN);
            prune_nulls(object, Some(schema));
            let mut below = Vec::new();
            coerce(object, schema, &mut below)?;
            below.sort_unstable();
            set_defaults(object, schema);
            unknown.iter_mut().for_each(|path| *path = format!("unknown field \"{path}\""));
            unknown.append(&mut below);
            Ok(unknown)
        })
    }

    /// The one form of what an apply has made: it has been held to the schema already, and its
    /// nulls stay. Says whether something was left out.
    pub(crate) fn applied(&self, object: &mut Object) -> bool {
        let schema = self.validator.schema();
        without_metadata(object, |object| {
            let unknown = prune(object, schema, 1);
            set_defaults(object, schema);
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
        let schema = self.validator.schema();
        let of_status = subresource == Some("status");
        if of_status {
            if let (Some(inner), Some(status)) =
                (schema.properties.get("status"), object.get("status"))
            {
                let was = Old(old.and_then(|old| old.get("status")));
                validate_member(inner, status, was, "status", causes);
            }
        } else {
            let before = old.map(|old| with_type(kind, old));
            validate(schema, &with_type(kind, object), Old(before.as_ref()), causes);
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
            check_embedded(self.validator.schema(), object, causes);
        }
        validate_lists(self.validator.schema(), object, old, causes);
        if self.validator.has_rules() {
            let (whole, before) = (with_type(kind, object), old.map(|old| with_type(kind, old)));
            self.validator.validate_rules(&whole, Old(before.as_ref()), causes);
        }
    }

    /// Rules in CEL that an object breaks and broke before, where nothing has changed since.
    pub(crate) fn warnings(
        &self,
        kind: &Kind,
        object: &Object,
        old: Option<&Object>,
    ) -> Vec<String> {
        match old.filter(|_| self.validator.has_rules()) {
            Some(old) => self.validator.warnings(&with_type(kind, object), &with_type(kind, old)),
            None => Vec::new(),
        }
    }
}

impl Codec for Served {
    fn converts(&self, revision: u64) -> bool {
        revision <= self.converts_upto
    }

    fn to_version(&self, mut object: Object, _revision: u64) -> Object {
        let (stored, schema) = (self.stored.schema(), self.validator.schema());
        without_metadata(&mut object, |object| {
            prune(object, stored, 0);
            prune_nulls(object, Some(stored));
            set_defaults(object, stored);
            if !Arc::ptr_eq(&self.stored, &self.validator) {
                prune(object, schema, 0);
                prune_nulls(object, Some(schema));
            }
        });
        object
    }

    fn to_storage(&self, mut object: Object) -> Object {
        if !Arc::ptr_eq(&self.stored, &self.validator) {
            let stored = self.stored.schema();
            without_metadata(&mut object, |object| {
                prune(object, stored, 0);
                prune_nulls(object, Some(stored));
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
