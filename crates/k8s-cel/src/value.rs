//! Values of expressions: equality, order, and sums.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::ast::Literal;
use crate::authorizer::Check;
use crate::eval_error::EvalError;

/// The result of a call.
pub(crate) type Called = Result<Value, EvalError>;

/// A value of an expression. Clones are cheap.
#[derive(Debug, Clone)]
pub enum Value {
    /// `null`.
    Null,
    /// A `bool`.
    Bool(bool),
    /// An `int`.
    Int(i64),
    /// A `uint`.
    Uint(u64),
    /// A `double`.
    Double(f64),
    /// A `string`.
    Text(Arc<str>),
    /// `bytes`.
    Bytes(Arc<[u8]>),
    /// A duration in nanoseconds, as Go's `time.Duration`.
    Duration(i64),
    /// A timestamp.
    Timestamp(Timestamp),
    /// A list.
    List(List),
    /// A map.
    Map(Arc<BTreeMap<Key, Self>>),
    /// An object with known members.
    Object(Arc<Object>),
    /// An optional value.
    Optional(Option<Arc<Self>>),
    /// A type, by its name.
    Type(&'static str),
    /// A quantity, in nanos (10^-9).
    Quantity(i128),
    /// An IP address.
    Ip(IpAddr),
    /// A network: its address and the length of its prefix.
    Cidr(IpAddr, u8),
    /// A value of the authorization library.
    Authorization(Check),
    /// A value that is not as its schema says. Reading it fails with this text.
    Broken(Arc<str>),
}

/// A list, and how it is compared.
#[derive(Debug, Clone)]
pub struct List {
    /// The elements.
    pub items: Arc<Vec<Value>>,
    /// What of the order of the elements counts.
    pub order: Order,
}

/// What of the order of a list's elements counts.
#[derive(Debug, Clone)]
pub enum Order {
    /// All of it.
    Counts,
    /// Nothing: `x-kubernetes-list-type: set`.
    Set,
    /// Nothing: `x-kubernetes-list-type: map`. These members identify an element.
    Keyed(Arc<[String]>),
}

/// An object whose schema names its members.
#[derive(Debug, Default)]
pub struct Object {
    /// The members, by the names that expressions use.
    pub members: BTreeMap<String, Value>,
    /// Members that the schema does not name. They are only compared.
    pub rest: BTreeMap<String, Json>,
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A `bool`.
    Bool(bool),
    /// An `int`.
    Int(i64),
    /// A `uint`.
    Uint(u64),
    /// A `string`.
    Text(Arc<str>),
}

impl Key {
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Bool(key) => Value::Bool(*key),
            Self::Int(key) => Value::Int(*key),
            Self::Uint(key) => Value::Uint(*key),
            Self::Text(key) => Value::Text(Arc::clone(key)),
        }
    }
}

impl List {
    /// A list whose order counts.
    pub fn of(items: Vec<Value>) -> Value {
        Value::List(Self { items: Arc::new(items), order: Order::Counts })
    }
}

