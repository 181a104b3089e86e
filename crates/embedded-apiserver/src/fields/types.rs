//! The structure of a kind, as ownership sees it: which objects and lists are one field, which are
//! many, and what tells the items of a list apart. Read from OpenAPI as
//! k8s.io/kube-openapi/pkg/schemaconv does.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::fields::Element;
use crate::metadata::Object;
use crate::openapi::schema as recorded;
use crate::resource::ServedResource;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// A type within [`Types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ref(usize);

/// Anything goes; objects and lists are one field each.
const ATOMIC: Ref = Ref(0);
/// Anything goes; objects are told apart by member, lists are one field.
const DEDUCED: Ref = Ref(1);

/// The types of a kind.
#[derive(Debug)]
pub(crate) struct Types {
    atoms: Vec<Atom>,
    root: Ref,
    /// What Go's zero value of the type looks like on the wire; of a definition's, an empty
    /// object.
    zero: Object,
}

/// What a value may be.
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

/// What tells the items of a list apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sort {
    /// Nothing: the list is one field.
    Atomic,
    /// Their value.
    Set,
    /// These members.
    Map(Vec<String>),
}

#[derive(Debug, Clone)]
pub(super) struct Members {
    fields: BTreeMap<String, Field>,
    /// Of members that have no name of their own here; nothing if there may be none.
    others: Option<Ref>,
    /// The object is one field.
    pub(super) atomic: bool,
}

#[derive(Debug, Clone)]
struct Field {
    of: Ref,
    default: Option<Value>,
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

    /// No names, and anything goes: what has no schema.
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
    /// The form for a value; null and what may not stand there leave it open, and the first
    /// possible is taken.
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
    /// The types of a kind: recorded ones if it is built in, its definition's, or, for a kind
    /// without a schema, those of a definition that keeps unknown fields.
    pub(crate) fn of(kind: &ServedResource) -> Self {
        let known = recorded::name_of(kind).and_then(|name| recorded::all().get(name));
        match known {
            Some(schema) => {
                let zero =
                    kind.builtin.map(|builtin| builtin.canonical(Object::new(), &mut Vec::new()));
                let zero = zero.and_then(Result::ok).unwrap_or_default();
                Self { zero, ..Self::build(schema) }
            }
            None => {
                let unknown = Value::Object(Map::new());
                Self::of_schema(kind.schema().map_or(&unknown, |schema| schema))
            }
        }
    }

    /// The types of a definition's schema.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        Self::build(&custom(schema))
    }

    /// The types of what has none: objects are told apart by member, lists are one field.
    pub(crate) fn deduced() -> Self {
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

    /// The types of `autoscaling/v1` Scale.
    pub(crate) fn scale() -> Self {
        let unknown = Value::Object(Map::new());
        Self::build(recorded::all().get(recorded::SCALE).unwrap_or(&unknown))
    }

    fn build(schema: &Value) -> Self {
        let mut build = Build { atoms: Self::deduced().atoms, named: HashMap::new() };
        let root = build.inlined(schema, false);
        Self { atoms: build.atoms, root, zero: Object::new() }
    }

    pub(super) const fn root_type(&self) -> Ref {
        self.root
    }

    /// The type of the object itself: an object it always is.
    pub(super) fn root(&self) -> &Members {
        static NOTHING: Members =
            Members { fields: BTreeMap::new(), others: Some(DEDUCED), atomic: false };
        self.atom(self.root).map.as_ref().unwrap_or(&NOTHING)
    }

    pub(super) fn atom(&self, of: Ref) -> &Atom {
        static NOTHING: Atom = Atom { scalar: None, list: None, map: None };
        self.atoms.get(of.0).unwrap_or(&NOTHING)
    }

    /// What an item of a list is called.
    ///
    /// # Errors
    ///
    /// Says why it has no name, as the real server does.
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

    /// What an object is compared with when it is created.
    pub(crate) const fn zero(&self) -> &Object {
        &self.zero
    }
}

/// A definition's schema with what every object has. Without a schema, anything goes.
fn custom(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(root) = &mut schema {
        if root.is_empty() {
            root.insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
        }
        root.entry("type").or_insert_with(|| "object".into());
        add_object_members(root);
    }
    schema
}

/// What is known of an object inside of an object too.
fn add_object_members(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| Map::new().into());
    if let Value::Object(properties) = properties {
        for member in ["apiVersion", "kind"] {
            properties.insert(member.to_owned(), serde_json::json!({ "type": "string" }));
        }
        let reference = format!("{}{OBJECT_META}", recorded::PREFIX);
        properties.insert("metadata".to_owned(), serde_json::json!({ "$ref": reference }));
    }
}

struct Build {
    atoms: Vec<Atom>,
    named: HashMap<String, Ref>,
}

