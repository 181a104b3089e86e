//! Fuzz targets: bodies. Objects, patches of each type, managedFields, YAML and protobuf, almost
//! valid or almost empty.

use http::Method;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value, json};

use crate::fuzz_target::{MAPS, Target, WIDGETS, cases, encoded, objects};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// Values of an unexpected type.
fn odd() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        select(vec![
            json!(null),
            json!(true),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(1e300),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(""),
            json!("x"),
            json!("a b"),
            json!("\u{0}"),
            json!("é\u{202e}"),
            json!("10Gi"),
            json!("1e400"),
            json!("Always"),
            json!("2026-02-30T00:00:00Z"),
            json!([]),
            json!({}),
            json!([null]),
            json!([{}]),
            json!({ "": null }),
        ]),
        "\\PC{0,12}".prop_map(Value::from),
        "a{250,260}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A known or an arbitrary name of a member.
fn name() -> impl Strategy<Value = String> {
    let known = select(vec![
        "metadata",
        "spec",
        "status",
        "data",
        "name",
        "namespace",
        "generateName",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "managedFields",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "apiVersion",
        "kind",
        "items",
        "containers",
        "ports",
        "template",
        "selector",
        "replicas",
        "rules",
        "color",
        "size",
        "set",
        "list",
        "any",
        "$patch",
        "$retainKeys",
        "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
        "value",
        "binaryData",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,6}", 1 => "[~/0-9a]{0,4}"]
}

/// A change of a place in a document.
#[derive(Debug, Clone)]
enum Change {
    Put(Index, Value),
    Remove(Index),
    Add(Index, String, Value),
    Repeat(Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<Index>;
    let change = prop_oneof![
        3 => (at(), odd()).prop_map(|(at, value)| Change::Put(at, value)),
        1 => at().prop_map(Change::Remove),
        2 => (at(), name(), odd()).prop_map(|(at, name, value)| Change::Add(at, name, value)),
        1 => at().prop_map(Change::Repeat),
    ];
    prop::collection::vec(change, 0..4)
}

/// Pointers to all places of a document.
fn places(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            places(value, &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")), all);
        }),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(at, value)| places(value, &format!("{here}/{at}"), all));
        }
        _ => {}
    }
}

fn changed(mut document: Value, changes: &[Change]) -> Value {
    for change in changes {
        let mut all = Vec::new();
        places(&document, "", &mut all);
        match change {
            Change::Put(at, value) => {
                *document.pointer_mut(at.get(&all).as_str()).expect("a place") = value.clone()
            }
            Change::Add(at, name, value) => match document.pointer_mut(at.get(&all).as_str()) {
                Some(Value::Object(members)) => drop(members.insert(name.clone(), value.clone())),
                Some(Value::Array(items)) => items.push(value.clone()),
                _ => {}
            },
            Change::Repeat(at) => {
                if let Some(Value::Array(items)) = document.pointer_mut(at.get(&all).as_str()) {
                    items.extend(items.clone());
                }
            }
            Change::Remove(at) => {
                let pointer = at.get(&all);
                let Some((parent, last)) = pointer.rsplit_once('/') else { continue };
                match document.pointer_mut(parent) {
                    Some(Value::Object(members)) => {
                        drop(members.remove(&last.replace("~1", "/").replace("~0", "~")))
                    }
                    Some(Value::Array(items)) => {
                        drop(items.remove(last.parse().expect("an index")))
                    }
                    _ => {}
                }
            }
        }
    }
    document
}

/// Truncated, replaced or inserted bytes.
#[derive(Debug, Clone)]
enum Damage {
    None,
    Cut(Index),
    Byte(Index, u8),
    Insert(Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        6 => Just(Damage::None),
        1 => at().prop_map(Damage::Cut),
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..6)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
    ]
}

fn damaged(mut bytes: Vec<u8>, damage: &Damage) -> Vec<u8> {
    match damage {
        Damage::Cut(at) => bytes.truncate(at.index(bytes.len() + 1)),
        Damage::Byte(at, byte) if !bytes.is_empty() => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Damage::Insert(at, more) => {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, more.iter().copied());
        }
        _ => {}
    }
    bytes
}

