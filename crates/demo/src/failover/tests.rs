//! Logs written by hand, and what they say about a change of leader.

use super::{Ending, Failover, Signal, failover, overlaps};
use crate::clock;
use crate::requests::Request;
use std::time::{Duration, SystemTime};

fn at(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000 + ms)
}

fn request(ms: u64, user: &str, verb: &str, resource: &str, status: u16) -> Request {
    Request {
        at: at(ms),
        user: user.into(),
        is_replica: user.starts_with("replica"),
        verb: verb.into(),
        resource: resource.into(),
        status: Some(status),
    }
}

fn signal() -> Signal {
    Signal { ending: Ending::Crash, at: at(100), moment: clock::now(), leader: "replica-1".into() }
}

fn log() -> Vec<Request> {
    vec![
        request(50, "replica-1", "create", "persistentvolumes", 201),
        request(101, "replica-1", "patch", "persistentvolumeclaims", 200), /* under way when the
                                                                            * signal came */
        request(110, "writer", "create", "persistentvolumeclaims", 201),
        request(120, "replica-2", "watch", "leases", 200),
        request(4000, "replica-3", "update", "leases", 409),
        request(4001, "replica-2", "update", "leases", 200),
        request(4002, "replica-2", "list", "persistentvolumeclaims", 200),
        request(4003, "replica-2", "create", "events", 201),
        request(4004, "replica-2", "create", "persistentvolumes", 500),
        request(4005, "replica-2", "create", "persistentvolumes", 201),
    ]
}

#[test]
fn the_figure_is_the_successors_first_write_that_serves_a_claim() {
    let expected = Failover {
        to: "replica-2".into(),
        lease: Some(Duration::from_millis(3901)),
        work: Duration::from_millis(3905),
    };
    assert_eq!(failover(&log(), &signal(), None), Some(expected));
}

#[test]
fn without_such_a_write_there_was_no_failover() {
    let log: Vec<_> = log().into_iter().filter(|request| request.at < at(4005)).collect();
    assert_eq!(failover(&log, &signal(), None), None);
    assert_eq!(failover(&[], &signal(), None), None);
}

#[test]
fn what_follows_the_next_signal_belongs_to_that_one() {
    assert_eq!(failover(&log(), &signal(), Some(at(4005))), None);
    assert!(failover(&log(), &signal(), Some(at(4006))).is_some());
}

#[test]
fn a_leader_that_works_on_after_its_successor_began_is_found() {
    let mut log = log();
    assert_eq!(overlaps(&log, &[signal()]), []);
    log.push(request(4100, "replica-1", "create", "persistentvolumes", 201));
    let found = overlaps(&log, &[signal()]);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].to_string().contains("replica-1: sent 1 writes after its successor replica-2"),
        "{}",
        found[0]
    );
}
