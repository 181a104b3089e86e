//! The state: history, old snapshots, compaction.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::store::state::{Changes, Expired, Place, State, Window};
use crate::store::stored::{Key, Stored};
use crate::store::watcher_index::Interest;

fn state(changes: usize) -> State {
    State::new(Window { changes, bytes: usize::MAX })
}

/// Reads after `after`, without waiting.
fn read(state: &mut State, after: u64, max: usize) -> Result<Changes, Expired> {
    let id = state.register_watcher(&kind().storage, Interest::Everything, after);
    let read = state.read(&id, after, max, |_| true, None, &mut None);
    state.unregister_watcher(&id);
    read
}

fn kind() -> Kind {
    Kind::namespaced("example.com", "v1", "Widget", "widgets")
}

fn put(state: &mut State, namespace: &str, name: &str) -> u64 {
    let kind = kind();
    let Value::Object(mut object) = json!({ "metadata": { "name": name } }) else { unreachable!() };
    let stored =
        Stored::new(&kind, Key::new(namespace, name), state.next_revision(), &mut object, "");
    state.put(&kind.storage, Arc::new(stored));
    state.revision()
}

fn remove(state: &mut State, namespace: &str, name: &str) {
    let kind = kind();
    let found = state.get(&kind.storage, &Key::new(namespace, name)).cloned().expect("it is there");
    let last = found.at_revision(&kind, state.next_revision());
    state.remove(&kind.storage, Arc::new(last));
}

fn names(
    state: &State,
    namespace: Option<&str>,
    after: Option<&Key>,
    at: Option<u64>,
) -> Vec<String> {
    let kind = kind();
    // Between this key and the next one.
    let from = after.map(|after| Key::place(&format!("{}\0", after.path())));
    let place = Place { table: &kind.storage, namespace, from: from.as_ref() };
    let snapshot = state.snapshot(&place, at).expect("not expired");
    snapshot.iter().map(|object| object.key.path().to_owned()).collect()
}

#[test]
fn a_snapshot_of_the_past_undoes_what_came_after() {
    let mut state = state(100);
    put(&mut state, "n", "a");
    let then = put(&mut state, "n", "c");
    put(&mut state, "n", "b");
    remove(&mut state, "n", "c");
    put(&mut state, "n", "a");
    put(&mut state, "n", "c");
    assert_eq!(names(&state, None, None, Some(then)), ["n/a", "n/c"]);
    assert_eq!(names(&state, None, None, Some(then + 1)), ["n/a", "n/b", "n/c"]);
    assert_eq!(names(&state, None, None, Some(then + 2)), ["n/a", "n/b"]);
    assert_eq!(names(&state, None, Some(&Key::new("n", "a")), Some(then)), ["n/c"]);
}

#[test]
fn a_namespace_is_a_range_whatever_the_token_says() {
    let mut state = state(100);
    for (namespace, name) in [("a", "x"), ("b", "x"), ("b", "y"), ("bb", "x"), ("c", "x")] {
        put(&mut state, namespace, name);
    }
    assert_eq!(names(&state, Some("b"), None, None), ["b/x", "b/y"]);
    assert_eq!(names(&state, Some("b"), Some(&Key::new("b", "x")), None), ["b/y"]);
    assert_eq!(names(&state, Some("b"), Some(&Key::new("a", "x")), None), ["b/x", "b/y"]);
    assert!(names(&state, Some("b"), Some(&Key::new("c", "x")), None).is_empty());
    assert_eq!(names(&state, None, Some(&Key::new("b", "y")), None), ["bb/x", "c/x"]);
}

#[test]
fn the_window_forgets_the_oldest_changes_only() {
    let mut state = state(2);
    let table = kind().storage;
    let revisions: Vec<_> =
        ["a", "b", "c", "d"].iter().map(|name| put(&mut state, "n", name)).collect();
    assert!(read(&mut state, revisions[0], 10).is_err());
    let kept = read(&mut state, revisions[1], 10).expect("two changes are kept");
    assert_eq!(
        kept.changes.iter().map(|change| change.revision).collect::<Vec<_>>(),
        revisions[2..]
    );
    let first = read(&mut state, revisions[1], 1).expect("as before");
    assert_eq!(
        (first.changes.len(), first.upto),
        (1, revisions[2]),
        "a part is complete up to its last change"
    );
    assert!(
        state
            .snapshot(&Place { table: &table, namespace: None, from: None }, Some(revisions[0]))
            .is_err()
    );
    assert_eq!(names(&state, None, None, Some(revisions[1])), ["n/a", "n/b"]);
}

#[test]
fn a_compaction_reaches_tables_that_do_not_exist_yet() {
    let mut state = state(100);
    let begin = state.revision();
    put(&mut state, "n", "a");
    state.compact();
    assert!(state.can_resume("/never", begin).is_err());
    let now = state.revision();
    assert!(state.can_resume("/never", now).is_ok(), "the newest revision never expires");
    assert!(read(&mut state, now, 10).is_ok());
    assert!(state.can_resume(&kind().storage, begin).is_err());
}

#[test]
fn the_window_is_bounded_by_the_bytes_of_what_is_no_longer_there() {
    let table = kind().storage;
    // One version of `a` is 28 bytes and its digits.
    let mut state = State::new(Window { changes: 100, bytes: 100 });
    let first = put(&mut state, "n", "a");
    assert!(
        state.can_resume(&table, first - 1).is_ok(),
        "what is still there costs the history nothing"
    );
    let second = put(&mut state, "n", "a");
    assert!(state.can_resume(&table, first - 1).is_ok());
    for _ in 0..5 {
        put(&mut state, "n", "a");
    }
    assert!(state.can_resume(&table, second).is_err());
    let newest = state.revision();
    assert!(state.can_resume(&table, newest - 1).is_ok(), "the newest changes fit");

    // A window of no bytes: creates are kept, replacements are not.
    let mut state = State::new(Window { changes: 100, bytes: 0 });
    let first = put(&mut state, "n", "a");
    put(&mut state, "n", "b");
    assert!(state.can_resume(&table, first).is_ok());
    put(&mut state, "n", "a");
    assert!(state.can_resume(&table, first).is_err());
    let newest = state.revision();
    assert!(state.can_resume(&table, newest).is_ok());
}
