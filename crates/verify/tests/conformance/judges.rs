//! The judges see what they are there for.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use verify::histories::{Access, Change, Effect, Kind, Seen, Selection, judge, linearizable};

fn change(kind: Kind, name: &str, version: u64, label: &str) -> Change {
    let object = json!({ "metadata": { "name": name, "resourceVersion": version.to_string(), "labels": { "l": label } } });
    Change { kind, name: name.to_owned(), version, object }
}

fn all() -> Vec<Change> {
    vec![
        change(Kind::Added, "a", 11, "x"),
        change(Kind::Added, "b", 12, "y"),
        change(Kind::Modified, "a", 13, "y"),
        change(Kind::Modified, "a", 14, "x"),
        change(Kind::Deleted, "a", 15, "x"),
    ]
}

fn seen(selection: Selection, changes: Vec<Change>) -> Seen {
    Seen { selection, expired_at: None, is_whole: true, from: 10, state: BTreeMap::new(), changes }
}

fn truth() -> Seen {
    seen(Selection::All, all())
}

fn promise(seen: &Seen) -> String {
    let why = judge(&truth(), seen).unwrap_err();
    why.split(':').next().unwrap_or_default().to_owned()
}

fn broken(selection: Selection, changes: Vec<Change>) -> String {
    promise(&seen(selection, changes))
}

#[test]
fn what_is_as_it_was_promised_passes() {
    judge(&truth(), &seen(Selection::All, all())).unwrap();
    let labelled = vec![
        change(Kind::Added, "a", 11, "x"),
        change(Kind::Bookmark, "", 12, ""),
        change(Kind::Deleted, "a", 13, "x"),
        change(Kind::Added, "a", 14, "x"),
        change(Kind::Deleted, "a", 15, "x"),
    ];
    judge(&truth(), &seen(Selection::Label("l", "x"), labelled)).unwrap();
    judge(&truth(), &seen(Selection::Name("b"), vec![change(Kind::Added, "b", 12, "y")])).unwrap();
}

#[test]
fn each_broken_promise_is_named() {
    let without = |at: usize| {
        all().into_iter().enumerate().filter(|(index, _)| *index != at).map(|(_, c)| c).collect()
    };
    for at in 0..5 {
        assert_eq!(broken(Selection::All, without(at)), "reliable");
    }
    let mut twice = all();
    twice.insert(2, twice[1].clone());
    assert_eq!(broken(Selection::All, twice), "unique");
    let mut swapped = all();
    swapped.swap(1, 2);
    assert_eq!(broken(Selection::All, swapped), "ordered");
    let mut late = all();
    late.insert(3, change(Kind::Bookmark, "", 12, ""));
    assert_eq!(broken(Selection::All, late), "bookmarkable");
    let mut early = all();
    early.insert(2, change(Kind::Bookmark, "", 14, ""));
    assert_eq!(broken(Selection::All, early), "ordered");
    assert_eq!(broken(Selection::Name("b"), all()), "filterable");
    let mut other = all();
    other[2].object["metadata"]["labels"] = Value::Null;
    assert_eq!(broken(Selection::All, other), "reliable");
    let mut kind = all();
    kind[2].kind = Kind::Added;
    assert_eq!(broken(Selection::All, kind), "filterable");
}

/// Who was told after 12 that the history is gone, and listed at 13.
fn relisted() -> [Seen; 2] {
    let first = Seen { is_whole: false, ..seen(Selection::All, all()[..2].to_vec()) };
    let there = [all()[2].clone(), all()[1].clone()].map(|change| (change.name, change.object));
    let rest = Seen { expired_at: Some(12), from: 13, ..seen(Selection::All, all()[3..].to_vec()) };
    [first, Seen { state: there.into(), ..rest }]
}

#[test]
fn a_history_that_is_gone_costs_a_list_and_nothing_else() {
    let [first, rest] = relisted();
    judge(&truth(), &first).unwrap();
    judge(&truth(), &rest).unwrap();

    let early = Seen { changes: all()[1..2].to_vec(), ..first };
    assert_eq!(promise(&early), "reliable", "what it passed it was shown");
    let needless = Seen { expired_at: Some(13), ..rest.clone() };
    assert_eq!(promise(&needless), "resumable", "there was nothing that it could not be shown");
    let lost = Seen { changes: all()[4..].to_vec(), ..rest.clone() };
    assert_eq!(promise(&lost), "reliable");
    let mut stale = rest.clone();
    stale.state.insert("a".to_owned(), all()[0].object.clone());
    assert_eq!(promise(&stale), "listed");
    let mut short = rest;
    short.state.remove("b");
    assert_eq!(promise(&short), "listed");
}

const fn read(sent: u64, answered: u64, version: u64, value: u64) -> Access {
    Access::new(sent, answered, Effect::Read { version, value })
}

const fn wrote(sent: u64, answered: u64, from: Option<u64>, version: u64, value: u64) -> Access {
    Access::new(sent, answered, Effect::Wrote { from, version, value })
}

const fn conflicted(sent: u64, answered: u64, from: u64) -> Access {
    Access::new(sent, answered, Effect::Conflicted { from })
}

#[test]
fn a_register_that_one_thread_could_have_made_passes() {
    let history = [
        read(1, 2, 5, 0),
        wrote(3, 8, Some(5), 6, 1),
        read(4, 5, 5, 0),
        read(6, 7, 6, 1),
        conflicted(9, 10, 5),
        wrote(11, 12, None, 9, 2),
        read(13, 14, 9, 2),
    ];
    linearizable((5, 0), &history).unwrap();
}

#[test]
fn a_register_that_no_thread_could_have_made_is_seen() {
    let wrong = [
        ("a stale read", vec![wrote(1, 2, None, 6, 1), read(3, 4, 5, 0)]),
        ("a read of the future", vec![read(1, 2, 6, 1), wrote(3, 4, None, 6, 1)]),
        ("a lost update", vec![wrote(1, 4, Some(5), 6, 1), wrote(2, 3, Some(5), 7, 2)]),
        ("a wrong value", vec![wrote(1, 2, None, 6, 1), read(3, 4, 6, 2)]),
        ("writes out of order", vec![wrote(1, 2, None, 7, 1), wrote(3, 4, None, 6, 2)]),
        ("reads that go back", vec![wrote(1, 9, None, 6, 1), read(2, 3, 6, 1), read(4, 5, 5, 0)]),
        ("a conflict without a cause", vec![conflicted(1, 2, 5)]),
        ("a version from nowhere", vec![read(1, 2, 8, 1)]),
    ];
    for (what, history) in wrong {
        assert!(linearizable((5, 0), &history).is_err(), "{what}");
    }
}
