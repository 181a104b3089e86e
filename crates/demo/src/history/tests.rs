//! What the record keeps of a series of watch events.

use super::{Counts, History};
use crate::clock;
use std::time::Duration;

#[test]
fn a_claim_is_bound_at_its_first_bound_sight_and_keeps_that_instant() {
    let (mut history, start) = (History::default(), clock::now());
    history.claim("u1", Some("Pending"), None, start);
    history.claim("u1", Some("Bound"), Some("pvc-u1"), start + Duration::from_secs(1));
    history.claim("u1", Some("Bound"), Some("pvc-u1"), start + Duration::from_secs(2));
    let track = history.track("u1").unwrap();
    assert_eq!(track.bound_at, Some(start + Duration::from_secs(1)));
    assert_eq!(track.volumes, ["pvc-u1"]);
    assert_eq!(history.counts().bound, 1);
}

#[test]
fn a_claim_that_changes_its_volume_shows_both() {
    let mut history = History::default();
    for volume in ["a", "a", "b", "a"] {
        history.claim("u1", Some("Bound"), Some(volume), clock::now());
    }
    assert_eq!(history.track("u1").unwrap().volumes, ["a", "b", "a"]);
}

#[test]
fn a_volume_made_again_under_its_name_is_a_second_birth() {
    let mut history = History::default();
    history.volume("pvc-u1", "v1", Some("u1"));
    history.volume("pvc-u1", "v1", Some("u1"));
    history.volume_gone("v1");
    history.volume("pvc-u1", "v2", Some("u1"));
    assert_eq!(history.volume_births().len(), 2);
    assert_eq!(history.counts(), Counts { volumes: 1, ..Counts::default() });
}

#[test]
fn an_empty_holder_is_no_leader() {
    let mut history = History::default();
    history.leader(Some("replica-1"));
    assert_eq!(history.counts().leader.as_deref(), Some("replica-1"));
    history.leader(Some(""));
    assert_eq!(history.counts().leader, None);
}
