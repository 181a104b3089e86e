//! A kind that the server serves: its names, and the rules that hold for its objects.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use k8s_merge::Schema;
use k8s_merge::managed_fields::Types;
use serde_json::Value;

use crate::api::kind::Kind;
use crate::api::metadata::Object;
use crate::api::recorded::types::TYPES;
use crate::strategy::builtin::{KINDS, Row};
use crate::strategy::crd::Served;
use crate::strategy::openapi;
use crate::strategy::shape::{Source, canonical};
use crate::strategy::{Custom, Strategy, unserved};

/// All kinds that every cluster has and that have objects.
pub(crate) fn built_in() -> impl Iterator<Item = ServedResource> {
    KINDS.iter().map(|row| ServedResource::built_in(row))
}

/// A kind and its rules. Its names are read as those of a [`Kind`].
#[derive(Debug)]
pub(crate) struct ServedResource {
    info: Kind,
    rules: Rules,
    /// The recorded Go type of its objects.
    message: Option<usize>,
    schema: Option<Value>,
    /// Read from its schema at the first write.
    types: OnceLock<Types>,
}

/// Where its strategy is.
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
    /// A custom kind that was registered by hand.
    pub(crate) fn new(info: Kind) -> Self {
        let rules = Custom::registered(info.clone());
        Self::with(info, Rules::Custom(Box::new(rules)))
    }

    /// One of Kubernetes' own, with its rules.
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

    /// `openAPIV3Schema` of a definition's version; none for kinds that are built in or were
    /// registered by hand.
    pub(crate) const fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    /// What its definition says of it; none for kinds that are built in or were registered by hand.
    pub(crate) fn definition(&self) -> Option<&Arc<Served>> {
        match &self.rules {
            Rules::BuiltIn(_) => None,
            Rules::Custom(custom) => custom.definition(),
        }
    }

    /// Its rules.
    pub(crate) fn strategy(&self) -> &dyn Strategy {
        match &self.rules {
            Rules::BuiltIn(strategy) => *strategy,
            Rules::Custom(custom) => &**custom,
        }
    }

    /// Subresources that the real server has for such a kind and this one has not: 501, where any
    /// other is 404.
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

    /// An object in the one form of its Go type, or as it is for a custom kind. Unknown members are
    /// dropped, and their names are added to `unknown`.
    ///
    /// # Errors
    ///
    /// Says which member is of a wrong type.
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

    /// The name of the recorded schema of one of Kubernetes' own.
    pub(crate) fn recorded_name(&self) -> Option<&'static str> {
        self.message.and_then(|_| openapi::name_of(self))
    }

    /// The recorded schema of one of Kubernetes' own.
    pub(crate) fn recorded_schema(&self) -> Option<Schema<'static>> {
        self.message.and_then(|_| openapi::schema_of(self))
    }

    /// Its structure, as the ownership of fields sees it.
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
