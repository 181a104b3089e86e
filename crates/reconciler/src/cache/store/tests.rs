//! Tests of the store: each rule by hand, then random histories against a model of a server.

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

use super::*;
use crate::ChangeKind;

fn object(name: &str, uid: u32, version: u64) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some("ns".into()),
            uid: Some(format!("u{uid}")),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// Indexed by uid, and by the parity of the version.
fn entering(object: ConfigMap) -> Entering<ConfigMap> {
    let meta = &object.metadata;
    let uid = meta.uid.clone().into_iter().collect();
    let parity = version(meta).map(|version| (version % 2).to_string()).into_iter().collect();
    Entering {
        key: ObjectKey::of(&object).unwrap(),
        values: Box::new([uid, parity]),
        object: Arc::new(object),
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("ns", name)
}

fn apply(store: &mut Store<ConfigMap>, name: &str, uid: u32, version: u64) -> Vec<String> {
    shown(&store.apply(entering(object(name, uid, version))))
}

fn list(store: &mut Store<ConfigMap>, objects: &[(&str, u32, u64)]) -> Result<Vec<String>, usize> {
    let mut relist = Relist::new(None);
    for (name, uid, version) in objects {
        relist.object(store, entering(object(name, *uid, *version)));
    }
    store
        .commit(relist, false)
        .map(|changes| shown(&changes))
        .map_err(|(backwards, _)| backwards.objects)
}

fn identity(object: &ConfigMap) -> String {
    let meta = &object.metadata;
    format!(
        "{}.{}.{}",
        meta.name.as_deref().unwrap_or("?"),
        meta.uid.as_deref().unwrap_or("?"),
        meta.resource_version.as_deref().unwrap_or("?")
    )
}

fn shown(changes: &[Change<ConfigMap>]) -> Vec<String> {
    let show = |change: &Change<ConfigMap>| match change.kind() {
        ChangeKind::Appeared => format!("+{}", identity(change.new.as_ref().unwrap())),
        ChangeKind::Vanished => format!("-{}", identity(change.old.as_ref().unwrap())),
        ChangeKind::Changed => {
            format!(
                "{}>{}",
                identity(change.old.as_ref().unwrap()),
                identity(change.new.as_ref().unwrap())
            )
        }
    };
    changes.iter().map(show).collect()
}

fn contents(store: &Store<ConfigMap>) -> Vec<String> {
    store.list().iter().map(|object| identity(object)).collect()
}

#[test]
fn an_older_or_equal_version_of_one_uid_changes_nothing() {
    let mut store = Store::new(2, vec![None]);
    assert_eq!(apply(&mut store, "a", 1, 5), ["+a.u1.5"]);
    assert!(apply(&mut store, "a", 1, 5).is_empty());
    assert!(apply(&mut store, "a", 1, 4).is_empty());
    assert_eq!(apply(&mut store, "a", 1, 10), ["a.u1.5>a.u1.10"], "versions compare as numbers");
}

#[test]
fn another_uid_is_a_deletion_and_an_appearance() {
    let mut store = Store::new(2, vec![None]);
    apply(&mut store, "a", 1, 5);
    assert_eq!(apply(&mut store, "a", 2, 7), ["-a.u1.5", "+a.u2.7"]);
    assert!(apply(&mut store, "a", 1, 6).is_empty(), "the earlier object does not come back");
    assert_eq!(
        apply(&mut store, "a", 9, 7),
        ["-a.u2.7", "+a.u9.7"],
        "one version is no proof of one object"
    );
    assert_eq!(apply(&mut store, "a", 2, 7), ["-a.u9.7", "+a.u2.7"]);
    assert_eq!(list(&mut store, &[("a", 3, 9)]), Ok(vec!["-a.u2.7".into(), "+a.u3.9".into()]));
}

#[test]
fn a_late_deletion_of_the_earlier_object_spares_its_successor() {
    let mut store = Store::new(2, vec![None]);
    apply(&mut store, "a", 2, 7);
    assert!(store.delete(&key("a"), &object("a", 1, 6).metadata).is_none());
    assert!(store.delete(&key("b"), &object("b", 1, 6).metadata).is_none());
    assert_eq!(shown(store.delete(&key("a"), &object("a", 2, 8).metadata).as_slice()), ["-a.u2.7"]);
    assert_eq!(store.len(), 0);
}

#[test]
fn a_deletion_with_the_last_version_of_the_object_counts() {
    let mut store = Store::new(2, vec![None]);
    apply(&mut store, "a", 1, 5);
    assert!(store.delete(&key("a"), &object("a", 1, 4).metadata).is_none());
    assert!(store.delete(&key("a"), &object("a", 1, 5).metadata).is_some());
}

#[test]
fn a_list_tells_what_vanished_changed_and_appeared_and_nothing_else() {
    let mut store = Store::new(2, vec![None]);
    for (name, version) in [("a", 1), ("b", 2), ("c", 3)] {
        apply(&mut store, name, 1, version);
    }
    let changes = list(&mut store, &[("b", 1, 2), ("c", 1, 9), ("d", 1, 8)]);
    assert_eq!(changes, Ok(vec!["-a.u1.1".into(), "c.u1.3>c.u1.9".into(), "+d.u1.8".into()]));
    assert_eq!(contents(&store), ["b.u1.2", "c.u1.9", "d.u1.8"]);
    assert_eq!(list(&mut store, &[("b", 1, 2), ("c", 1, 9), ("d", 1, 8)]), Ok(vec![]));
}

#[test]
fn a_list_that_is_older_than_what_is_held_changes_nothing_until_it_is_believed() {
    let mut store = Store::new(2, vec![None]);
    apply(&mut store, "a", 1, 5);
    apply(&mut store, "b", 1, 6);
    assert_eq!(list(&mut store, &[("a", 1, 4)]), Err(1));
    assert_eq!(contents(&store), ["a.u1.5", "b.u1.6"]);
    let mut relist = Relist::new(None);
    relist.object(&store, entering(object("a", 1, 4)));
    let changes = store.commit(relist, true).unwrap();
    assert_eq!(shown(&changes), ["-b.u1.6", "a.u1.5>a.u1.4"]);
}

#[test]
fn a_streaming_list_shows_an_object_in_its_last_version() {
    let mut store = Store::new(2, vec![None]);
    apply(&mut store, "a", 1, 5);
    apply(&mut store, "b", 1, 6);
    let mut relist = Relist::new(None);
    relist.object(&store, entering(object("a", 1, 4)));
    relist.object(&store, entering(object("a", 1, 7)));
    relist.object(&store, entering(object("b", 1, 5)));
    relist.delete(&key("b"));
    relist.object(&store, entering(object("c", 1, 8)));
    relist.undecodable(key("c"));
    let changes = store.commit(relist, false).unwrap();
    assert_eq!(shown(&changes), ["-b.u1.6", "a.u1.5>a.u1.7", "+c.u1.8"]);
}

#[test]
fn an_object_that_does_not_decode_is_neither_taken_over_nor_taken_for_gone() {
    let mut store = Store::new(2, vec![None]);
    apply(&mut store, "a", 1, 5);
    let mut relist = Relist::new(None);
    relist.undecodable(key("a"));
    relist.undecodable(key("b"));
    assert_eq!(shown(&store.commit(relist, false).unwrap()), Vec::<String>::new());
    assert_eq!(contents(&store), ["a.u1.5"]);
}

#[test]
fn versions_that_are_no_numbers_are_newer_whenever_they_differ() {
    let mut store = Store::new(0, vec![None]);
    let with = |version: Option<&str>| {
        let mut object = object("a", 1, 0);
        object.metadata.resource_version = version.map(str::to_owned);
        Entering { key: key("a"), object: Arc::new(object), values: Box::new([]) }
    };
    assert_eq!(store.apply(with(Some("x"))).len(), 1);
    assert_eq!(store.apply(with(Some("x"))).len(), 0);
    assert_eq!(store.apply(with(Some("w"))).len(), 1);
    assert_eq!(store.apply(with(None)).len(), 1);
    assert_eq!(store.apply(with(None)).len(), 1, "no version at all says nothing");
    assert_eq!(store.apply(with(Some("7"))).len(), 1);
}

#[test]
fn indexes_follow_every_change() {
    let mut store = Store::new(2, vec![None]);
    let find = |store: &Store<ConfigMap>, index, value: &str| -> Vec<String> {
        store.by_index(index, value).iter().map(|object| identity(object)).collect()
    };
    apply(&mut store, "b", 1, 2);
    apply(&mut store, "a", 2, 4);
    assert_eq!(find(&store, 1, "0"), ["a.u2.4", "b.u1.2"]);
    apply(&mut store, "a", 2, 5);
    assert_eq!(find(&store, 1, "0"), ["b.u1.2"]);
    assert_eq!(find(&store, 1, "1"), ["a.u2.5"]);
    apply(&mut store, "a", 3, 7);
    assert_eq!(find(&store, 0, "u2"), Vec::<String>::new());
    assert_eq!(find(&store, 0, "u3"), ["a.u3.7"]);
    list(&mut store, &[]).unwrap();
    assert!(store.indexes.iter().all(HashMap::is_empty), "nothing is left behind");
    assert_eq!(find(&store, 9, "u3"), Vec::<String>::new());
}

#[test]
fn a_namespace_is_listed_alone() {
    let mut store: Store<ConfigMap> = Store::new(0, vec![None]);
    for (namespace, name) in [("a", "z"), ("b", "x"), ("b", "y"), ("bb", "x")] {
        let mut object = object(name, 1, 1);
        object.metadata.namespace = Some(namespace.into());
        store.apply(Entering {
            key: ObjectKey::namespaced(namespace, name),
            object: Arc::new(object),
            values: Box::new([]),
        });
    }
    let names: Vec<String> = store.list_in("b").iter().map(|object| identity(object)).collect();
    assert_eq!(names, ["x.u1.1", "y.u1.1"]);
    assert!(store.list_in("c").is_empty());
}

/// One step of a random history.
#[derive(Debug, Clone)]
enum Step {
    /// The server creates or updates the object of this name.
    Write(usize),
    /// The server deletes it.
    Delete(usize),
    /// The watch delivers at most this many of its pending events.
    Deliver(usize),
    /// The watch repeats this many of its last events.
    Repeat(usize),
    /// The watch is cut and a list follows, from a server that lags this many states behind.
    List(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_usize).prop_map(Step::Write),
        2 => (0..4_usize).prop_map(Step::Delete),
        4 => (1..4_usize).prop_map(Step::Deliver),
        1 => (0..8_usize).prop_map(Step::Repeat),
        1 => prop_oneof![3 => Just(0_usize), 1 => 1..6_usize].prop_map(Step::List),
    ]
}