impl Value {
    pub(super) fn of_literal(literal: &Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Uint(value) => Self::Uint(*value),
            Literal::Double(value) => Self::Double(*value),
            Literal::Text(value) => Self::Text(value.as_str().into()),
            Literal::Bytes(value) => Self::Bytes(value.as_slice().into()),
        }
    }

    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A value without a schema, of type `dyn`: objects are maps.
    #[doc(alias = "NativeToValue")]
    pub fn of_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(whole) => Self::Int(whole),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::text(text.as_str()),
            Json::Array(items) => List::of(items.iter().map(Self::of_json).collect()),
            Json::Object(members) => Self::of_members(members),
        }
    }

    /// As [`of_json`](Self::of_json), of an object.
    pub fn of_members(members: &serde_json::Map<String, Json>) -> Self {
        let entry = |(name, value): (&String, &Json)| {
            (Key::Text(name.as_str().into()), Self::of_json(value))
        };
        Self::Map(Arc::new(members.iter().map(entry).collect()))
    }

    pub(super) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) | Self::Object(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Authorization(Check(of)) => of.type_name(),
            Self::Broken(_) => "error",
        }
    }

    pub(super) fn key(&self) -> Option<Key> {
        Some(match self {
            Self::Bool(key) => Key::Bool(*key),
            Self::Int(key) => Key::Int(*key),
            Self::Uint(key) => Key::Uint(*key),
            Self::Text(key) => Key::Text(Arc::clone(key)),
            _ => return None,
        })
    }

    /// The result of `size()`: characters, bytes, elements or entries; 1 for any other value.
    pub(super) fn size(&self) -> u64 {
        let size = match self {
            Self::Text(text) => text.chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.items.len(),
            Self::Map(map) => map.len(),
            Self::Object(object) => object.members.len() + object.rest.len(),
            _ => 1,
        };
        u64::try_from(size).unwrap_or(u64::MAX)
    }

    /// Whether it is the zero of its type.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Self::Null
            | Self::Bool(false)
            | Self::Int(0)
            | Self::Uint(0)
            | Self::Duration(0)
            | Self::Optional(None) => true,
            Self::Double(value) => *value == 0.0,
            Self::Text(_) | Self::Bytes(_) | Self::List(_) | Self::Map(_) | Self::Object(_) => {
                self.size() == 0
            }
            _ => false,
        }
    }

    /// Whether two values are equal; numbers of different types may be.
    ///
    /// # Errors
    ///
    /// One of them is not as its schema says.
    pub(super) fn equals(&self, other: &Self) -> Result<bool, EvalError> {
        Ok(match (self, other) {
            (Self::Broken(why), _) | (_, Self::Broken(why)) => {
                return Err(EvalError::said(why.to_string()));
            }
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Quantity(a), Self::Quantity(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a, bits), Self::Cidr(b, other_bits)) => a == b && bits == other_bits,
            (Self::List(a), Self::List(b)) => a.equals(b)?,
            (Self::Map(a), Self::Map(b)) => {
                for (key, value) in a.iter() {
                    match b.get(key) {
                        Some(other) if value.equals(other)? => {}
                        _ => return Ok(false),
                    }
                }
                a.len() == b.len()
            }
            (Self::Object(a), Self::Object(b)) => {
                if a.rest != b.rest || a.members.len() != b.members.len() {
                    return Ok(false);
                }
                for (name, value) in &a.members {
                    match b.members.get(name) {
                        Some(other) if value.equals(other)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (Self::Optional(a), Self::Optional(b)) => match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => a.equals(b)?,
                _ => false,
            },
            (a, b) => a.compare_numbers(b) == Some(Ordering::Equal),
        })
    }

    fn compare_numbers(&self, other: &Self) -> Option<Ordering> {
        let whole = |value: &Self| match value {
            Self::Int(value) => Some(i128::from(*value)),
            Self::Uint(value) => Some(i128::from(*value)),
            _ => None,
        };
        match (whole(self), whole(other)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            (None, None) => match (self, other) {
                (Self::Double(a), Self::Double(b)) => a.partial_cmp(b),
                _ => None,
            },
            (Some(a), None) => match other {
                Self::Double(b) => (a as f64).partial_cmp(b),
                _ => None,
            },
            (None, Some(b)) => match self {
                Self::Double(a) => a.partial_cmp(&(b as f64)),
                _ => None,
            },
        }
    }

    /// Which of two values comes first; nothing: they have no order.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Duration(a), Self::Duration(b)) => Some(a.cmp(b)),
            (Self::Timestamp(a), Self::Timestamp(b)) => Some(a.cmp(b)),
            (a, b) => a.compare_numbers(b),
        }
    }
}

impl List {
    /// The elements in which a keyed list has its keys, as one text.
    fn keys_of(value: &Value, keys: &[String]) -> Option<Vec<Option<Key>>> {
        let Value::Object(object) = value else { return None };
        Some(keys.iter().map(|key| object.members.get(key).and_then(Value::key)).collect())
    }

    fn equals(&self, other: &Self) -> Result<bool, EvalError> {
        if self.items.len() != other.items.len() {
            return Ok(false);
        }
        for (at, item) in other.items.iter().enumerate() {
            let here = match &self.order {
                Order::Counts => self.items.get(at).map(|own| own.equals(item)),
                Order::Set => self
                    .items
                    .iter()
                    .map(|own| own.equals(item))
                    .find(|same| !matches!(same, Ok(false))),
                Order::Keyed(keys) => {
                    let wanted = Self::keys_of(item, keys);
                    let own = self.items.iter().find(|own| Self::keys_of(own, keys) == wanted);
                    own.map(|own| own.equals(item))
                }
            };
            if !here.unwrap_or(Ok(false))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Both together: a set stays one, and of a keyed list the later element of a key stays, where
    /// the first one was.
    pub(super) fn plus(&self, other: &Self) -> Result<Self, EvalError> {
        let mut items = Vec::clone(&self.items);
        for item in other.items.iter() {
            let place = match &self.order {
                Order::Counts => None,
                Order::Set => {
                    let mut found = None;
                    for (at, own) in items.iter().enumerate() {
                        if own.equals(item)? {
                            found = Some(at);
                            break;
                        }
                    }
                    found
                }
                Order::Keyed(keys) => {
                    let wanted = Self::keys_of(item, keys);
                    items.iter().position(|own| Self::keys_of(own, keys) == wanted)
                }
            };
            match place.and_then(|at| items.get_mut(at)) {
                Some(own) if matches!(self.order, Order::Keyed(_)) => *own = item.clone(),
                Some(_) => {}
                None => items.push(item.clone()),
            }
        }
        Ok(Self { items: Arc::new(items), order: self.order.clone() })
    }

    /// Whether a value is among the elements.
    pub(super) fn contains(&self, value: &Value) -> Result<bool, EvalError> {
        let mut failed = None;
        for item in self.items.iter() {
            match item.equals(value) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(why) => failed = Some(why),
            }
        }
        failed.map_or(Ok(false), Err)
    }
}
