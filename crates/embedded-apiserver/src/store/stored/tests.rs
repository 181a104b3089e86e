//! Stored versions: the parsed fields match the text.

use serde_json::{Map, Value, json};

use crate::api::kind::Kind;
use crate::api::media::Form;
use crate::store::stored::{Key, Stored};

fn kind() -> Kind {
    Kind::namespaced("example.com", "v1", "Widget", "widgets").selectable_field("spec.color")
}

fn stored(revision: u64, object: Value) -> Stored {
    let Value::Object(mut object) = object else { panic!("an object") };
    Stored::new(&kind(), Key::new("n", "a"), revision, &mut object, "")
}

fn whole(stored: &Stored) -> Value {
    serde_json::from_slice(&stored.to_bytes(&kind(), Form::Full)).expect("JSON")
}

#[test]
fn labels_fields_and_uid_are_those_of_the_text() {
    let object = json!({
        "metadata": { "name": "a", "uid": "u-1", "labels": { "app": "web", "empty": "" } },
        "spec": { "color": "red \u{0} \"quoted\"" },
    });
    let stored = stored(7, object);
    assert_eq!(
        (stored.uid(), stored.label("app"), stored.label("empty")),
        ("u-1", Some("web"), Some(""))
    );
    assert_eq!((stored.label("ap"), stored.label("web")), (None, None));
    assert_eq!(stored.field("spec.color"), "red \u{0} \"quoted\"");
    assert_eq!((&*stored.field("metadata.name"), &*stored.field("metadata.namespace")), ("a", "n"));
}

#[test]
fn another_revision_changes_the_version_and_nothing_else() {
    for (from, to) in [(9, 10), (10, 9), (99, 1_000_000), (5, 6)] {
        let object = json!({
            "metadata": { "name": "a", "annotations": { "resourceVersion": "9" }, "uid": "u-1", "labels": { "a": "b" } },
            "spec": { "color": "red", "resourceVersion": "9" },
        });
        let old = stored(from, object);
        let new = old.at_revision(&kind(), to);
        let mut wanted = whole(&old);
        wanted["metadata"]["resourceVersion"] = to.to_string().into();
        assert_eq!(whole(&new), wanted);
        assert_eq!((new.revision, new.uid(), new.label("a")), (to, "u-1", Some("b")));
        let metadata: Value =
            serde_json::from_slice(&new.to_bytes(&kind(), Form::Metadata)).expect("JSON");
        assert_eq!(metadata["metadata"], wanted["metadata"]);
        let again = new.at_revision(&kind(), from);
        assert_eq!(again.to_bytes(&kind(), Form::Full), old.to_bytes(&kind(), Form::Full));
    }
}

#[test]
fn an_object_without_anything_is_written_and_read() {
    let stored = Stored::new(&kind(), Key::new("", "a"), 0, &mut Map::new(), "");
    assert_eq!((stored.uid(), &*stored.field("spec.color")), ("", ""));
    assert_eq!(Value::Object(stored.object()), json!({ "metadata": {} }));
    assert_eq!(stored.at_revision(&kind(), 3).object()["metadata"]["resourceVersion"], "3");
}

#[test]
fn keys_are_in_the_order_of_etcd() {
    let mut keys = [("a", "x"), ("a-b", "x"), ("a.b", "x"), ("a", "x-y"), ("ab", "x"), ("", "z")]
        .map(|(namespace, name)| Key::new(namespace, name));
    keys.sort();
    let paths = keys.each_ref().map(Key::path);
    assert_eq!(paths, ["/z", "a-b/x", "a.b/x", "a/x", "a/x-y", "ab/x"]);
    assert_eq!(keys.each_ref().map(Key::namespace), ["", "a-b", "a.b", "a", "a", "ab"]);
    assert_eq!(keys.each_ref().map(Key::name), ["z", "x", "x", "x", "x-y", "x"]);
}
