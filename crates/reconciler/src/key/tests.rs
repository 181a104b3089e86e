//! Tests of `ObjectKey`.

use super::*;

#[test]
fn an_empty_namespace_is_none() {
    let meta = ObjectMeta {
        name: Some("a".into()),
        namespace: Some(String::new()),
        ..ObjectMeta::default()
    };
    assert_eq!(ObjectKey::from_meta(&meta), Some(ObjectKey::cluster("a")));
}

#[test]
fn an_object_without_a_name_has_no_key() {
    assert_eq!(ObjectKey::from_meta(&ObjectMeta::default()), None);
    let meta = ObjectMeta { name: Some(String::new()), ..ObjectMeta::default() };
    assert_eq!(ObjectKey::from_meta(&meta), None);
}

#[test]
fn keys_sort_by_namespace_then_name_and_the_first_of_a_namespace_precedes_all_in_it() {
    let mut keys = [
        ObjectKey::namespaced("b", "a"),
        ObjectKey::namespaced("a", "z"),
        ObjectKey::cluster("z"),
        ObjectKey::first_in("b"),
    ];
    keys.sort();
    let shown: Vec<String> = keys.iter().map(ObjectKey::to_string).collect();
    assert_eq!(shown, ["z", "a/z", "b/", "b/a"]);
}
