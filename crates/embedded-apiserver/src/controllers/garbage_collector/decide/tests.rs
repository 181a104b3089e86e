//! Decisions without a server.

use super::*;
use crate::controllers::actors::kinds::Resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::discovery::ApiResource;
use std::sync::Arc;

fn resource(namespaced: bool) -> Arc<Resource> {
    let api = ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        plural: "configmaps".to_owned(),
    };
    Arc::new(Resource { api, namespaced })
}

fn owner(uid: &str, blocks: bool) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: format!("name-of-{uid}"),
        uid: uid.to_owned(),
        block_owner_deletion: Some(blocks),
        controller: None,
    }
}

fn metadata(
    uid: &str,
    owners: &[OwnerReference],
    finalizers: &[&str],
    deleting: bool,
) -> ObjectMeta {
    ObjectMeta {
        name: Some(format!("name-of-{uid}")),
        namespace: Some("n".to_owned()),
        uid: Some(uid.to_owned()),
        owner_references: Some(owners.to_vec()),
        finalizers: Some(finalizers.iter().map(|&name| name.to_owned()).collect()),
        deletion_timestamp: deleting.then_some(Time(jiff::Timestamp::UNIX_EPOCH)),
        ..ObjectMeta::default()
    }
}

fn put(graph: &mut Graph, metadata: ObjectMeta) {
    let (uid, node) = Node::new(&resource(true), metadata).unwrap();
    graph.put(uid, node);
}

fn queued(graph: &mut Graph) -> Vec<String> {
    std::iter::from_fn(|| graph.next()).map(|uid| uid.to_string()).collect()
}

#[test]
fn an_object_whose_owners_are_there_needs_nothing() {
    let mut graph = Graph::default();
    put(&mut graph, metadata("o", &[], &[], false));
    put(&mut graph, metadata("d", &[owner("o", false)], &[], false));
    assert!(queued(&mut graph).is_empty(), "an owner that is there is nothing to look at");
    assert_eq!(need(&graph, "d"), Need::Nothing);
    graph.remove("o");
    assert_eq!(queued(&mut graph), ["d"]);
    assert_eq!(need(&graph, "d"), Need::Examination);
    assert_eq!(need(&graph, "nobody"), Need::Nothing);
}

#[test]
fn an_owner_that_is_not_what_it_is_said_to_be_is_asked_for() {
    let mut graph = Graph::default();
    put(&mut graph, metadata("o", &[], &[], false));
    for wrong in [
        OwnerReference { name: "other".to_owned(), ..owner("o", false) },
        OwnerReference { kind: "Secret".to_owned(), ..owner("o", false) },
        OwnerReference { api_version: "apps/v1".to_owned(), ..owner("o", false) },
    ] {
        put(&mut graph, metadata("d", &[wrong], &[], false));
        assert_eq!(need(&graph, "d"), Need::Examination);
    }
    let mut elsewhere = metadata("d", &[owner("o", false)], &[], false);
    elsewhere.namespace = Some("m".to_owned());
    put(&mut graph, elsewhere);
    assert_eq!(need(&graph, "d"), Need::Examination, "an owner in another namespace");
}

#[test]
fn a_foreground_deletion_waits_for_what_blocks_it() {
    let mut graph = Graph::default();
    put(&mut graph, metadata("o", &[], &[], false));
    put(&mut graph, metadata("a", &[owner("o", true)], &[], false));
    put(&mut graph, metadata("b", &[owner("o", false)], &[], false));
    queued(&mut graph);
    put(&mut graph, metadata("o", &[], &["foregroundDeletion"], true));
    assert_eq!(queued(&mut graph), ["a", "b", "o"]);
    assert_eq!(need(&graph, "a"), Need::Examination);
    assert_eq!(need(&graph, "o"), Need::Wait(vec!["a".into()]));
    put(&mut graph, metadata("a", &[owner("o", true)], &["foregroundDeletion"], true));
    assert_eq!(need(&graph, "o"), Need::Wait(vec![]), "it is on its way");
    queued(&mut graph);
    graph.remove("a");
    assert_eq!(queued(&mut graph), ["o"]);
    assert_eq!(need(&graph, "o"), Need::EndOfForeground, "b does not block it");
}

#[test]
fn a_dependent_that_stops_blocking_lets_its_owner_be_looked_at() {
    let mut graph = Graph::default();
    put(&mut graph, metadata("o", &[], &["foregroundDeletion"], true));
    put(&mut graph, metadata("a", &[owner("o", true)], &[], false));
    queued(&mut graph);
    put(&mut graph, metadata("a", &[owner("o", false)], &[], false));
    assert!(queued(&mut graph).contains(&"o".to_owned()));
    assert_eq!(need(&graph, "o"), Need::EndOfForeground);
}

#[test]
fn a_dependent_that_merely_changes_lets_nobody_be_looked_at() {
    let mut graph = Graph::default();
    put(&mut graph, metadata("o", &[], &["foregroundDeletion"], true));
    put(&mut graph, metadata("d", &[owner("o", true)], &[], false));
    queued(&mut graph);
    put(&mut graph, metadata("d", &[owner("o", true)], &["example.com/other"], false));
    assert_eq!(queued(&mut graph), Vec::<String>::new());
}

