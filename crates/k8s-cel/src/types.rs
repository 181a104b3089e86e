//! Types of expressions, and which of them fit into which (the type checker's side of cel-go's
//! `types.go`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::authorizer;

/// The type of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Of a wrong expression: fits everywhere.
    Error,
    /// Any type, checked at the evaluation.
    Dyn,
    /// `null`.
    Null,
    /// `bool`.
    Bool,
    /// `int`: 64 bits with a sign.
    Int,
    /// `uint`: 64 bits.
    Uint,
    /// `double`.
    Double,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// `google.protobuf.Duration`.
    Duration,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// A list of elements of a type.
    List(Arc<Self>),
    /// A map from keys to values.
    Map(Arc<Self>, Arc<Self>),
    /// `optional_type`.
    Optional(Arc<Self>),
    /// A type as a value.
    Meta(Arc<Self>),
    /// A type of Kubernetes' library, by its name.
    Opaque(&'static str),
    /// An object with known members.
    Object(Arc<ObjectType>),
    /// A type parameter that is not bound yet.
    Param(usize),
}

/// An object with the members that its schema names.
#[derive(Debug, PartialEq, Eq)]
pub struct ObjectType {
    /// The place of its schema, such as `selfType.spec`.
    pub name: String,
    /// The types of its members, by the names that expressions use.
    pub members: BTreeMap<String, Type>,
}

impl Type {
    /// The variable `authorizer`.
    pub const AUTHORIZER: Self = Self::Opaque(authorizer::AUTHORIZER);
    /// The variable `authorizer.requestResource`.
    pub const RESOURCE_CHECK: Self = Self::Opaque(authorizer::RESOURCE_CHECK);

    /// The name of the type where Kubernetes says what an expression must evaluate to. Other than
    /// in errors of compilation, types of protobuf have their whole names.
    #[doc(alias = "DeclaredTypeName")]
    pub fn declared_name(&self) -> String {
        match self {
            Self::Null => "null_type".to_owned(),
            Self::Duration => "google.protobuf.Duration".to_owned(),
            Self::Timestamp => "google.protobuf.Timestamp".to_owned(),
            Self::List(of) => format!("list({})", of.declared_name()),
            Self::Map(key, value) => {
                format!("map({}, {})", key.declared_name(), value.declared_name())
            }
            Self::Optional(of) => format!("optional_type({})", of.declared_name()),
            Self::Meta(of) => format!("type({})", of.declared_name()),
            other => other.to_string(),
        }
    }

    pub(super) fn list(of: Self) -> Self {
        Self::List(Arc::new(of))
    }

    pub(super) fn optional(of: Self) -> Self {
        Self::Optional(Arc::new(of))
    }

    pub(super) const fn is_any(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// Whether its size is one, whatever its value.
    pub(super) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool
            | Self::Int
            | Self::Uint
            | Self::Double
            | Self::Duration
            | Self::Timestamp => true,
            Self::Optional(of) => of.is_scalar(),
            _ => false,
        }
    }

    const fn takes_null(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Optional(_)
                | Self::Opaque(_)
                | Self::Object(_)
                | Self::Duration
                | Self::Timestamp
        )
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "!error!",
            Self::Dyn => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Timestamp => "timestamp",
            Self::Opaque(name) => name,
            Self::Object(object) => &object.name,
            Self::List(of) => return write!(f, "list({of})"),
            Self::Map(key, value) => return write!(f, "map({key}, {value})"),
            Self::Optional(of) => return write!(f, "optional_type({of})"),
            Self::Meta(of) => return write!(f, "type({of})"),
            Self::Param(number) => return write!(f, "_var{number}"),
        })
    }
}

/// The types that type parameters stand for, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    types: Vec<Option<Type>>,
}

impl Known {
    pub(super) fn fresh(&mut self) -> Type {
        self.types.push(None);
        Type::Param(self.types.len() - 1)
    }

    fn of(&self, param: usize) -> Option<&Type> {
        self.types.get(param).and_then(Option::as_ref)
    }

