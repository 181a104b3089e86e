//! The plan's promises, over many seeds and sizes.

use super::{Ask, Plan, Step};
use std::collections::HashSet;

fn plans() -> impl Iterator<Item = Plan> {
    [20, 40, 123, 500, 2000]
        .into_iter()
        .flat_map(|claims| (0..50).map(move |seed| Plan::draw(Ask { claims, seed })))
}

#[test]
fn the_same_seed_gives_the_same_plan_and_another_seed_another() {
    let ask = Ask { claims: 500, seed: 7 };
    assert_eq!(Plan::draw(ask), Plan::draw(ask));
    assert_ne!(Plan::draw(ask), Plan::draw(Ask { seed: 8, ..ask }));
}

#[test]
fn every_claim_is_created_once_and_changed_only_afterwards() {
    for plan in plans() {
        let mut created = HashSet::new();
        let (mut changed, mut wrong) = (0, 0);
        for step in &plan.steps {
            match *step {
                Step::Create(i) => assert!(created.insert(i)),
                Step::Annotate(i) | Step::Relabel(i) => {
                    changed += 1;
                    assert!(created.contains(&i));
                }
                Step::SayReleased(i) => {
                    wrong += 1;
                    assert!(created.contains(&i));
                }
                Step::Unblock(_) => {}
            }
        }
        assert!(wrong > 0 || plan.claims.len() < 100);
        assert_eq!(created.len(), plan.claims.len());
        assert!(changed > 0);
        let names: HashSet<_> = plan.claims.iter().map(|c| (&c.name, c.namespace)).collect();
        assert_eq!(names.len(), plan.claims.len());
    }
}

#[test]
fn every_blocked_namespace_has_claims_that_wait_and_is_unblocked_once_after_them() {
    for plan in plans() {
        for (i, namespace) in plan.namespaces.iter().enumerate() {
            let lifts: Vec<_> = plan
                .steps
                .iter()
                .enumerate()
                .filter(|(_, s)| **s == Step::Unblock(i))
                .map(|(at, _)| at)
                .collect();
            let claims: Vec<_> = plan
                .steps
                .iter()
                .enumerate()
                .filter(|(_, s)| matches!(s, Step::Create(c) if plan.claims[*c].namespace == i))
                .map(|(at, _)| at)
                .collect();
            if namespace.blocked {
                assert_eq!(lifts.len(), 1, "{plan:?}");
                assert!(claims.iter().all(|at| *at < lifts[0]));
                // At least one of the two files has somebody waiting; a later draw may move the
                // single claim of a tiny plan.
                assert!(plan.claims.len() < 100 || !claims.is_empty());
            } else {
                assert!(lifts.is_empty());
            }
        }
        assert!(plan.claims.iter().any(|claim| plan.namespaces[claim.namespace].blocked));
    }
}

#[test]
fn both_ends_of_a_leader_can_be_reached_and_leave_claims_to_create() {
    for plan in plans() {
        let total = plan.claims.len();
        let waiting = plan.claims.iter().filter(|c| plan.namespaces[c.namespace].blocked).count();
        assert!(plan.crash_at < plan.handover_at);
        // Even with every blocked claim still waiting, what is created before the hand-over
        // suffices to reach it, burst included.
        assert!(
            plan.handover_at + waiting + plan.burst <= plan.before_handover,
            "{total}: {waiting}"
        );
        assert!(plan.before_handover + plan.burst <= total);
    }
}

#[test]
fn a_fifth_is_deleted_each_once() {
    for plan in plans() {
        let unique: HashSet<_> = plan.deletions.iter().collect();
        assert_eq!(unique.len(), plan.deletions.len());
        assert_eq!(plan.deletions.len(), plan.claims.len() / 5);
    }
}
