//! A served kind: its names and its strategy.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use k8s_merge::Schema;
use k8s_merge::managed_fields::Types;
use serde_json::Value;

use crate::api::kind::Kind;
use crate::api::metadata::Object;
use crate::api::recorded::types::TYPES;
#[cfg(feature = "client")]
use crate::api::recorded::types::Type;
use crate::strategy::builtin::{KINDS, Row};
use crate::strategy::crd::Served;
use crate::strategy::openapi;
use crate::strategy::shape::{Source, canonical};
use crate::strategy::{Custom, Strategy, unserved};

/// All built-in kinds with stored objects.
pub(crate) fn built_in() -> impl Iterator<Item = ServedResource> {
    KINDS.iter().map(|row| ServedResource::built_in(row))
}

/// A kind and its strategy. Dereferences to its [`Kind`].
#[derive(Debug)]
pub(crate) struct ServedResource {
    info: Kind,
    rules: Rules,
    /// The recorded Go type of its objects.
    message: Option<usize>,
    schema: Option<Value>,
    /// Computed from the schema at the first write.
    types: OnceLock<Types>,
}

/// The source of the strategy.
#[derive(Debug)]
enum Rules {
    BuiltIn(&'static dyn Strategy),
    Custom(Box<Custom>),
}

impl Deref for ServedResource {
    type Target = Kind;

    fn deref(&self) -> &Kind {
        &self.info
    }
}

impl ServedResource {
    /// A custom kind without a definition.
    pub(crate) fn new(info: Kind) -> Self {
        let rules = Custom::registered(info.clone());
        Self::with(info, Rules::Custom(Box::new(rules)))
    }

    /// A built-in kind.
    pub(crate) fn built_in(row: &Row) -> Self {
        let info = row.to_kind().built_in();
        let message = TYPES.kind(&info.api_version(), info.kind());
        Self { message, ..Self::with(info, Rules::BuiltIn(row.strategy)) }
    }

    /// A version of a definition, with its `openAPIV3Schema`.
    pub(crate) fn defined(info: Kind, served: Served, schema: Option<Value>) -> Self {
        let served = Arc::new(served);
        let info = info.codec(Arc::clone(&served) as _);
        let rules = Custom::defined(info.clone(), served);
        Self { schema, ..Self::with(info, Rules::Custom(Box::new(rules))) }
    }

    const fn with(info: Kind, rules: Rules) -> Self {
        Self { info, rules, message: None, schema: None, types: OnceLock::new() }
    }

    /// The `openAPIV3Schema`. `None` without a definition.
    pub(crate) const fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    /// The rules of the definition. `None` without one.
    pub(crate) fn definition(&self) -> Option<&Arc<Served>> {
        match &self.rules {
            Rules::BuiltIn(_) => None,
            Rules::Custom(custom) => custom.definition(),
        }
    }

    /// The strategy.
    pub(crate) fn strategy(&self) -> &dyn Strategy {
        match &self.rules {
            Rules::BuiltIn(strategy) => *strategy,
            Rules::Custom(custom) => &**custom,
        }
    }

    /// Whether only upstream serves the subresource: 501 instead of 404.
    pub(crate) fn has_unserved(&self, subresource: &str) -> bool {
        match self.rules {
            Rules::BuiltIn(_) => {
                unserved::is_subresource(&self.api_version(), self.plural(), subresource)
            }
            Rules::Custom(_) => self.definition().is_none() && subresource == "scale",
        }
    }

    /// The recorded Go type of its objects. `None` for custom kinds.
    pub(crate) const fn message(&self) -> Option<usize> {
        self.message
    }

    /// Whether upstream stores its objects as protobuf, which keeps a time of zero. JSON does not.
    pub(crate) fn is_stored_as_protobuf(&self) -> bool {
        let message = self.message.and_then(|message| TYPES.message(message));
        message.is_some_and(|message| !message.is_stored_as_json)
    }

    /// Brings an object of a built-in kind to the canonical form. Drops unknown members and adds
    /// their names to `unknown`. Custom objects stay as they are.
    ///
    /// # Errors
    ///
    /// Names the member with the wrong type.
    pub(crate) fn canonical(
        &self,
        object: Object,
        source: Source,
        unknown: &mut Vec<String>,
    ) -> Result<Object, String> {
        match self.message {
            Some(message) => canonical(message, object, source, unknown),
            None => Ok(object),
        }
    }

    /// Whether the status of the kind's objects has a member: by the Go type, or by the schema of
    /// the definition.
    #[cfg(feature = "client")]
    pub(crate) fn has_status_member(&self, name: &str) -> bool {
        let Some(message) = self.message else {
            let path = format!("/properties/status/properties/{name}");
            return self.schema().is_some_and(|schema| schema.pointer(&path).is_some());
        };
        let status = TYPES.message(message).and_then(|of| of.member("status"));
        match status.map(|status| status.of) {
            Some(Type::Message(status)) => {
                TYPES.message(status).is_some_and(|of| of.member(name).is_some())
            }
            _ => false,
        }
    }

    /// The name of a built-in kind's recorded schema.
    pub(crate) fn recorded_name(&self) -> Option<&'static str> {
        self.message.and_then(|_| openapi::name_of(self))
    }

    /// The recorded schema of a built-in kind.
    pub(crate) fn recorded_schema(&self) -> Option<Schema<'static>> {
        self.message.and_then(|_| openapi::schema_of(self))
    }

    /// The field types, for field ownership.
    pub(crate) fn types(&self) -> &Types {
        self.types.get_or_init(|| self.read_types())
    }

    fn read_types(&self) -> Types {
        if let Some(schema) = self.recorded_schema() {
            let zero = self.canonical(Object::new(), Source::Json, &mut Vec::new());
            return Types::of_schema(schema).with_zero(zero.unwrap_or_default());
        }
        let unknown = Value::Object(Object::new());
        openapi::types_of(self.schema().unwrap_or(&unknown))
    }
}
