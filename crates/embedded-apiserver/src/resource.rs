//! A kind that the server serves: its names, and the rules that hold for its objects.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::builtin::{self, Builtin, unserved};
use crate::definition::Served;
use crate::fields::Types;
use crate::kind::Kind;
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
        let rules = Custom::registered(info.clone());
        Self::with(info, Rules::Custom(Box::new(rules)))
    }

    /// One of Kubernetes' own, with its rules.
    pub(crate) fn built_in(info: Kind, builtin: Builtin) -> Self {
        let rules = Rules::BuiltIn(builtin.strategy());
        Self { builtin: Some(builtin), ..Self::with(info.built_in(), rules) }
    }

    /// A version of a definition, with its `openAPIV3Schema`.
    pub(crate) fn defined(info: Kind, served: Served, schema: Option<Value>) -> Self {
        let served = Arc::new(served);
        let info = info.codec(Arc::clone(&served) as _);
        let rules = Custom::defined(info.clone(), served);
        Self { schema, ..Self::with(info, Rules::Custom(Box::new(rules))) }
    }

    const fn with(info: Kind, rules: Rules) -> Self {
        Self { info, builtin: None, rules, schema: None, types: OnceLock::new() }
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

    /// Its structure, as the ownership of fields sees it.
    pub(crate) fn types(&self) -> &Types {
        self.types.get_or_init(|| Types::of(self))
    }
}