type State = BTreeMap<usize, (u32, u64)>;

/// An event: the object's name, its uid and version unless it is gone, its uid and the event's
/// version.
type Told = (usize, Option<(u32, u64)>, (u32, u64));

/// A server with all its states, the events between them, and the position of the watch.
#[derive(Default)]
struct Server {
    states: Vec<State>,
    events: Vec<Told>,
    uids: u32,
    watched: usize,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

impl Server {
    fn state(&self) -> State {
        self.states.last().cloned().unwrap_or_default()
    }

    fn write(&mut self, name: usize) {
        let revision = self.events.len() as u64 + 1;
        let mut state = self.state();
        let uid = state.get(&name).map_or_else(
            || {
                self.uids += 1;
                self.uids
            },
            |(uid, _)| *uid,
        );
        state.insert(name, (uid, revision));
        self.states.push(state);
        self.events.push((name, Some((uid, revision)), (uid, revision)));
    }

    fn delete(&mut self, name: usize) {
        let revision = self.events.len() as u64 + 1;
        let mut state = self.state();
        if let Some((uid, _)) = state.remove(&name) {
            self.states.push(state);
            self.events.push((name, None, (uid, revision)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::oracle::sequences() / 4))]

    /// Holds for all events that the watch delivers, repeats or misses, and for all lists of a
    /// lagging server:
    ///
    /// - The changes add up to the stored objects.
    /// - No object goes back in time within a uid, not even over a deletion.
    /// - After a list of the present state the cache equals that state.
    #[test]
    fn histories_converge_and_never_go_back(steps in prop::collection::vec(step(), 1..60)) {
        let mut server = Server::default();
        let mut store: Store<ConfigMap> = Store::new(2, vec![None]);
        // A subscriber's knowledge from the changes alone.
        let mut known: BTreeMap<String, (u32, u64)> = BTreeMap::new();
        let mut newest: HashMap<u32, u64> = HashMap::new();
        let hear = |known: &mut BTreeMap<String, (u32, u64)>, newest: &mut HashMap<u32, u64>, changes: Vec<Change<ConfigMap>>| -> Result<(), TestCaseError> {
            for change in changes {
                let parts = |object: &Arc<ConfigMap>| {
                    let meta = &object.metadata;
                    let uid = meta.uid.as_deref().unwrap()[1..].parse::<u32>().unwrap();
                    (meta.name.clone().unwrap(), (uid, version(meta).unwrap()))
                };
                if let Some(old) = &change.old {
                    let (name, old) = parts(old);
                    prop_assert_eq!(known.remove(&name), Some(old), "told of what was not known");
                }
                if let Some(new) = &change.new {
                    let (name, new) = parts(new);
                    prop_assert!(known.insert(name, new).is_none(), "appeared over what was there");
                    let last = newest.entry(new.0).or_insert(0);
                    prop_assert!(new.1 > *last, "went back from {} to {} within one uid", last, new.1);
                    *last = new.1;
                }
            }
            Ok(())
        };
        let deliver = |store: &mut Store<ConfigMap>, event: &Told| {
            let (name, now, (uid, revision)) = event;
            let object = object(NAMES[*name], *uid, *revision);
            match now {
                Some(_) => store.apply(entering(object)),
                None => store.delete(&ObjectKey::of(&object).unwrap(), &object.metadata).into_iter().collect(),
            }
        };
        for step in steps.into_iter().chain([Step::List(0)]) {
            match step {
                Step::Write(name) => server.write(name),
                Step::Delete(name) => server.delete(name),
                Step::Deliver(events) => {
                    for _ in 0..events.min(server.events.len() - server.watched) {
                        hear(&mut known, &mut newest, deliver(&mut store, &server.events[server.watched]))?;
                        server.watched += 1;
                    }
                }
                Step::Repeat(back) => {
                    // Events of objects that are still there: a ghost would need a server that
                    // repeats an object after its deletion, and then the deletion.
                    let from = server.watched.saturating_sub(back);
                    for event in &server.events[from..server.watched] {
                        let uid = format!("u{}", event.2.0);
                        if !store.by_index(0, &uid).is_empty() && event.1.is_some() {
                            prop_assert!(deliver(&mut store, event).is_empty());
                        }
                    }
                }
                Step::List(lag) => {
                    // The watch refuses lists of an older version than it has seen; see `protocol`.
                    let at = server.states.len().saturating_sub(lag).max(server.watched);
                    let state = at.checked_sub(1).map(|at| server.states[at].clone()).unwrap_or_default();
                    let mut relist = Relist::new(None);
                    for (name, (uid, revision)) in &state {
                        relist.object(&store, entering(object(NAMES[*name], *uid, *revision)));
                    }
                    let changes = store.commit(relist, false).map_err(|(backwards, _)| {
                        TestCaseError::fail(format!("a list that is not older was refused: {backwards:?}"))
                    })?;
                    hear(&mut known, &mut newest, changes)?;
                    server.watched = at;
                }
            }
            let mut by_uid = 0;
            for (name, (uid, _)) in &known {
                let found = store.by_index(0, &format!("u{uid}"));
                prop_assert_eq!(found.len(), 1, "what was told of {} is not held", name);
                by_uid += 1;
            }
            prop_assert_eq!(by_uid, store.len(), "something is held that was not told");
        }
        let present: Vec<String> =
            server.state().iter().map(|(name, (uid, revision))| format!("{}.u{uid}.{revision}", NAMES[*name])).collect();
        prop_assert_eq!(contents(&store), present);
    }
}
