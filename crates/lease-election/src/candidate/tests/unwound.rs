//! Tests of work that outlives its term: for one stop margin after it no candidate may lead.

use super::coordinated::{ELECTED, STRATEGY};
use super::*;

fn is_free(bench: &Bench) -> bool {
    bench.lease.as_ref().unwrap().record.is_free()
}

/// A term ends from within if its hold runs out, its work overruns, or its runtime goes away.
#[test]
fn a_controllers_candidate_gives_back_what_it_left_a_stop_margin_after_the_work_is_gone() {
    for (how, ended) in [("expired", 4000), ("overran", 1500)] {
        let mut bench = Bench::coordinated("baz");
        let grant = bench.grant("baz");
        let _ = bench.hear(at_ms(0), grant);
        assert!(matches!(&bench.settle(at_ms(0), None)[..], [News::Acquired(_)]));
        if how == "expired" {
            assert_eq!(bench.candidate.tick(at_ms(ended)), News::Ended(Loss::Expired));
        }
        // The work is not joined yet: its runtime may be gone, or it blocks.
        if how == "expired" {
            assert!(bench.settle(at_ms(ended + 2000), None).is_empty());
            assert!(!is_free(&bench), "{how}: the work may go on");
        }
        let gone = ended + 2500;
        bench.candidate.abdicate(at_ms(gone));
        bench.settle(at_ms(gone), None);
        bench.settle(at_ms(gone + 999), None);
        assert!(!is_free(&bench), "{how}: a write of the work may be under way");
        bench.settle(at_ms(gone + 1000), None);
        assert!(is_free(&bench), "{how}");
        assert_eq!(bench.lease.as_ref().unwrap().record.strategy, STRATEGY);
    }
}

/// The candidate does not wait for its own lease to run out. But its next work must not begin
/// beside requests of the work before.
#[test]
fn it_takes_its_own_record_again_when_nothing_of_the_work_before_is_left() {
    for manner in [Manner::Free, Manner::Alone] {
        let mut bench = Bench::new("baz");
        bench.candidate.arrange(at_ms(0), manner);
        bench.settle(at_ms(0), None);
        assert_eq!(bench.candidate.tick(at_ms(4000)), News::Ended(Loss::Expired));
        assert!(bench.settle(at_ms(4050), None).is_empty(), "{manner:?}: the work may go on");
        bench.candidate.abdicate(at_ms(4100));
        let before = bench.calls.len();
        bench.settle(at_ms(4100), None);
        bench.settle(at_ms(5099), None);
        assert_eq!(bench.calls.len(), before, "{manner:?}: a write of the work may be under way");
        assert!(matches!(&bench.settle(at_ms(5100), None)[..], [News::Acquired(_)]), "{manner:?}");
        bench.candidate.leave();
        assert_eq!(
            bench.settle(at_ms(5110), None).first(),
            Some(&News::Released),
            "{manner:?}: at once"
        );
    }
}

/// The same counts after a deletion.
#[test]
fn it_takes_nothing_else_before_that_either() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let gone = bench.lease.take().unwrap();
    let _ = bench.candidate.heard(at_ms(3500), LeaseEvent::Deleted(Some(gone)));
    bench.candidate.abdicate(at_ms(3500));
    bench.settle(at_ms(3500), None);
    bench.settle(at_ms(4499), None);
    assert_eq!(bench.lease, None);
    assert!(matches!(&bench.settle(at_ms(4500), None)[..], [News::Acquired(_)]));
}

#[test]
fn a_grant_is_not_declined_before_that_either() {
    let mut bench = Bench::coordinated("baz");
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(0), grant);
    bench.settle(at_ms(0), None);
    assert_eq!(bench.candidate.tick(at_ms(4000)), News::Ended(Loss::Expired));
    bench.candidate.abdicate(at_ms(4000));
    bench.candidate.bar(true);
    bench.candidate.arrange(at_ms(4000), Manner::Elected { stands: false, impatient: false });
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(4100), grant);
    bench.settle(at_ms(4999), None);
    assert!(!is_free(&bench));
    bench.settle(at_ms(5000), None);
    assert!(is_free(&bench));
}

/// A failed release is tried again at once.
#[test]
fn what_was_wound_up_within_its_term_waits_for_nothing() {
    for manner in [Manner::Free, ELECTED] {
        let mut bench = Bench::new("baz");
        bench.settle(at_ms(0), None);
        bench.candidate.arrange(at_ms(0), manner);
        bench.candidate.leave();
        bench.settle(at_ms(1000), Some(StoreError::unknown("no answer")));
        bench.candidate.abdicate(at_ms(1000));
        bench.candidate.leave();
        assert_eq!(bench.settle(at_ms(1200), None).first(), Some(&News::Released), "{manner:?}");
    }
}
