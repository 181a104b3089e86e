//! A kind that the server serves: its names, and the rules that hold for its objects.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use k8s_merge::Schema;
use k8s_merge::managed_fields::Types;
use serde_json::Value;

use crate::builtin::{self, Builtin, unserved};
use crate::definition::Served;
use crate::kind::Kind;
use crate::metadata::Object;
use crate::openapi::schema;
use crate::strategy::{Custom, Strategy};

/// All kinds that every cluster has and that have objects.
pub(crate) fn built_in() -> impl Iterator<Item = ServedResource> {
    builtin::kinds().map(|(kind, builtin)| ServedResource::built_in(kind, builtin))
}

/// A kind and its rules. Its names are read as those of a [`Kind`].
#[derive(Debug)]
pub(crate) struct ServedResource {
    info: Kind,
    /// Of one of Kubernetes' own: which rules hold.
    pub(crate) builtin: Option<Builtin>,
    rules: Rules,
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
        let rules = Rules::Custom(Box::new(Custom::registered(info.clone())));
        Self { info, builtin: None, rules, schema: None, types: OnceLock::new() }
    }

    /// One of Kubernetes' own, with its rules.
    pub(crate) fn built_in(info: Kind, builtin: Builtin) -> Self {
        let rules = Rules::BuiltIn(builtin.strategy());
        Self { builtin: Some(builtin), rules, ..Self::new(info.built_in()) }
    }

    /// A version of a definition, with its `openAPIV3Schema`.
    pub(crate) fn defined(info: Kind, served: Served, schema: Option<Value>) -> Self {
        let served = Arc::new(served);
        let info = info.codec(Arc::clone(&served) as _);
        let rules = Rules::Custom(Box::new(Custom::defined(info.clone(), served)));
        Self { rules, schema, ..Self::new(info) }
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
        match self.builtin {
            Some(_) => unserved::is_subresource(&self.api_version(), self.plural(), subresource),
            None => self.definition().is_none() && subresource == "scale",
        }
    }

    /// The name of the recorded schema of one of Kubernetes' own.
    pub(crate) fn recorded_name(&self) -> Option<&'static str> {
        self.builtin.and_then(|_| schema::name_of(self))
    }

    /// The recorded schema of one of Kubernetes' own.
    pub(crate) fn recorded_schema(&self) -> Option<Schema<'static>> {
        self.builtin.and_then(|_| schema::schema_of(self))
    }

    /// Its structure, as the ownership of fields sees it.
    pub(crate) fn types(&self) -> &Types {
        self.types.get_or_init(|| self.read_types())
    }

    fn read_types(&self) -> Types {
        if let (Some(schema), Some(builtin)) = (self.recorded_schema(), self.builtin) {
            let zero = builtin.canonical(Object::new(), &mut Vec::new());
            return Types::of_schema(schema).with_zero(zero.unwrap_or_default());
        }
        let unknown = Value::Object(Object::new());
        schema::types_of(self.schema().unwrap_or(&unknown))
    }
}