#[test]
fn orphans_are_all_dependents() {
    let mut graph = Graph::default();
    put(&mut graph, metadata("a", &[owner("o", true)], &[], false));
    put(&mut graph, metadata("b", &[owner("o", false)], &[], false));
    put(&mut graph, metadata("o", &[], &["orphan"], true));
    assert_eq!(need(&graph, "o"), Need::Orphans(vec!["a".into(), "b".into()]));
}

#[test]
fn an_owner_stands_by_its_uid() {
    let reference = owner("o", true);
    assert_eq!(standing(&reference, None), Standing::Absent);
    assert_eq!(standing(&reference, Some(&metadata("other", &[], &[], false))), Standing::Absent);
    assert_eq!(standing(&reference, Some(&metadata("o", &[], &[], false))), Standing::Solid);
    assert_eq!(
        standing(&reference, Some(&metadata("o", &[], &["example.com/f"], true))),
        Standing::Solid
    );
    let waiting = metadata("o", &[], &["foregroundDeletion"], true);
    assert_eq!(standing(&reference, Some(&waiting)), Standing::Waiting);
}

#[test]
fn verdicts() {
    use Standing::{Absent, Solid, Waiting};
    let plain = metadata("d", &[], &[], false);
    let owners = |standings: &[Standing]| -> Vec<_> {
        standings
            .iter()
            .enumerate()
            .map(|(at, standing)| (owner(&at.to_string(), true), *standing))
            .collect()
    };
    let delete = |policy, unblock| Verdict::Delete { policy, unblock };
    for (standings, dependents, expected) in [
        (&[][..], &[][..], Verdict::Keep),
        (&[Solid, Solid], &[], Verdict::Keep),
        (&[Solid, Absent, Waiting], &[], Verdict::Disown(vec!["1".to_owned(), "2".to_owned()])),
        (&[Absent, Absent], &[], delete(Policy::Background, false)),
        (&[Absent], &[Deletion::No], delete(Policy::Background, false)),
        (&[Waiting], &[], delete(Policy::Background, false)),
        (&[Waiting, Absent], &[Deletion::No], delete(Policy::Foreground, false)),
        (&[Waiting], &[Deletion::Foreground], delete(Policy::Foreground, true)),
    ] {
        assert_eq!(
            verdict(&plain, &owners(standings), dependents),
            expected,
            "{standings:?} {dependents:?}"
        );
    }
    let orphaning = metadata("d", &[], &["orphan"], false);
    assert_eq!(verdict(&orphaning, &owners(&[Absent]), &[]), delete(Policy::Orphan, false));
    let foreground = metadata("d", &[], &["foregroundDeletion"], false);
    assert_eq!(verdict(&foreground, &owners(&[Absent]), &[]), delete(Policy::Foreground, false));
}

#[test]
fn a_reference_into_another_namespace_is_told_once_whichever_end_is_seen_first() {
    let elsewhere =
        |metadata: ObjectMeta| ObjectMeta { namespace: Some("elsewhere".to_owned()), ..metadata };
    let told = |graph: &mut Graph| {
        let all = std::iter::from_fn(|| graph.next_misplaced());
        all.map(|one| format!("{} {}", one.dependent, one.owner.uid)).collect::<Vec<_>>()
    };
    let dependent = || metadata("d", &[owner("o", false), owner("p", false)], &[], false);
    let mut graph = Graph::default();
    put(&mut graph, elsewhere(metadata("o", &[], &[], false)));
    put(&mut graph, elsewhere(metadata("p", &[], &[], false)));
    put(&mut graph, dependent());
    assert_eq!(told(&mut graph), ["d o"], "of several the first");
    put(&mut graph, dependent());
    put(&mut graph, elsewhere(metadata("o", &[], &[], false)));
    assert!(told(&mut graph).is_empty(), "no end is new");

    let mut graph = Graph::default();
    put(&mut graph, dependent());
    put(&mut graph, elsewhere(metadata("o", &[], &[], false)));
    put(&mut graph, metadata("p", &[], &[], false));
    assert_eq!(told(&mut graph), ["d o"]);

    let mut graph = Graph::default();
    let other_name = OwnerReference { name: "other".to_owned(), ..owner("q", false) };
    put(&mut graph, metadata("q", &[], &[], false));
    put(&mut graph, elsewhere(metadata("o", &[], &[], false)));
    put(&mut graph, metadata("d", &[other_name, owner("o", false)], &[], false));
    assert!(told(&mut graph).is_empty(), "the first that is not what it says is another mistake");
    let of_cluster = ObjectMeta { namespace: None, ..metadata("c", &[], &[], false) };
    put(&mut graph, of_cluster);
    put(&mut graph, metadata("e", &[owner("c", false)], &[], false));
    assert!(told(&mut graph).is_empty(), "what is in no namespace may own from any");
}
