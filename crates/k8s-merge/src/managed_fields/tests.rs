//! The rules of ownership against naive models, and what a client may send against them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::managed_fields::{
    ApplyError, ApplyOutcome, Converter, Element, ManagedFields, Operation, RequestedFields, Set,
    Types, apply, scale, update,
};
use crate::{Object, Schema};

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

fn encoded(set: &Set) -> String {
    let mut out = String::new();
    set.encode(&mut out);
    out
}

fn decode(fields: &str) -> Result<Set, String> {
    Set::decode(&serde_json::from_str(fields).expect("JSON"))
}

#[test]
fn steps_are_ordered_as_the_real_server_writes_them() {
    let text = r#"{"f:a":{},"f:b":{".":{},"k:{\"port\":9,\"protocol\":\"TCP\"}":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{},"v:9":{},"v:10":{},"v:\"a\"":{},"v:true":{},"i:2":{}}}"#;
    assert_eq!(encoded(&decode(text).expect("it is fieldsV1")), text);
}

#[test]
fn steps_read_as_paths_for_people() {
    let set = decode(
        r#"{"f:spec":{"f:c":{"k:{\"name\":\"a\",\"port\":80}":{"f:image":{}},"v:\"x\"":{},"i:3":{}}}}"#,
    );
    let paths: Vec<_> = set.expect("fieldsV1").paths().iter().map(ToString::to_string).collect();
    assert_eq!(paths, [".spec.c[=\"x\"]", ".spec.c[3]", ".spec.c[name=\"a\",port=80].image"]);
}

