//! A version of a custom kind: its schema and rules, parsed once.

use std::sync::Arc;

use api_front::Follower;
use serde_json::{Map, Value};

use crate::api::json_path::JsonPath;
use crate::api::kind::{Codec, Kind};
use crate::api::metadata::Object;
use crate::api::status::FieldErrors;
use crate::strategy::crd::conversion::Conversion;
use crate::strategy::crd::conversion_cache::ConversionCache;
use crate::strategy::crd::embedded::{check_embedded, coerce};
use crate::strategy::crd::members::{text, without_metadata};
use crate::strategy::scale_paths;
use k8s_schema::{
    Old, Validator, prune, prune_nulls, set_defaults, validate, validate_lists, validate_member,
};

/// The schema and the rules of a version.
#[derive(Debug)]
pub(crate) struct Served {
    pub(super) validator: Arc<Validator>,
    /// The schema of the storage version.
    pub(super) stored: Arc<Validator>,
    /// Whether this is the storage version.
    pub(crate) is_stored: bool,
    /// Objects that were written up to this revision may not fit the schema.
    pub(super) converts_upto: u64,
    /// The number of this version, and of the storage version, among all that there were.
    pub(crate) number: u16,
    pub(crate) stored_number: u16,
    /// The conversion webhook, and what it has converted to this version.
    pub(crate) conversion: Option<Arc<Conversion>>,
    pub(crate) converted: ConversionCache,
    pub(crate) columns: Vec<Column>,
    /// The deprecation warning.
    pub(crate) deprecation: Option<String>,
    /// The definition is being deleted: creates fail.
    pub(crate) terminating: bool,
    /// Ends when the registration is replaced or withdrawn.
    pub(super) ended: Follower<()>,
}

/// An additional printer column.
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

/// The most warnings about unknown fields.
const MOST_UNKNOWN: usize = 64;

impl Served {
    /// Resolves when the registration is replaced or withdrawn.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let mut ended = self.ended.clone();
        // No value is ever sent: the signal only ends.
        async move { while ended.changed().await.is_ok() {} }
    }

    /// Decodes an object: prunes unknown fields and sets defaults. Returns the pruned fields.
    ///
    /// # Errors
    ///
    /// The metadata of an embedded object have a wrong type.
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

    /// Decodes the result of an apply. The schema has been applied already, and nulls stay. Returns
    /// whether a field was pruned.
    pub(crate) fn applied(&self, object: &mut Object) -> bool {
        let schema = self.validator.schema();
        without_metadata(object, |object| {
            let unknown = prune(object, schema, 1);
            set_defaults(object, schema);
            !unknown.is_empty()
        })
    }

    /// Validates an object, after its metadata (registry/customresource/strategy.go and
    /// status_strategy.go of k8s.io/apiextensions-apiserver).
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

    /// Validates an object without its schema. Also for an object that declares another kind.
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

    /// Warnings of CEL rules that an unchanged part of the object still breaks (ratcheting).
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

    fn has_webhook(&self) -> bool {
        self.conversion.is_some()
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

fn with_type(kind: &Kind, object: &Object) -> Value {
    let mut whole: Map<String, Value> = object.clone();
    whole.insert("apiVersion".to_owned(), kind.api_version().into());
    whole.insert("kind".to_owned(), kind.kind().into());
    Value::Object(whole)
}
