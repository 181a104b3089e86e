//! Round trips of documents, and the pitfalls of YAML.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{documents, from_json, to_json};
use k8s_value::go_json::shorten_numbers;

fn json_of(yaml: &str) -> Value {
    serde_json::from_slice(&to_json(yaml.as_bytes()).unwrap()).unwrap()
}

#[test]
fn yaml_becomes_the_json_it_means() {
    let yaml = "a: 1\nb: [x, 'y', \"z\"]\nc:\n  d: null\n  e: ~\n  f: true\n  g: 1.5\nh: |\n  two\n  lines\n1: one\ntrue: t\n";
    assert_eq!(
        json_of(yaml),
        json!({
            "a": 1, "b": ["x", "y", "z"], "c": { "d": null, "e": null, "f": true, "g": 1.5 }, "h": "two\nlines\n",
            "1": "one", "true": "t",
        })
    );
    assert_eq!(json_of("{\"a\": {\"b\": []}}"), json!({ "a": { "b": [] } }));
    assert_eq!(json_of(""), Value::Null);
    assert_eq!(
        json_of("base: &b {x: 1}\ncopy: *b\n"),
        json!({ "base": { "x": 1 }, "copy": { "x": 1 } })
    );
}

#[test]
fn documents_as_deep_as_json_may_be_need_no_deep_stack() {
    let nested = |depth: usize| {
        [
            format!("{}1{}", "[".repeat(depth), "]".repeat(depth)),
            format!("{}1{}", "{a: ".repeat(depth), "}".repeat(depth)),
        ]
    };
    // Smaller than the stack of any worker.
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let read = small.spawn(move || {
        for yaml in nested(120) {
            let value = to_json(yaml.as_bytes()).unwrap();
            assert_eq!(super::first_duplicate(yaml.as_bytes()), None);
            assert_eq!(documents(&yaml).unwrap(), [value]);
        }
        for yaml in nested(200) {
            assert!(to_json(yaml.as_bytes()).is_err());
            assert_eq!(super::first_duplicate(yaml.as_bytes()), None);
        }
        let deep: Value =
            serde_json::from_slice(&to_json(nested(120)[0].as_bytes()).unwrap()).unwrap();
        assert_eq!(json_of(&from_json(&deep).unwrap()), deep);
    });
    read.unwrap().join().unwrap();
}

#[test]
fn words_of_old_yaml_are_booleans_and_quoted_ones_texts() {
    assert_eq!(json_of("a: yes\nb: 'yes'\nc: off\n"), json!({ "a": true, "b": "yes", "c": false }));
}

#[test]
fn a_member_that_comes_twice_is_there_twice() {
    assert_eq!(to_json(b"a: 1\na: 2\n").unwrap(), br#"{"a":1,"a":2}"#);
}

#[test]
fn the_first_document_is_read_or_all() {
    assert_eq!(json_of("a: 1\n---\nb: 2\n"), json!({ "a": 1 }));
    let all = documents("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n").unwrap();
    assert_eq!(all, [b"{\"a\":1}".to_vec(), b"{\"b\":2}".to_vec()]);
}

#[test]
fn what_cannot_be_read_is_refused_whatever_its_size() {
    for wrong in ["a: [", "a: b: c", "*nobody", "a: .inf"] {
        assert!(to_json(wrong.as_bytes()).is_err(), "{wrong}");
    }
    assert!(to_json(b"a: \xff").is_err());
    let deep = "[".repeat(100_000);
    assert!(to_json(deep.as_bytes()).is_err());
    let laughs = (1..30).fold("a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned(), |mut text, n| {
        let before = n - 1;
        text.push_str(&format!("a{n}: &a{n} [*a{before}, *a{before}, *a{before}, *a{before}]\n"));
        text
    });
    assert!(to_json(laughs.as_bytes()).is_err());
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no others", |number| number.is_finite())
            .prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[a-c \\n:#-]{60,200}".prop_map(Value::from),
        prop_oneof![
            "yes",
            "0x1f",
            "1e3",
            "null",
            "~",
            "01",
            " a ",
            "a: b",
            "- a",
            "#",
            "a\nb\n",
            "a\n\n",
            "\n",
            "2026-01-02",
            "\t"
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,8}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(mut value in values()) {
        let yaml = from_json(&value).unwrap();
        shorten_numbers(&mut value);
        prop_assert_eq!(json_of(&yaml), value, "{}", yaml);
    }
}
