//! The structure of a kind, as ownership sees it: which objects and lists are one field, which are
//! many, and how the items of a list are identified.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Object;
use crate::managed_fields::element::Element;

/// A type within [`Types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ref(pub(super) usize);

/// Any value. An object and a list are one field each.
pub(super) const ATOMIC: Ref = Ref(0);
/// Any value. Each member of an object is a field, a list is one field.
pub(super) const DEDUCED: Ref = Ref(1);

/// The structure of a kind: which objects and lists are one field, and how the items of other lists
/// are identified. Build it once for each version of a kind.
#[derive(Debug)]
#[doc(alias = "ParseableType")]
pub struct Types {
    pub(super) atoms: Vec<Atom>,
    pub(super) root: Ref,
    pub(super) zero: Object,
}

/// The forms that a value may have.
#[derive(Debug, Clone, Default)]
pub(super) struct Atom {
    pub(super) scalar: Option<Scalar>,
    pub(super) list: Option<List>,
    pub(super) map: Option<Members>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Number,
    Text,
    Truth,
    Any,
}

#[derive(Debug, Clone)]
pub(super) struct List {
    pub(super) items: Ref,
    pub(super) sort: Sort,
}

/// How the items of a list are identified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sort {
    /// They are not: the list is one field.
    Atomic,
    /// By their value.
    Set,
    /// By these members.
    Map(Vec<String>),
}

#[derive(Debug, Clone)]
pub(super) struct Members {
    pub(super) fields: BTreeMap<String, Field>,
    /// The type of any other member. `None` if there may be no other.
    pub(super) others: Option<Ref>,
    /// The object is one field.
    pub(super) atomic: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) of: Ref,
    pub(super) default: Option<Value>,
}

impl Members {
    /// The type of a member, and whether the type names it.
    pub(super) fn member(&self, name: &str) -> (Option<Ref>, bool) {
        match self.fields.get(name) {
            Some(field) => (Some(field.of), true),
            None => (self.others, false),
        }
    }

    pub(super) fn names(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// The type of an object without a schema.
    pub(super) fn is_deduced(&self) -> bool {
        self.others == Some(DEDUCED) && self.fields.is_empty()
    }
}

/// The one form of an atom that holds for a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form<'a> {
    Map(&'a Members),
    Scalar(Scalar),
    List(&'a List),
    /// Nothing may stand here.
    Nothing,
}

impl Form<'_> {
    pub(super) const fn is_same_as(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Map(_), Self::Map(_))
                | (Self::Scalar(_), Self::Scalar(_))
                | (Self::List(_), Self::List(_))
                | (Self::Nothing, Self::Nothing)
        )
    }
}

impl Atom {
    /// The form for a value. Null, and a value of another type, take the first possible form.
    pub(super) fn form(&self, value: Option<&Value>) -> Form<'_> {
        let deduced = match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                self.scalar.map(Form::Scalar)
            }
            Some(Value::Array(_)) => self.list.as_ref().map(Form::List),
            Some(Value::Object(_)) => self.map.as_ref().map(Form::Map),
            Some(Value::Null) | None => None,
        };
        let first = || {
            let map = self.map.as_ref().map(Form::Map);
            map.or_else(|| self.scalar.map(Form::Scalar))
                .or_else(|| self.list.as_ref().map(Form::List))
        };
        deduced.or_else(first).unwrap_or(Form::Nothing)
    }
}

impl Types {
    /// The structure of objects without a schema: each member is a field, a list is one field.
    #[doc(alias = "DeducedParseableType")]
    pub fn deduced() -> Self {
        let any = |others, atomic| Atom {
            scalar: Some(Scalar::Any),
            list: Some(List { items: ATOMIC, sort: Sort::Atomic }),
            map: Some(Members { fields: BTreeMap::new(), others: Some(others), atomic }),
        };
        Self {
            atoms: vec![any(ATOMIC, true), any(DEDUCED, false)],
            root: DEDUCED,
            zero: Object::new(),
        }
    }

    pub(super) const fn root_type(&self) -> Ref {
        self.root
    }

    /// The members of the object itself.
    pub(super) fn root(&self) -> &Members {
        static NOTHING: Members =
            Members { fields: BTreeMap::new(), others: Some(DEDUCED), atomic: false };
        self.atom(self.root).map.as_ref().unwrap_or(&NOTHING)
    }

    pub(super) fn atom(&self, of: Ref) -> &Atom {
        static NOTHING: Atom = Atom { scalar: None, list: None, map: None };
        self.atoms.get(of.0).unwrap_or(&NOTHING)
    }

    /// The path element of an item of a list.
    ///
    /// # Errors
    ///
    /// Says why it has none, in the API server's words.
    pub(super) fn item(&self, list: &List, item: &Value) -> Result<Element, String> {
        let wrong = |why: &str| Err(why.to_owned());
        let keys = match &list.sort {
            Sort::Atomic => return wrong("invalid indexing of non-associative list"),
            Sort::Set => {
                return match item {
                    Value::Object(_) => {
                        wrong("associative list without keys has an element that's a map type")
                    }
                    Value::Array(_) => {
                        wrong("not supported: associative list with lists as elements")
                    }
                    Value::Null => wrong(
                        "associative list without keys has an element that's an explicit null",
                    ),
                    _ => Ok(Element::Value(item.clone())),
                };
            }
            Sort::Map(keys) => keys,
        };
        let members = match item {
            Value::Object(members) => members,
            Value::Null => return wrong("associative list with keys may not have a null element"),
            _ => return wrong("associative list with keys may not have non-map elements"),
        };
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let default = || {
                let map = self.atom(list.items).map.as_ref()?;
                map.fields.get(key)?.default.as_ref()
            };
            if let Some(value) = members.get(key).or_else(default) {
                found.push((key.clone(), value.clone()));
            }
        }
        if found.is_empty() {
            let keys = keys.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(" ");
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{keys}] (and doesn't have \
                 default values for any key fields)"
            ));
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Element::Key(found))
    }

    /// Sets the object that a create is compared with, instead of an empty one. For a kind of Go's
    /// it is the zero value as JSON: a create that leaves a field as it is there does not own it.
    #[must_use]
    pub fn with_zero(self, zero: Object) -> Self {
        Self { zero, ..self }
    }

    /// The object that a create is compared with.
    pub const fn zero(&self) -> &Object {
        &self.zero
    }
}
