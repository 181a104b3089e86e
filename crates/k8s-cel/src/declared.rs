//! `Declared`: a type with the bounds of its values, from which costs are estimated
//! (k8s.io/apiserver/pkg/cel/common/schemas.go).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::names::member;
use crate::types::{ObjectType, Type};

/// The most bytes of a request, for these estimates.
pub(crate) const MAX_REQUEST: i64 = 3 * 1024 * 1024;

/// A type with the bounds of its values.
///
/// A schema of OpenAPI is declared by the crate that reads it. By hand:
///
/// ```
/// use k8s_cel::{Declared, Type};
///
/// let replicas = Declared::plain(Type::Int, 0, 1);
/// let spec = Declared::object([("replicas".to_owned(), replicas)].into(), 2);
/// assert!(spec.member("replicas").is_some());
/// ```
#[derive(Debug)]
pub struct Declared {
    kind: Kind,
    /// The most elements or characters of a value; 0 if it has none.
    pub(super) max_elements: u64,
    /// The least size as JSON, in bytes.
    min_size: i64,
}

#[derive(Debug)]
enum Kind {
    Plain(Type),
    List(Arc<Declared>),
    Map(Arc<Declared>),
    Object(BTreeMap<String, Arc<Declared>>),
}

impl Declared {
    /// A value of `of`, which is no list, map or object. `max_elements` bounds the length of a text
    /// or of bytes; `min_size` is the least size of the value as JSON, in bytes.
    pub fn plain(of: Type, max_elements: u64, min_size: i64) -> Arc<Self> {
        Arc::new(Self { kind: Kind::Plain(of), max_elements, min_size })
    }

    /// A list. Without `max_items` the size of a request bounds it.
    pub fn list(of: Arc<Self>, max_items: Option<u64>) -> Arc<Self> {
        let most = (MAX_REQUEST - 2) / of.min_size.saturating_add(1);
        let max_elements = max_items.unwrap_or_else(|| u64::try_from(most).unwrap_or(0));
        Arc::new(Self { kind: Kind::List(of), max_elements, min_size: 2 })
    }

    /// A map with keys of text. Without `max_properties` the size of a request bounds it.
    pub fn map(of: Arc<Self>, max_properties: Option<u64>) -> Arc<Self> {
        let most = (MAX_REQUEST - 2) / of.min_size.saturating_add(6);
        let max_elements = max_properties.unwrap_or_else(|| u64::try_from(most).unwrap_or(0));
        Arc::new(Self { kind: Kind::Map(of), max_elements, min_size: 2 })
    }

    /// An object with these members, by the names that expressions use: see
    /// [`escaped`](crate::escaped). `min_size` is its least size as JSON, in bytes.
    pub fn object(members: BTreeMap<String, Arc<Self>>, min_size: i64) -> Arc<Self> {
        Arc::new(Self { kind: Kind::Object(members), max_elements: 0, min_size })
    }

    /// Returns the least size of a value as JSON, in bytes.
    pub const fn min_size(&self) -> i64 {
        self.min_size
    }

    /// Its type; objects are named by where they are.
    pub(super) fn named(&self, name: &str) -> Type {
        match &self.kind {
            Kind::Plain(of) => of.clone(),
            Kind::List(of) => Type::List(of.named(&format!("{name}.@idx")).into()),
            Kind::Map(of) => {
                Type::Map(Type::String.into(), of.named(&format!("{name}.@elem")).into())
            }
            Kind::Object(members) => {
                let of = |(member, of): (&String, &Arc<Self>)| {
                    (member.clone(), of.named(&format!("{name}.{member}")))
                };
                Type::Object(Arc::new(ObjectType {
                    name: name.to_owned(),
                    members: members.iter().map(of).collect(),
                }))
            }
        }
    }

    /// Returns the declaration of a member, by the name that expressions use.
    pub fn member(&self, name: &str) -> Option<&Arc<Self>> {
        match &self.kind {
            Kind::Object(members) => member(name, |name| members.get(name)),
            _ => None,
        }
    }

    /// Returns the declaration of the elements of a list, or of the values of a map.
    pub fn element(&self) -> Option<&Arc<Self>> {
        match &self.kind {
            Kind::List(of) | Kind::Map(of) => Some(of),
            _ => None,
        }
    }

    /// Returns how often a value may be in an object, if nothing around it has a bound.
    pub fn max_cardinality(&self) -> u64 {
        u64::try_from(MAX_REQUEST / self.min_size.saturating_add(1)).unwrap_or(0)
    }
}
