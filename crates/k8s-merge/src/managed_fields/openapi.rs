//! The structure of a kind, read from OpenAPI as k8s.io/kube-openapi/pkg/schemaconv does.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use crate::managed_fields::types::Types;
use crate::managed_fields::types::{
    ATOMIC, Atom, DEDUCED, Field, List, Members, Ref, Scalar, Sort,
};
use crate::{Object, Schema};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

impl Types {
    /// The structure of a kind whose schema the API server publishes.
    #[doc(alias = "schemaconv.ToSchemaFromOpenAPI")]
    pub fn of_schema(schema: Schema<'_>) -> Self {
        let mut build = Build {
            atoms: Self::deduced().atoms,
            named: HashMap::new(),
            definitions: schema.definitions,
        };
        let root = build.inlined(schema.value, false);
        Self { atoms: build.atoms, root, zero: Object::new() }
    }

    /// The structure of a custom resource: `openAPIV3Schema` of its definition, with `apiVersion`,
    /// `kind` and `metadata`. An empty schema permits any member.
    ///
    /// Metadata have the definition of `ObjectMeta`. Without it, they are as objects of
    /// [`deduced`](Self::deduced).
    ///
    /// ```
    /// use k8s_merge::managed_fields::Types;
    /// use k8s_merge::{Object, Schema};
    /// use serde_json::json;
    ///
    /// let schema = json!({ "properties": { "spec": { "type": "object" } } });
    /// let types = Types::of_custom_resource(Schema::new(&schema, &Object::new()));
    /// ```
    #[doc(alias = "openAPIV3Schema")]
    pub fn of_custom_resource(schema: Schema<'_>) -> Self {
        let whole = custom_resource(schema.value);
        Self::of_schema(Schema::new(&whole, schema.definitions))
    }
}

/// The schema of a custom resource with the members that every object has.
fn custom_resource(schema: &Value) -> Value {
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

/// An object within an object has these, too.
fn add_object_members(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| Map::new().into());
    if let Value::Object(properties) = properties {
        for member in ["apiVersion", "kind"] {
            properties.insert(member.to_owned(), json!({ "type": "string" }));
        }
        let metadata = json!({ "$ref": format!("#/components/schemas/{OBJECT_META}") });
        properties.insert("metadata".to_owned(), metadata);
    }
}

struct Build<'a> {
    atoms: Vec<Atom>,
    /// The types of definitions, by name.
    named: HashMap<String, Ref>,
    definitions: &'a Object,
}

impl Build<'_> {
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
        let Some(name) = Schema::new(schema, self.definitions).reference() else {
            return self.inlined(schema, preserve);
        };
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
        let definitions = self.definitions;
        let known = |of: Ref| self.atoms.get(of.0).cloned().unwrap_or_default();
        let atom = match (name, definitions.get(name)) {
            (QUANTITY, _) => Atom { scalar: Some(Scalar::Any), ..Atom::default() },
            (OBJECT_META, None) => known(DEDUCED),
            (RAW_EXTENSION, _) | (_, None) => known(ATOMIC),
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
