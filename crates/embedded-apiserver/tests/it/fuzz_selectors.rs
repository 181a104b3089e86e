//! Fuzz targets: selectors, compared with a simple model.

use std::collections::BTreeMap;

use http::Method;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::fuzz_target::{MAPS, Target, cases, encoded, names};

type Labels = BTreeMap<&'static str, &'static str>;

/// One requirement, as documented.
#[derive(Debug, Clone)]
enum Requirement {
    Exists(&'static str),
    Absent(&'static str),
    Is(&'static str, &'static str, &'static str),
    IsNot(&'static str, &'static str),
    In(&'static str, Vec<&'static str>),
    NotIn(&'static str, Vec<&'static str>),
    Greater(&'static str, u8),
    Less(&'static str, u8),
}

use Requirement::{Absent, Exists, Greater, In, Is, IsNot, Less, NotIn};

impl Requirement {
    /// Its text, with `gap` where whitespace is allowed.
    fn text(&self, gap: &str) -> String {
        let list = |values: &[&str]| values.join(&format!("{gap},{gap}"));
        match self {
            Exists(key) => (*key).to_owned(),
            Absent(key) => format!("!{gap}{key}"),
            Is(key, sign, value) => format!("{key}{gap}{sign}{gap}{value}"),
            IsNot(key, value) => format!("{key}{gap}!={gap}{value}"),
            In(key, values) => format!("{key} in{gap}({gap}{}{gap})", list(values)),
            NotIn(key, values) => format!("{key} notin{gap}({gap}{}{gap})", list(values)),
            Greater(key, bound) => format!("{key}{gap}>{gap}{bound}"),
            Less(key, bound) => format!("{key}{gap}<{gap}{bound}"),
        }
    }

    fn holds(&self, labels: &Labels) -> bool {
        let number = |key: &str| labels.get(key).and_then(|value| value.parse::<i64>().ok());
        match self {
            Exists(key) => labels.contains_key(key),
            Absent(key) => !labels.contains_key(key),
            Is(key, _, value) => labels.get(key) == Some(value),
            IsNot(key, value) => labels.get(key) != Some(value),
            In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            NotIn(key, values) => !labels.get(key).is_some_and(|value| values.contains(value)),
            Greater(key, bound) => number(key).is_some_and(|number| number > i64::from(*bound)),
            Less(key, bound) => number(key).is_some_and(|number| number < i64::from(*bound)),
        }
    }
}

const KEYS: [&str; 4] = ["a", "example.com/b", "in", "notin"];
const VALUES: [&str; 6] = ["", "x", "y.z_1", "5", "12", "in"];

fn requirement() -> impl Strategy<Value = Requirement> {
    let (key, value) = (select(&KEYS[..]), select(&VALUES[..]));
    let values = || prop::collection::vec(select(&VALUES[..]), 1..5);
    prop_oneof![
        key.clone().prop_map(Exists),
        key.clone().prop_map(Absent),
        (key.clone(), select(vec!["=", "=="]), value.clone())
            .prop_map(|(key, sign, value)| Is(key, sign, value)),
        (key.clone(), value).prop_map(|(key, value)| IsNot(key, value)),
        (key.clone(), values()).prop_map(|(key, values)| In(key, values)),
        (key.clone(), values()).prop_map(|(key, values)| NotIn(key, values)),
        (key.clone(), 0..20_u8).prop_map(|(key, bound)| Greater(key, bound)),
        (key, 0..20_u8).prop_map(|(key, bound)| Less(key, bound)),
    ]
}

fn labels() -> impl Strategy<Value = Labels> {
    prop::collection::btree_map(select(&KEYS[..]), select(&VALUES[..]), 0..4)
}

/// An almost valid selector.
fn nearly() -> impl Strategy<Value = String> {
    let token = select(vec![
        "a",
        "b/c",
        "x",
        "5",
        "in",
        "notin",
        "exists",
        "(",
        ")",
        ",",
        "=",
        "==",
        "!=",
        "!",
        ">",
        "<",
        "gt",
        " ",
        "\t",
        "\\",
        "\\,",
        "\\=",
        "metadata.name",
        "metadata.namespace",
        "spec.nodeName",
        "status.phase",
        "é",
        "\0",
        "\"",
        "..",
        "A/B/C",
    ]);
    prop_oneof![3 => prop::collection::vec(token, 0..10).prop_map(|tokens| tokens.concat()), 1 => "\\PC{0,20}"]
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn a_label_selector_selects_what_it_says(
        objects in prop::collection::vec(labels(), 1..8),
        selectors in prop::collection::vec((prop::collection::vec(requirement(), 1..4), "[ \t]{0,2}"), 40),
    ) {
        let target = Target::new();
        for (at, labels) in objects.iter().enumerate() {
            let object = json!({ "metadata": { "name": format!("o{at}"), "labels": labels } });
            let path = "/api/v1/namespaces/kube-public/configmaps";
            prop_assert_eq!(target.json(Method::POST, path, "application/json", object.to_string())?.code, 201);
        }
        for (requirements, gap) in selectors {
            let texts: Vec<String> = requirements.iter().map(|requirement| requirement.text(&gap)).collect();
            let selector = texts.join(&format!("{gap},{gap}"));
            let uri = format!("/api/v1/namespaces/kube-public/configmaps?labelSelector={}", encoded(&selector));
            let answer = target.get(&uri)?;
            prop_assert_eq!(answer.code, 200, "{:?}: {}", &selector, &answer.text);
            let selected = |(_, labels): &(usize, &Labels)| requirements.iter().all(|one| one.holds(labels));
            let expected: Vec<String> =
                objects.iter().enumerate().filter(selected).map(|(at, _)| format!("o{at}")).collect();
            prop_assert_eq!(names(&answer.json()), expected, "{:?}", selector);
        }
    }

    #[test]
    fn what_is_nearly_a_selector_is_read_or_refused(selectors in prop::collection::vec((nearly(), nearly()), 60)) {
        let target = Target::new();
        for (labels, fields) in selectors {
            let (labels, fields) = (encoded(&labels), encoded(&fields));
            for path in [MAPS, "/api/v1/pods", "/api/v1/nodes"] {
                let listed = target.get(&format!("{path}?labelSelector={labels}&fieldSelector={fields}"))?;
                prop_assert!(matches!(listed.code.as_u16(), 200 | 400), "{:?}", listed);
                let watched = format!(
                    "{path}?watch=1&resourceVersion=0&timeoutSeconds=1&labelSelector={labels}&fieldSelector={fields}"
                );
                let watched = target.get(&watched)?;
                prop_assert_eq!(watched.code, listed.code, "a watch reads it as a list does");
                if listed.code == 200 {
                    let shown = |line: Value| line["object"]["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                    let mut shown: Vec<String> = watched.lines().into_iter().map(shown).collect();
                    shown.sort();
                    prop_assert_eq!(shown, names(&listed.json()));
                }
            }
        }
    }
}