impl Build {
    fn push(&mut self, atom: Atom) -> Ref {
        self.atoms.push(atom);
        Ref(self.atoms.len() - 1)
    }

    /// Takes a place first: types may contain themselves.
    fn inlined(&mut self, schema: &Value, preserve: bool) -> Ref {
        let at = self.push(Atom::default());
        let atom = self.atom(schema, preserve);
        if let Some(place) = self.atoms.get_mut(at.0) {
            *place = atom;
        }
        at
    }

    fn of(&mut self, schema: &Value, preserve: bool) -> Ref {
        let Some(name) = recorded::reference(schema) else { return self.inlined(schema, preserve) };
        let named = self.named(name);
        // A member may override how its type's members belong together.
        let Some(atomic) = is_atomic_map(schema) else { return named };
        let mut atom = self.atoms.get(named.0).cloned().unwrap_or_default();
        match (&mut atom.map, &mut atom.list) {
            (Some(map), _) => map.atomic = atomic,
            (None, Some(list)) if atomic => list.sort = Sort::Atomic,
            _ => {}
        }
        self.push(atom)
    }

    fn named(&mut self, name: &str) -> Ref {
        if let Some(known) = self.named.get(name) {
            return *known;
        }
        let at = self.push(Atom::default());
        self.named.insert(name.to_owned(), at);
        let atom = match (name, recorded::all().get(name)) {
            (QUANTITY, _) => Atom { scalar: Some(Scalar::Any), ..Atom::default() },
            (RAW_EXTENSION, _) | (_, None) => self.atoms.first().cloned().unwrap_or_default(),
            (_, Some(schema)) => self.atom(schema, false),
        };
        if let Some(place) = self.atoms.get_mut(at.0) {
            *place = atom;
        }
        at
    }

    fn atom(&mut self, schema: &Value, preserve: bool) -> Atom {
        let is = |member: &str| schema[member] == true;
        let preserve = preserve || is("x-kubernetes-preserve-unknown-fields");
        if is("x-kubernetes-embedded-resource") {
            let mut whole = schema.clone();
            if let Value::Object(members) = &mut whole {
                members.remove("x-kubernetes-embedded-resource");
                add_object_members(members);
            }
            return self.atom(&whole, preserve);
        }
        let scalar = |scalar| Atom { scalar: Some(scalar), ..Atom::default() };
        match schema["type"].as_str().unwrap_or_default() {
            "" => Atom {
                scalar: Some(Scalar::Any),
                list: Some(self.list(schema, preserve)),
                map: Some(self.map(schema, preserve)),
            },
            "object" => Atom { map: Some(self.map(schema, preserve)), ..Atom::default() },
            "array" => Atom { list: Some(self.list(schema, preserve)), ..Atom::default() },
            "integer" | "number" => scalar(Scalar::Number),
            "boolean" => scalar(Scalar::Truth),
            "string" => match schema["format"].as_str().unwrap_or_default() {
                "" | "byte" => scalar(Scalar::Text),
                _ => scalar(Scalar::Any),
            },
            _ => scalar(Scalar::Any),
        }
    }

    fn map(&mut self, schema: &Value, preserve: bool) -> Members {
        let mut fields = BTreeMap::new();
        let properties = schema["properties"].as_object();
        for (name, member) in properties.into_iter().flatten() {
            let of = self.of(member, preserve);
            let default = member.get("default").cloned();
            fields.insert(name.clone(), Field { of, default });
        }
        let others = match schema.get("additionalProperties") {
            None if preserve || fields.is_empty() => Some(DEDUCED),
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(DEDUCED),
            Some(of) => Some(self.of(of, preserve)),
        };
        Members { fields, others, atomic: is_atomic_map(schema) == Some(true) }
    }

    fn list(&mut self, schema: &Value, preserve: bool) -> List {
        let items = match schema.get("items") {
            Some(items) => self.of(items, preserve),
            None => ATOMIC,
        };
        List { items, sort: sort(schema) }
    }
}

fn is_atomic_map(schema: &Value) -> Option<bool> {
    match schema["x-kubernetes-map-type"].as_str()? {
        "atomic" => Some(true),
        "granular" => Some(false),
        _ => None,
    }
}

fn sort(schema: &Value) -> Sort {
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => Sort::Set,
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
            Sort::Map(keys.filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Some(_) => Sort::Atomic,
        // Older than list types, and still what some lists have alone.
        None => match schema["x-kubernetes-patch-strategy"].as_str() {
            Some("merge" | "merge,retainKeys") => {
                match schema["x-kubernetes-patch-merge-key"].as_str() {
                    Some(key) => Sort::Map(vec![key.to_owned()]),
                    None => Sort::Set,
                }
            }
            _ => Sort::Atomic,
        },
    }
}