#[test]
fn text_that_html_would_end_on_is_escaped_as_go_does() {
    let mut out = String::new();
    Element::Value(json!("<a>&")).write(&mut out);
    assert_eq!(out, r#""v:\"\\u003ca\\u003e\\u0026\"""#);
}

#[test]
fn hostile_fields_are_refused_in_clear_words() {
    for (fields, why) in [
        (r#"{"f:a":5}"#, "JSON object"),
        (r#"{"f:a":[]}"#, "JSON object"),
        (r#"{"a":{}}"#, "2 characters"),
        (r#"{"abc":{}}"#, "missing colon"),
        (r#"{"k:{":{}}"#, "parsing"),
        (r#"{"k:5":{}}"#, "a key is a JSON object"),
        (r#"{"v:":{}}"#, "parsing"),
        (r#"{"i:x":{}}"#, "invalid digit"),
        (r#"{"i:99999999999999999999":{}}"#, "too large"),
    ] {
        let error = decode(fields).expect_err(fields);
        assert!(error.contains(why), "{fields}: {error}");
    }
    assert_eq!(
        decode(r#"{"x:a":{"f:b":7}}"#),
        Ok(Set::empty()),
        "a later version's steps are left out"
    );
    assert_eq!(decode("null"), Ok(Set::empty()));
}

#[test]
fn deep_and_huge_fields_are_read_in_one_pass() {
    let deep = format!("{}{}{}", "{\"f:a\":".repeat(120), "{}", "}".repeat(120));
    assert_eq!(encoded(&decode(&deep).expect("deep")), deep);
    let members: Vec<_> = (0..100_000).rev().map(|at| format!("\"f:k{at}\":{{}}")).collect();
    let huge = decode(&format!("{{{}}}", members.join(","))).expect("huge");
    assert_eq!(huge.paths().len(), 100_000);
    assert!(huge.difference(&huge).is_empty());
}

/// A path of one to three steps of every sort.
fn paths() -> impl Strategy<Value = BTreeSet<Vec<Element>>> {
    let element = prop_oneof![
        "[a-c]".prop_map(|name| Element::field(&name)),
        (0..3_i64).prop_map(|port| Element::Key(vec![("port".to_owned(), port.into())])),
        prop_oneof![Just(json!(1)), Just(json!("a")), Just(json!(false))].prop_map(Element::Value),
        (0..2_i64).prop_map(Element::Index),
    ];
    proptest::collection::btree_set(proptest::collection::vec(element, 1..4), 0..12)
}

fn set_of(paths: &BTreeSet<Vec<Element>>) -> Set {
    paths.iter().fold(Set::empty(), |set, path| set.union(&Set::of_path(path)))
}

fn paths_of(set: &Set) -> BTreeSet<Vec<Element>> {
    set.paths().into_iter().map(|path| path.0).collect()
}

proptest! {
    #[test]
    fn sets_are_sets_of_paths(a in paths(), b in paths()) {
        let (x, y) = (set_of(&a), set_of(&b));
        prop_assert_eq!(&paths_of(&x), &a);
        prop_assert_eq!(paths_of(&x.union(&y)), a.union(&b).cloned().collect());
        prop_assert_eq!(paths_of(&x.intersection(&y)), a.intersection(&b).cloned().collect());
        prop_assert_eq!(paths_of(&x.difference(&y)), a.difference(&b).cloned().collect());
        let below = |path: &&Vec<Element>| !b.iter().any(|gone| path.starts_with(gone));
        let mut left = x.clone();
        left.subtract_with_all_below(&y);
        prop_assert_eq!(paths_of(&left), a.iter().filter(below).cloned().collect());
        for path in a.union(&b) {
            prop_assert_eq!(x.has_path(path), a.contains(path));
        }
    }

    #[test]
    fn fields_come_back_as_they_were_written(a in paths()) {
        let set = set_of(&a);
        prop_assert_eq!(decode(&encoded(&set)), Ok(set));
    }

    #[test]
    fn no_fields_whatever_panic(text in ".{0,40}", sort in "[fkviz:]{0,3}") {
        let fields = json!({ format!("{sort}{text}"): { text: null } });
        if let Ok(set) = Set::decode(&fields) {
            prop_assert_eq!(decode(&encoded(&set)), Ok(set));
        }
    }
}

fn of_schema(schema: &Value) -> Types {
    let object_meta = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta".to_owned();
    let definitions = Object::from_iter([(name, object_meta)]);
    Types::of_custom_resource(Schema::new(schema, &definitions))
}

fn tracker() -> Types {
    let text = json!({ "type": "string" });
    let named = json!({ "type": "object", "properties": { "name": text, "value": text } });
    of_schema(&json!({
        "type": "object",
        "properties": {
            "map": { "type": "object", "additionalProperties": text },
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": text },
            "items": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": named,
            },
            "atomic": { "type": "array", "x-kubernetes-list-type": "atomic", "items": text },
        },
    }))
}

fn with_operation<T>(types: &Types, manager: &str, run: impl FnOnce(&Operation<'_>) -> T) -> T {
    run(&Operation::new(types, "v1", "Tracker", manager, Timestamp::UNIX_EPOCH))
}

/// The content of an object, as facts: an entry of the map with its value, an item of the set, an
/// item of the list, the value of an item, the atomic list.
type Facts = BTreeMap<(&'static str, String), String>;

fn to_object(facts: &Facts) -> Object {
    let mut map = serde_json::Map::new();
    let (mut set, mut items, mut atomic) = (Vec::new(), BTreeMap::new(), None);
    for ((sort, name), value) in facts {
        match *sort {
            "map" => drop(map.insert(name.clone(), value.as_str().into())),
            "set" => set.push(name.clone()),
            "item" => drop(items.entry(name).or_insert_with(|| json!({ "name": name }))),
            "value" => {
                items.entry(name).or_insert_with(|| json!({ "name": name }))["value"] =
                    value.as_str().into();
            }
            _ => atomic = Some(json!([value])),
        }
    }
    let mut all = Object::new();
    if !map.is_empty() {
        all.insert("map".to_owned(), map.into());
    }
    if !set.is_empty() {
        all.insert("set".to_owned(), set.into());
    }
    if !items.is_empty() {
        all.insert("items".to_owned(), items.into_values().collect());
    }
    if let Some(atomic) = atomic {
        all.insert("atomic".to_owned(), atomic);
    }
    all
}

fn to_facts(object: &Object) -> Facts {
    let mut facts = Facts::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (name, value) in object.get("map").and_then(Value::as_object).into_iter().flatten() {
        facts.insert(("map", name.clone()), text(value));
    }
    for item in object.get("set").and_then(Value::as_array).into_iter().flatten() {
        assert!(
            facts.insert(("set", text(item)), String::new()).is_none(),
            "nothing is in a set twice: {object:?}"
        );
    }
    for item in object.get("items").and_then(Value::as_array).into_iter().flatten() {
        let name = text(&item["name"]);
        assert!(
            facts.insert(("item", name.clone()), String::new()).is_none(),
            "no key is there twice: {object:?}"
        );
        if let Some(value) = item.get("value") {
            facts.insert(("value", name), text(value));
        }
    }
    if let Some(list) = object.get("atomic").and_then(Value::as_array) {
        facts.insert(("atomic", String::new()), text(&list[0]));
    }
    facts
}

fn path_of((sort, name): &(&'static str, String)) -> Vec<Element> {
    let key = || Element::Key(vec![("name".to_owned(), name.as_str().into())]);
    match *sort {
        "map" => vec![Element::field("map"), Element::field(name)],
        "set" => vec![Element::field("set"), Element::Value(name.as_str().into())],
        "item" => vec![Element::field("items"), key()],
        "value" => vec![Element::field("items"), key(), Element::field("value")],
        _ => vec![Element::field("atomic")],
    }
}

/// A naive model of ownership: each fact belongs to the managers that have written it last.
#[derive(Debug, Default, Clone)]
struct Model {
    facts: Facts,
    appliers: BTreeMap<String, BTreeSet<(&'static str, String)>>,
    updaters: BTreeMap<String, BTreeSet<(&'static str, String)>>,
}

impl Model {
    fn others(&self, but: &str) -> impl Iterator<Item = &BTreeSet<(&'static str, String)>> {
        let appliers =
            self.appliers.iter().filter(move |(name, _)| *name != but).map(|(_, owned)| owned);
        appliers.chain(self.updaters.values())
    }

    /// Whether it is refused.
    fn apply(&mut self, manager: &str, config: &Facts, force: bool) -> bool {
        let differs = |fact: &(&'static str, String)| self.facts.get(fact) != config.get(fact);
        let changed: BTreeSet<_> = config.keys().filter(|fact| differs(fact)).cloned().collect();
        if !force && self.others(manager).any(|owned| !owned.is_disjoint(&changed)) {
            return true;
        }
        let last = self.appliers.get(manager).cloned().unwrap_or_default();
        let abandoned = last.iter().filter(|fact| !config.contains_key(*fact));
        let kept_by_others =
            |fact: &(&'static str, String)| self.others(manager).any(|owned| owned.contains(fact));
        let gone: Vec<_> = abandoned.filter(|fact| !kept_by_others(fact)).cloned().collect();
        self.facts.retain(|fact, _| !gone.contains(fact));
        // An item is removed with its members, whichever manager owns those: a manager that wants
        // to keep it must own its key.
        self.facts
            .retain(|(sort, name), _| *sort != "value" || !gone.contains(&("item", name.clone())));
        self.facts.extend(config.clone());
        self.take(&changed);
        self.appliers.insert(manager.to_owned(), config.keys().cloned().collect());
        self.tidy();
        false
    }

    fn update(&mut self, manager: &str, new: Facts) {
        let changed: BTreeSet<_> = new
            .iter()
            .filter(|(fact, value)| self.facts.get(*fact) != Some(value))
            .map(|(fact, _)| fact.clone())
            .collect();
        self.facts = new;
        self.take(&changed);
        self.updaters.entry(manager.to_owned()).or_default().extend(changed);
        self.tidy();
    }

    fn take(&mut self, changed: &BTreeSet<(&'static str, String)>) {
        for owned in self.appliers.values_mut().chain(self.updaters.values_mut()) {
            owned.retain(|fact| !changed.contains(fact));
        }
    }

    /// A fact that is gone has no owner.
    fn tidy(&mut self) {
        for owned in self.appliers.values_mut().chain(self.updaters.values_mut()) {
            owned.retain(|fact| self.facts.contains_key(fact));
        }
    }
}

fn facts() -> impl Strategy<Value = Facts> {
    let fact = ("[a-c]", "[xy]", 0..5_usize);
    proptest::collection::vec(fact, 0..7).prop_map(|facts| {
        let mut all = Facts::new();
        for (name, value, sort) in facts {
            match sort {
                0 => drop(all.insert(("map", name), value)),
                1 => drop(all.insert(("set", name), String::new())),
                2 => drop(all.insert(("item", name), String::new())),
                3 => {
                    all.insert(("item", name.clone()), String::new());
                    all.insert(("value", name), value);
                }
                _ => drop(all.insert(("atomic", String::new()), value)),
            }
        }
        all
    })
}

#[derive(Debug, Clone)]
enum Step {
    Apply(&'static str, Facts, bool),
    Update(&'static str, Facts),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let manager = prop_oneof![Just("a"), Just("b"), Just("c")];
    let step = prop_oneof![
        4 => (manager.clone(), facts(), any::<bool>()).prop_map(|(name, facts, force)| Step::Apply(name, facts, force)),
        1 => (manager, facts()).prop_map(|(name, facts)| Step::Update(name, facts)),
    ];
    proptest::collection::vec(step, 1..14)
}

proptest! {
    #[test]
    fn three_managers_own_what_they_have_said_last(steps in steps()) {
        let types = tracker();
        let mut model = Model::default();
        let mut live: Option<Object> = None;
        let mut owned = ManagedFields::default();
        for step in steps {
            let before = model.clone();
            match &step {
                Step::Apply(name, config, force) => {
                    let applied = with_operation(&types, name, |operation| {
                        apply(operation, live.as_ref(), &owned, &to_object(config), *force)
                    });
                    // The first apply to an object without owners is another test's.
                    prop_assume!(live.is_none() || !owned.is_empty());
                    let refused = model.apply(name, config, *force);
                    match applied {
                        Ok(ApplyOutcome { object, managed }) => {
                            prop_assert!(!refused, "a conflict was expected: {:?} {:?}", before, step);
                            if object.is_some() || live.is_none() {
                                live = Some(object.unwrap_or_default());
                            }
                            owned = managed;
                        }
                        Err(ApplyError::Conflicts(_)) => prop_assert!(refused, "no conflict was expected: {:?} {:?}", before, step),
                        Err(other) => prop_assert!(false, "{:?}", other),
                    }
                }
                Step::Update(name, new) => {
                    prop_assume!(live.is_none() || !owned.is_empty());
                    let to = to_object(new);
                    owned = with_operation(&types, name, |operation| {
                        update(operation, live.as_ref(), &owned, RequestedFields::Unset, &to)
                    }).expect("they fit");
                    live = Some(to);
                    model.update(name, new.clone());
                }
            }
            prop_assert_eq!(live.as_ref().map(to_facts).unwrap_or_default(), model.facts.clone(), "{:?} {:?}", before, step);
            for (applies, owners) in [(true, &model.appliers), (false, &model.updaters)] {
                for (name, facts) in owners {
                    let mut entries = owned.entries();
                    let entry = entries.find(|entry| entry.manager.name == *name && entry.manager.applies == applies);
                    let has = |fact: &(&'static str, String)| entry.is_some_and(|entry| entry.fields.has_path(&path_of(fact)));
                    for fact in model.facts.keys() {
                        prop_assert_eq!(has(fact), facts.contains(fact), "{} {:?} {:?} {:?}", name, fact, before, step);
                    }
                }
            }
            prop_assert_eq!(ManagedFields::parse(&owned.encode()), owned.clone(), "owners come back as they were written");
        }
    }
}

fn keyed_items_are_compared_merged_and_pruned(count: u32) {
    let types = tracker();
    let items = |range: std::ops::Range<u32>, value: &str| -> Object {
        let items: Vec<_> =
            range.map(|at| json!({ "name": format!("n{at}"), "value": value })).collect();
        object(json!({ "items": items }))
    };
    let first = with_operation(&types, "a", |operation| {
        apply(operation, None, &ManagedFields::default(), &items(0..count, "x"), false)
    });
    let first = first.expect("nobody else is there");
    let live = first.object.expect("it is created");
    let second = with_operation(&types, "b", |operation| {
        apply(operation, Some(&live), &first.managed, &items(count / 2..count / 2 * 3, "y"), true)
    });
    let second = second.expect("by force");
    let live = second.object.expect("it has changed");
    assert_eq!(live["items"].as_array().unwrap().len() as u32, count / 2 * 3);
    let left = with_operation(&types, "a", |operation| {
        apply(operation, Some(&live), &second.managed, &Object::new(), false)
    });
    let left = left.expect("leaving is no conflict").object.expect("it has changed");
    assert_eq!(left["items"].as_array().unwrap().len() as u32, count);
}

#[test]
fn a_thousand_keyed_items_are_compared_merged_and_pruned() {
    keyed_items_are_compared_merged_and_pruned(1_000);
}

/// Played by the stage `properties`.
mod long {
    #[test]
    fn ten_thousand_keyed_items_are_compared_merged_and_pruned() {
        super::keyed_items_are_compared_merged_and_pruned(10_000);
    }
}

#[test]
fn a_schema_that_becomes_atomic_makes_one_field_of_many() {
    let granular = tracker();
    let made = with_operation(&granular, "a", |operation| {
        update(
            operation,
            None,
            &ManagedFields::default(),
            RequestedFields::Unset,
            &object(json!({ "map": { "a": "1", "b": "1" } })),
        )
    });
    let made = made.expect("it fits");
    let atomic = of_schema(&json!({ "type": "object", "properties": {
        "map": { "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": { "type": "string" } },
    } }));
    let live = object(json!({ "map": { "a": "1", "b": "1" } }));
    let conflict = with_operation(&atomic, "b", |operation| {
        apply(operation, Some(&live), &made, &object(json!({ "map": { "a": "2" } })), false)
    });
    let Err(ApplyError::Conflicts(conflicts)) = conflict else { panic!("{conflict:?}") };
    assert_eq!(
        conflicts.iter().map(|conflict| conflict.path.to_string()).collect::<Vec<_>>(),
        [".map"]
    );
}

#[test]
fn recursive_types_end() {
    let widget =
        object(json!({ "metadata": { "name": "a" }, "spec": { "x": { "y": [1, { "z": 2 }] } } }));
    let types = of_schema(&json!({}));
    assert_eq!(types.zero(), &Object::new());
    assert_eq!(
        encoded(&types.fields_of(&widget)),
        r#"{"f:metadata":{"f:name":{}},"f:spec":{".":{},"f:x":{".":{},"f:y":{}}}}"#
    );
}

#[test]
fn replicas_go_to_the_scale_and_back() {
    let path = vec![Element::field("spec"), Element::field("replicas")];
    let paths = BTreeMap::from([("v1".to_owned(), Some(path))]);
    let entry = |name: &str, operation: &str, fields: Value| {
        json!({
            "manager": name, "operation": operation, "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    };
    let replicas = json!({ "f:spec": { "f:replicas": {}, "f:other": {} } });
    let owned = ManagedFields::decode(&[
        entry("a", "Apply", replicas.clone()),
        entry("u", "Update", replicas),
    ]);
    let owned = owned.expect("entries");
    let of_scale = scale::of_scale(&owned, &paths);
    let versions: Vec<_> = of_scale.entries().map(|entry| &*entry.version).collect();
    assert_eq!(versions, [scale::SCALE, scale::SCALE]);
    // Nobody has written: appliers keep their entry, updaters lose and get back the one field.
    let back = scale::of_object(&owned, &of_scale, "v1", &paths);
    let fields = |managed: &ManagedFields, name: &str| {
        let entry = managed.entries().find(|entry| entry.manager.name == name);
        entry.map(|entry| encoded(&entry.fields)).unwrap_or_default()
    };
    assert_eq!(fields(&back, "a"), fields(&owned, "a"));
    // Somebody else has: the field leaves both.
    let spec = json!({ "properties": { "replicas": { "type": "integer" } } });
    let types = of_schema(&json!({ "properties": { "spec": spec } }));
    let live = object(json!({ "spec": { "replicas": 1 } }));
    let written = with_operation(&types, "s", |operation| {
        update(
            &Operation { version: scale::SCALE, ..*operation }.subresource("scale"),
            Some(&live),
            &of_scale,
            RequestedFields::Unset,
            &object(json!({ "spec": { "replicas": 2 } })),
        )
    });
    let written = written.expect("both fit");
    let back = scale::of_object(&owned, &written, "v1", &paths);
    assert_eq!(fields(&back, "a"), r#"{"f:spec":{"f:other":{}}}"#);
    assert_eq!(fields(&back, "u"), r#"{"f:spec":{"f:other":{}}}"#);
    assert_eq!(fields(&back, "s"), r#"{"f:spec":{"f:replicas":{}}}"#);
}

mod fuzz;

/// `v1` has `color`, `v2` has `colour`.
#[derive(Debug)]
struct Colors;

impl Converter for Colors {
    fn convert(&self, object: &Object, _from: &str, to: &str) -> Option<Object> {
        let mut object = object.clone();
        let color = object.remove("color").or_else(|| object.remove("colour"));
        let name = if to == "v1" { "color" } else { "colour" };
        object.extend(color.map(|color| (name.to_owned(), color)));
        Some(object)
    }
}

#[test]
fn owners_are_compared_in_their_own_version() {
    let types = Types::deduced();
    let now = Timestamp::UNIX_EPOCH;
    let others = |version: &str| BTreeMap::from([(version.to_owned(), &types)]);
    let (v1, v2) = (others("v1"), others("v2"));
    let one = Operation::new(&types, "v1", "Thing", "one", now).other_versions(&v2);
    let two = Operation::new(&types, "v2", "Thing", "two", now).other_versions(&v1);
    let (one, two) = (one.converter(&Colors), two.converter(&Colors));
    let red = object(json!({ "color": "red" }));
    let made = apply(&one, None, &ManagedFields::default(), &red, false).unwrap();
    let live = object(json!({ "colour": "red" }));
    let blue = object(json!({ "colour": "blue" }));
    let refused = apply(&two, Some(&live), &made.managed, &blue, false).unwrap_err();
    assert_eq!(refused.to_string(), "Apply failed with 1 conflict: conflict with \"one\": .color");
    let taken = update(&two, Some(&live), &made.managed, RequestedFields::Unset, &blue).unwrap();
    let owners: Vec<_> = taken.entries().map(|entry| encoded(&entry.fields)).collect();
    assert_eq!(owners, [r#"{"f:colour":{}}"#]);
    // The same manager drops the field in another version.
    let one = Operation::new(&types, "v2", "Thing", "one", now).other_versions(&v1);
    let one = one.converter(&Colors);
    let dropped = apply(&one, Some(&live), &made.managed, &object(json!({})), false).unwrap();
    assert_eq!(dropped.object, Some(object(json!({}))));
}