/// A collection, and a valid object for it.
fn valid() -> impl Strategy<Value = (&'static str, Value)> {
    select(objects())
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn objects_that_are_nearly_right_are_taken_or_refused(
        writes in prop::collection::vec((valid(), changes(), damage(), any::<bool>(), 0..4_u8), 40),
    ) {
        let target = Target::new();
        for ((path, object), changes, damage, yaml, how) in writes {
            let bytes = damaged(changed(object, &changes).to_string().into_bytes(), &damage);
            // JSON is YAML, mostly.
            let media = if yaml { YAML } else { JSON };
            match how {
                0 => target.json(Method::PUT, &format!("{path}/a"), media, bytes)?,
                1 => target.json(Method::PUT, &format!("{path}/b/status?fieldValidation=Strict"), media, bytes)?,
                2 => target.json(Method::PATCH, &format!("{path}/o?fieldManager=m&force=true"), PATCHES[3], bytes)?,
                _ => target.json(Method::POST, path, media, bytes)?,
            };
        }
        reads_what_it_holds(&target)?;
    }

    #[test]
    fn patches_that_are_nearly_right_are_applied_or_refused(
        patches in prop::collection::vec((valid(), select(&PATCHES[..]), changes(), steps(), damage(), any::<bool>()), 40),
    ) {
        let target = Target::new();
        for ((path, object), media, changes, steps, damage, status) in patches {
            let patch = if media == PATCHES[0] { steps } else { changed(object, &changes) };
            let bytes = damaged(patch.to_string().into_bytes(), &damage);
            let part = if status { "/status" } else { "" };
            target.json(Method::PATCH, &format!("{path}/a{part}?fieldManager=m"), media, bytes)?;
        }
        reads_what_it_holds(&target)?;
    }
}

/// Reads a written object as JSON and as YAML. An equal write must not change it.
fn reads_what_it_holds(target: &Target) -> Result<(), TestCaseError> {
    for (path, _) in objects() {
        let list = target.get(path)?;
        prop_assert_eq!(list.code, 200, "{}", &list.text);
        prop_assert_eq!(target.send(Method::GET, path, &[("accept", YAML)], "")?.code, 200);
        for object in list.json()["items"].as_array().into_iter().flatten() {
            // An Event's name may have any character of a path.
            let name = encoded(object["metadata"]["name"].as_str().unwrap_or_default());
            let held = target.get(&format!("{path}/{name}"))?;
            prop_assert_eq!(held.code, 200, "{}", &name);
            // The first write of a claim is always a change. So is that of a custom object with
            // applied empty labels or annotations.
            let first = path.ends_with("/persistentvolumeclaims")
                || path.ends_with("/widgets") && owns_an_empty_map(object);
            let held = if first {
                target.json(Method::PUT, &format!("{path}/{name}"), JSON, held.text)?
            } else {
                held
            };
            let again =
                target.json(Method::PUT, &format!("{path}/{name}"), JSON, held.text.clone())?;
            prop_assert_eq!(again.text, held.text);
        }
    }
    target.serves_others()
}

/// Whether a manager owns empty labels or annotations.
fn owns_an_empty_map(object: &Value) -> bool {
    let entries = object["metadata"]["managedFields"].as_array();
    entries.into_iter().flatten().any(|entry| {
        let owned = &entry["fieldsV1"]["f:metadata"];
        [&owned["f:labels"], &owned["f:annotations"]].into_iter().any(|map| *map == json!({}))
    })
}

/// A JSON patch.
fn steps() -> impl Strategy<Value = Value> {
    let pointer = prop_oneof![
        4 => select(vec!["", "/metadata/labels/app", "/metadata/labels", "/metadata", "/spec", "/data", "/data/k", "/spec/set/-",
            "/spec/set/0", "/spec/set/00", "/spec/set/1", "/spec/containers/0/image", "/metadata/finalizers/-", "/x/y", "/~1", "/~2"])
            .prop_map(str::to_owned),
        1 => prop::collection::vec(name(), 0..4).prop_map(|parts| parts.iter().map(|part| format!("/{part}")).collect()),
        1 => "[/~0-9a-]{0,6}",
    ];
    let op = select(vec!["add", "remove", "replace", "move", "copy", "test", "frob"]);
    let step = (op, pointer.clone(), pointer, odd(), changes()).prop_map(
        |(op, path, from, value, changes)| {
            changed(json!({ "op": op, "path": path, "from": from, "value": value }), &changes)
        },
    );
    prop_oneof![9 => prop::collection::vec(step, 0..4).prop_map(Value::from), 1 => odd()]
}

/// Merge patches as upstream applies them: RFC 7396, but nulls are also removed within lists,
/// unless the list replaces an object.
fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(members) = target else { return pruned(patch) };
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut members = members.clone();
    for (name, value) in patch {
        if value.is_null() {
            members.remove(name);
        } else {
            let before = members.get(name).unwrap_or(&Value::Null);
            members.insert(name.clone(), merged(before, value));
        }
    }
    Value::Object(members)
}

/// Without null members of objects, within lists too.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(name, value)| (name.clone(), pruned(value))).collect())
        }
        Value::Array(items) => items.iter().map(pruned).collect(),
        other => other.clone(),
    }
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![select(vec![
        json!(null),
        json!(1),
        json!("x"),
        json!([]),
        json!([null, { "a": null }]),
        json!(false)
    ])];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|members| json!(members))
    })
}

fn members() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[abc]", tree(), 0..4).prop_map(|members| json!(members))
}