    fn set(&mut self, param: usize, to: Type) {
        if let Some(slot) = self.types.get_mut(param) {
            *slot = Some(to);
        }
    }

    /// The type with its parameters replaced. Unknown ones become `dyn` if `finally`.
    pub(super) fn resolve(&self, of: &Type, finally: bool) -> Type {
        let inner = |of: &Type| Arc::new(self.resolve(of, finally));
        match of {
            Type::Param(param) => match self.of(*param) {
                Some(known) => self.resolve(known, finally),
                None if finally => Type::Dyn,
                None => Type::Param(*param),
            },
            Type::List(of) => Type::List(inner(of)),
            Type::Map(key, value) => Type::Map(inner(key), inner(value)),
            Type::Optional(of) => Type::Optional(inner(of)),
            Type::Meta(of) => Type::Meta(inner(of)),
            other => other.clone(),
        }
    }

    /// Whether values of one type may stand where the other one is wanted, list by list; what that
    /// tells of unknown types is kept if it is so.
    pub(super) fn fit_all(&mut self, given: &[Type], wanted: &[Type]) -> bool {
        let mut trial = self.clone();
        let fits = given.len() == wanted.len()
            && given.iter().zip(wanted).all(|(given, wanted)| trial.fits(given, wanted));
        if fits {
            *self = trial;
        }
        fits
    }

    /// As [`fit_all`](Self::fit_all), of one type.
    pub(super) fn fit(&mut self, given: &Type, wanted: &Type) -> bool {
        self.fit_all(std::slice::from_ref(given), std::slice::from_ref(wanted))
    }

    fn fits(&mut self, given: &Type, wanted: &Type) -> bool {
        if let Type::Param(param) = wanted {
            let (valid, known) = self.substitute(given, *param);
            if valid || known {
                return valid;
            }
        }
        match (given, wanted) {
            (Type::Param(param), wanted) => self.substitute(wanted, *param).0,
            (given, wanted) if given.is_any() || wanted.is_any() => true,
            (Type::Null, other) | (other, Type::Null) => other.takes_null(),
            (Type::Meta(_), Type::Meta(_)) => true,
            (Type::List(given), Type::List(wanted))
            | (Type::Optional(given), Type::Optional(wanted)) => self.fits(given, wanted),
            (Type::Map(key, value), Type::Map(wanted_key, wanted_value)) => {
                self.fits(key, wanted_key) && self.fits(value, wanted_value)
            }
            (Type::Object(given), Type::Object(wanted)) => given.name == wanted.name,
            (given, wanted) => given == wanted,
        }
    }

    /// Whether a type can be what a parameter stands for, and whether that was known.
    fn substitute(&mut self, given: &Type, param: usize) -> (bool, bool) {
        if *given == Type::Param(param) {
            return (true, true);
        }
        let Some(known) = self.of(param).cloned() else {
            let free = !self.contains(given, param);
            if free {
                self.set(param, given.clone());
            }
            return (free, false);
        };
        if !self.fits(given, &known) {
            return (false, true);
        }
        let general = most_general(given, &known).clone();
        if !self.contains(&general, param) {
            self.set(param, general);
        }
        (true, true)
    }

    /// Whether a parameter is part of a type.
    fn contains(&self, of: &Type, param: usize) -> bool {
        match of {
            Type::Param(other) if *other == param => true,
            Type::Param(other) => self.of(*other).is_some_and(|known| self.contains(known, param)),
            Type::List(of) | Type::Optional(of) | Type::Meta(of) => self.contains(of, param),
            Type::Map(key, value) => self.contains(key, param) || self.contains(value, param),
            _ => false,
        }
    }
}

/// The more general of two types that fit.
pub(super) fn most_general<'a>(a: &'a Type, b: &'a Type) -> &'a Type {
    if says_no_more(a, b) { a } else { b }
}

fn says_no_more(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
            says_no_more(a, b)
        }
        (Type::Map(key, value), Type::Map(other_key, other_value)) => {
            says_no_more(key, other_key) && says_no_more(value, other_value)
        }
        (a, b) => a == b,
    }
}