proptest! {
    #![proptest_config(cases(25))]
    #[test]
    fn a_merge_patch_does_what_the_real_server_does(patches in prop::collection::vec(members(), 40)) {
        let target = Target::new();
        let path = format!("{WIDGETS}/a");
        let mut expected = target.get(&path)?.json()["spec"]["any"].clone();
        for patch in patches {
            let body = json!({ "spec": { "any": patch } }).to_string();
            let answer = target.json(Method::PATCH, &path, PATCHES[1], body)?;
            prop_assert_eq!(answer.code, 200, "{}", &answer.text);
            expected = merged(&expected, &patch);
            prop_assert_eq!(&answer.json()["spec"]["any"], &expected, "{}", patch);
        }
    }

    #[test]
    fn what_is_read_as_yaml_is_written_as_it_was(values in prop::collection::vec(members(), 20), text in "\\PC{0,40}") {
        let target = Target::new();
        let path = format!("{WIDGETS}/a");
        for value in values {
            let mut object = target.get(&path)?.json();
            object["spec"]["any"] = json!({ "value": value, "text": text });
            let held = target.json(Method::PUT, &path, JSON, object.to_string())?;
            prop_assert_eq!(held.code, 200, "{}", &held.text);
            let yaml = target.send(Method::GET, &path, &[("accept", YAML)], "")?;
            let again = target.json(Method::PUT, &path, YAML, yaml.text)?;
            prop_assert_eq!(again.text, held.text, "an equal write");
        }
    }
}

/// managedFields that a manager could send.
fn owned_fields() -> impl Strategy<Value = Value> {
    let step = prop_oneof![
        5 => select(vec![
            "f:spec", "f:metadata", "f:labels", "f:data", "f:k", "f:", ".", "f:a:b", "f:\"", "v:1", "v:\"x\"", "v:{}", "v:", "i:0",
            "i:-1", "i:x", "k:{\"name\":\"a\"}", "k:{\"name\":\"a\",\"port\":1}", "k:{}", "k:x", "x:y", "", "f",
        ])
        .prop_map(str::to_owned),
        1 => "[fvki]:\\PC{0,6}",
    ];
    let leaf = prop_oneof![6 => Just(json!({})), 1 => Just(json!(null)), 1 => Just(json!("x"))];
    leaf.prop_recursive(4, 20, 4, move |inner| {
        prop::collection::btree_map(step.clone(), inner, 0..4)
            .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
    })
}

proptest! {
    #![proptest_config(cases(25))]
    #[test]
    fn owned_fields_are_refused_or_kept_as_they_are_written(
        entries in prop::collection::vec((owned_fields(), changes()), 30),
    ) {
        let target = Target::new();
        for (at, (fields, changes)) in entries.into_iter().enumerate() {
            let entry = json!({
                "manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
                "time": "2026-01-02T03:04:05Z",
            });
            let object = |name: String, managed: Value| json!({ "metadata": { "name": name, "managedFields": managed } }).to_string();
            let sent = object(format!("o{at}"), json!([changed(entry, &changes)]));
            let first = target.json(Method::POST, MAPS, JSON, sent)?;
            if first.code != 201 {
                continue;
            }
            let kept = first.json()["metadata"]["managedFields"].clone();
            let second = target.json(Method::POST, MAPS, JSON, object(format!("p{at}"), kept.clone()))?;
            prop_assert_eq!(second.code, 201, "{}", &second.text);
            prop_assert_eq!(&second.json()["metadata"]["managedFields"], &kept);
        }
        target.serves_others()?;
    }
}

/// A field of a protobuf message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length > 127 {
        bytes.push((length & 127 | 128) as u8);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(content);
    bytes
}

/// Nested messages, and malformed ones.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        "[a-z0-9]{0,8}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..12),
        (0..16_u8, any::<u8>()).prop_map(|(number, value)| vec![number << 3, value & 127]),
    ];
    leaf.prop_recursive(5, 30, 4, |inner| {
        prop::collection::vec((1..16_u8, inner), 0..4).prop_map(|fields| {
            fields.iter().flat_map(|(number, content)| field(*number, content)).collect()
        })
    })
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn protobuf_that_is_nearly_right_is_taken_or_refused(
        bodies in prop::collection::vec((message(), damage(), select(vec![
            ("v1", "ConfigMap", MAPS),
            ("v1", "Pod", "/api/v1/namespaces/default/pods"),
            ("apps/v1", "Deployment", "/apis/apps/v1/namespaces/default/deployments"),
            ("coordination.k8s.io/v1", "Lease", "/apis/coordination.k8s.io/v1/namespaces/default/leases"),
            ("v1", "DeleteOptions", MAPS),
        ])), 60),
    ) {
        let target = Target::new();
        for (at, (message, damage, (version, kind, path))) in bodies.into_iter().enumerate() {
            let metadata = field(1, &field(1, format!("n{at}").as_bytes()));
            let content = [metadata, message].concat();
            let types = field(1, &[field(1, version.as_bytes()), field(2, kind.as_bytes())].concat());
            let body = damaged([b"k8s\0".to_vec(), types, field(2, &content)].concat(), &damage);
            let method = if kind == "DeleteOptions" { Method::DELETE } else { Method::POST };
            target.json(method, path, "application/vnd.kubernetes.protobuf", body)?;
        }
        reads_what_it_holds(&target)?;
    }
}
