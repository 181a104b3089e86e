//! Tests of the protocol where the server's controller elects, step by step, with its records.

use super::*;

pub(super) const STRATEGY: &str = "OldestEmulationVersion";
pub(super) const ELECTED: Manner = Manner::Elected { stands: true, impatient: true };

impl Bench {
    pub(super) fn coordinated(identity: &str) -> Self {
        let mut bench = Self::new(identity);
        bench.candidate.arrange(at_ms(0), ELECTED);
        bench.settle(at_ms(0), None);
        bench
    }

    /// Writes as the controller does: over the present record, or a new Lease.
    pub(super) fn grant(&mut self, holder: &str) -> StoredLease {
        let found = self.lease.as_ref().map(|lease| lease.record.clone()).unwrap_or_default();
        self.put(Record {
            holder: holder.into(),
            lease_duration_seconds: 5,
            acquire_time: None,
            renew_time: Some(WALL),
            strategy: STRATEGY.into(),
            preferred_holder: String::new(),
            ..found
        })
    }

    pub(super) fn prefer(&mut self, other: &str) -> StoredLease {
        let found = self.lease.clone().unwrap().record;
        self.put(Record { preferred_holder: other.into(), ..found })
    }

    pub(super) fn hear(&mut self, now: Moment, lease: StoredLease) -> News {
        self.candidate.heard(now, LeaseEvent::Changed(lease))
    }

    /// A bench whose candidate leads since `at_ms(0)`.
    pub(super) fn led(identity: &str) -> Self {
        let mut bench = Self::coordinated(identity);
        let grant = bench.grant(identity);
        assert_eq!(bench.hear(at_ms(0), grant), News::Nothing, "a grant alone begins no term");
        assert!(matches!(&bench.settle(at_ms(0), None)[..], [News::Acquired(_)]));
        bench
    }
}

/// A Lease that its holder has just renewed, as the candidate hears.
pub(super) fn led_by(bench: &mut Bench, heard: Moment, holder: &str, seconds: i32) -> StoredLease {
    let led = bench.put(Record {
        holder: holder.into(),
        lease_duration_seconds: seconds,
        acquire_time: Some(WALL),
        ..Record::default()
    });
    let _ = bench.hear(heard, led.clone());
    led
}

#[test]
fn a_grant_is_claimed_by_a_write_of_our_own_which_keeps_what_the_controller_wrote() {
    let mut bench = Bench::coordinated("baz");
    assert_eq!(bench.calls, ["get"], "the Lease is never made");
    bench.put(Record { leader_transitions: 7, ..Record::default() });
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(100), grant.clone());
    let news = bench.settle(at_ms(100), None);
    let [News::Acquired(hold)] = &news[..] else { panic!("{news:?}") };
    assert_eq!(
        hold.until,
        at_ms(100).after(bench.candidate.config.hold()),
        "from the sending of the claim"
    );
    let claimed = bench.lease.clone().unwrap();
    assert_ne!(hold.fence.resource_version, grant.version.resource_version);
    let record = &claimed.record;
    assert_eq!((record.leader_transitions, &*record.strategy), (7, STRATEGY));
    assert_eq!((record.lease_duration_seconds, record.acquire_time.is_some()), (5, true));
    bench.settle(at_ms(1100), None);
    let renewed = bench.lease.clone().unwrap().record;
    assert_eq!(
        (renewed.acquire_time, renewed.leader_transitions, &*renewed.strategy),
        (record.acquire_time, 7, STRATEGY)
    );
    assert_eq!(bench.calls, ["get", "update", "update"]);
}

/// The controller uses its own clock. A leader that names times long past looks dead to it, and
/// loses the lease instead of being asked to make way.
#[test]
fn a_leader_whose_wall_clock_is_behind_renews_in_the_time_of_the_server() {
    let ahead = |seconds: i64| WALL.checked_add(SignedDuration::from_secs(seconds)).unwrap();
    let granted = |bench: &mut Bench, seconds| {
        let grant = bench.grant("baz").record;
        let grant = bench.put(Record { renew_time: Some(ahead(seconds)), ..grant });
        let _ = bench.hear(at_ms(0), grant);
    };
    let mut bench = Bench::coordinated("baz");
    granted(&mut bench, 60);
    let mut before = ahead(60);
    // Every third second: the written time follows the clock, and not the renewals.
    for second in (0..100).step_by(3) {
        bench.settle(at_ms(second * 1000), None);
        let record = bench.lease.clone().unwrap().record;
        let renewed = record.renew_time.unwrap();
        let elapsed = i64::try_from(second).unwrap();
        assert!(
            ahead(60 + elapsed) <= renewed && renewed <= ahead(62 + elapsed),
            "{second} s: {renewed}"
        );
        assert!(renewed.as_second() > before.as_second(), "each in another second");
        before = renewed;
    }
    // A server that is out by days, or behind, is not followed.
    for out in [2 * 86_400, -60] {
        let mut bench = Bench::coordinated("baz");
        granted(&mut bench, out);
        bench.settle(at_ms(0), None);
        assert_eq!(bench.lease.unwrap().record.renew_time, Some(WALL), "{out} s");
    }
}

#[test]
fn of_two_with_one_identity_one_gets_the_grant() {
    let (mut one, mut other) = (Bench::coordinated("baz"), Bench::new("baz"));
    other.candidate = Candidate::new(&config("baz"), 2);
    other.candidate.arrange(at_ms(0), ELECTED);
    other.settle(at_ms(0), None);
    let grant = one.grant("baz");
    other.revision = one.revision;
    let _ = one.hear(at_ms(0), grant.clone());
    let _ = other.hear(at_ms(0), grant);
    assert!(matches!(&one.settle(at_ms(0), None)[..], [News::Acquired(_)]));
    other.lease = one.lease.clone();
    assert!(other.settle(at_ms(0), None).is_empty(), "the other's claim meets a conflict");
    assert!(!other.candidate.is_leading());
}

#[test]
fn a_grant_over_the_head_of_one_who_may_still_act_is_claimed_when_that_lease_has_run_out_by_our_own_clock()
 {
    let mut bench = Bench::coordinated("baz");
    // bing renews at 2 s. The server's wall clock is 3 s ahead of bing's, so the controller finds
    // the lease expired at 4 s.
    led_by(&mut bench, at_ms(2000), "bing", 5);
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(4000), grant);
    assert!(bench.settle(at_ms(6999), None).is_empty());
    assert_eq!(bench.calls, ["get"]);
    assert!(matches!(&bench.settle(at_ms(7000), None)[..], [News::Acquired(_)]));
}

/// The grant is for 5 s; the leader before it may lead for 15.
#[test]
fn anothers_grant_that_nobody_claims_is_not_taken_over_the_head_of_one_who_may_still_act() {
    for manner in [Manner::Alone, Manner::Free] {
        let mut bench = Bench::new("baz");
        bench.candidate.arrange(at_ms(0), manner);
        bench.settle(at_ms(0), None);
        led_by(&mut bench, at_ms(0), "bing", 15);
        bench.candidate.abdicate(at_ms(0));
        let grant = bench.grant("other");
        let _ = bench.hear(at_ms(6000), grant);
        assert!(bench.settle(at_ms(14_999), None).is_empty(), "{manner:?}");
        assert!(
            matches!(&bench.settle(at_ms(15_200), None)[..], [News::Acquired(_)]),
            "{manner:?}"
        );
    }
}

/// Beside coordinated candidates an ordinary elector need not wait for a grantee that is gone, but
/// for the leader before it.
#[test]
fn that_one_is_gone_who_was_granted_the_lease_says_nothing_of_who_led_before() {
    for deleted in [true, false] {
        let mut bench = Bench::new("baz");
        let led = led_by(&mut bench, at_ms(0), "bing", 5);
        if deleted {
            let _ = bench.candidate.heard(at_ms(1000), LeaseEvent::Deleted(Some(led)));
            bench.lease.as_mut().unwrap().version.uid = "v".into();
            bench.revision += 1;
        }
        let grant = bench.grant("other");
        let _ = bench.hear(at_ms(1100), grant.clone());
        bench.candidate.vacate(at_ms(1200), &grant.version);
        for now in [at_ms(1200), at_ms(3000), at_ms(4999)] {
            assert!(bench.settle(now, None).is_empty(), "deleted {deleted}, {now:?}");
            assert_eq!(bench.lease, Some(grant.clone()), "nothing is written");
        }
        // Nor does it wait until the grant has run out, at 6.1 s.
        assert!(
            matches!(&bench.settle(at_ms(5000), None)[..], [News::Acquired(_)]),
            "deleted {deleted}"
        );
    }
    // Without a leader before: one stop margin after the news.
    let mut bench = Bench::new("baz");
    let free = bench.put(Record::default());
    let _ = bench.hear(at_ms(0), free);
    let grant = bench.grant("other");
    let _ = bench.hear(at_ms(0), grant.clone());
    bench.candidate.vacate(at_ms(100), &grant.version);
    let clear = at_ms(100).after(config("baz").stop_margin());
    assert!(matches!(&bench.settle(clear, None)[..], [News::Acquired(_)]));
}

/// Candidates that elect alone take a free Lease at once.
#[test]
fn a_grant_is_not_given_back_over_the_head_of_one_who_may_still_act_either() {
    let mut bench = Bench::coordinated("baz");
    led_by(&mut bench, at_ms(0), "bing", 15);
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(6000), grant);
    let preferred = bench.prefer("other");
    let _ = bench.hear(at_ms(7000), preferred);
    assert!(bench.settle(at_ms(14_999), None).is_empty());
    assert!(!bench.lease.as_ref().unwrap().record.is_free());
    assert!(bench.candidate.is_granted() && !bench.candidate.may_decline(at_ms(14_999)));
    assert!(bench.candidate.may_decline(at_ms(15_000)));
    let _ = bench.settle(at_ms(15_000), None);
    assert!(bench.lease.as_ref().unwrap().record.is_free());
}

/// A StatefulSet gives a Pod its predecessor's name.
#[test]
fn a_grant_to_our_name_over_the_head_of_another_of_that_name_waits_for_its_lease() {
    let mut bench = Bench::coordinated("web-0");
    led_by(&mut bench, at_ms(0), "web-0", 15);
    let grant = bench.grant("web-0");
    let _ = bench.hear(at_ms(6000), grant);
    assert!(bench.settle(at_ms(14_999), None).is_empty());
    assert!(matches!(&bench.settle(at_ms(15_000), None)[..], [News::Acquired(_)]));
}

#[test]
fn a_grant_on_a_lease_made_again_waits_for_the_one_whose_lease_was_deleted() {
    let mut bench = Bench::coordinated("baz");
    let led = led_by(&mut bench, at_ms(0), "bing", 5);
    let _ = bench.candidate.heard(at_ms(1000), LeaseEvent::Deleted(Some(led)));
    bench.lease = None;
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(1100), grant);
    assert!(bench.settle(at_ms(4999), None).is_empty());
    assert!(matches!(&bench.settle(at_ms(5000), None)[..], [News::Acquired(_)]));
}

/// Unheard, another may have made a Lease and led, and may lead on, cut off, after its deletion.
#[test]
fn a_grant_on_a_lease_made_again_waits_after_a_silence_for_whoever_led_meanwhile_unseen() {
    let own = config("baz").lease_duration();
    for (silence, is_told) in
        [(5000, true), (5000, false), (5001, true), (5001, false), (100_000, true)]
    {
        // The Lease is absent, and then the candidate hears nothing.
        let mut bench = Bench::coordinated("baz");
        let back = at_ms(silence);
        let grant = bench.grant("baz");
        if is_told {
            let _ = bench.hear(back, grant.clone());
        } else {
            let read = bench.candidate.begin_read(back);
            let _ = bench.candidate.read(back, read, Ok(Some(grant.clone())));
        }
        if silence > 5000 {
            assert!(bench.settle(back, None).is_empty(), "{silence} ms, told {is_told}");
            assert!(
                bench.settle(back.after(own).before(Duration::from_millis(1)), None).is_empty()
            );
            assert_eq!(bench.lease, Some(grant), "nothing is written");
        }
        let due = if silence > 5000 { back.after(own) } else { back };
        assert!(
            matches!(&bench.settle(due, None)[..], [News::Acquired(_)]),
            "{silence} ms, told {is_told}"
        );
    }
}

#[test]
fn a_grant_on_a_lease_made_again_waits_for_whoever_made_the_one_that_was_in_the_way() {
    for granted in [true, false] {
        let mut bench = Bench::new("baz");
        bench.candidate.arrange(at_ms(0), Manner::Alone);
        let read = bench.candidate.begin_read(at_ms(0));
        let _ = bench.candidate.read(at_ms(0), read, Ok(None));
        let create = bench.candidate.begin_write(at_ms(0), WALL, Purpose::Acquire);
        let _ = bench.candidate.wrote(at_ms(100), &create, Err(StoreError::Conflict));
        let own = config("baz").lease_duration();
        let due = if granted {
            // The Lease in the way was deleted, and this is another.
            let grant = bench.grant("baz");
            let _ = bench.hear(at_ms(200), grant.clone());
            assert!(
                bench
                    .settle(at_ms(200).after(own).before(Duration::from_millis(1)), None)
                    .is_empty()
            );
            assert_eq!(bench.lease, Some(grant), "nothing is written");
            at_ms(200).after(own)
        } else {
            // The maker of this Lease has waited for the leaders before it, and releases it.
            led_by(&mut bench, at_ms(200), "bing", 5);
            let free = bench.put(Record::default());
            let _ = bench.hear(at_ms(300), free);
            at_ms(300)
        };
        assert!(matches!(&bench.settle(due, None)[..], [News::Acquired(_)]), "granted {granted}");
    }
}

/// Unheard, the Lease of `bing`, which may have renewed since, was deleted; or it was released, and
/// another had it.
#[test]
fn a_grant_on_another_lease_than_the_one_known_waits_for_whoever_led_on_that_one_unseen() {
    for holder in ["bing", ""] {
        let mut bench = Bench::coordinated("baz");
        let led = Record { holder: holder.into(), lease_duration_seconds: 5, ..Record::default() };
        let led = bench.put(Record { acquire_time: Some(WALL), ..led });
        let _ = bench.hear(at_ms(0), led);
        bench.lease.as_mut().unwrap().version.uid = "v".into();
        let grant = bench.grant("baz");
        let _ = bench.hear(at_ms(4000), grant);
        // A whole own lease.
        let own = bench.candidate.config.lease_duration();
        let last = at_ms(4000).after(own);
        assert!(bench.settle(last.before(Duration::from_millis(1)), None).is_empty(), "{holder}");
        assert!(matches!(
            &bench.settle(last.after(Duration::from_millis(200)), None)[..],
            [News::Acquired(_)]
        ));
    }
}

/// Unseen, another may have been granted the released Lease, and may lead on, cut off, after its
/// deletion.
#[test]
fn a_grant_on_another_lease_than_the_one_given_back_waits_for_whoever_had_that_one_since() {
    let mut bench = Bench::led("baz");
    bench.candidate.leave();
    assert_eq!(bench.settle(at_ms(10), None), [News::Released]);
    bench.lease.as_mut().unwrap().version.uid = "v".into();
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(1000), grant.clone());
    let last = at_ms(1000).after(bench.candidate.config.lease_duration());
    for now in [at_ms(1000), at_ms(3900), last.before(Duration::from_millis(1))] {
        assert!(bench.settle(now, None).is_empty(), "{now:?}");
        assert_eq!(bench.lease, Some(grant.clone()), "nothing is written");
    }
    assert!(matches!(
        &bench.settle(last.after(Duration::from_millis(200)), None)[..],
        [News::Acquired(_)]
    ));
}

#[test]
fn a_grant_after_a_release_is_claimed_at_once() {
    let mut bench = Bench::coordinated("baz");
    led_by(&mut bench, at_ms(0), "bing", 5);
    let free = bench.put(Record { lease_duration_seconds: 1, ..Record::default() });
    let _ = bench.hear(at_ms(100), free);
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(110), grant);
    assert!(matches!(&bench.settle(at_ms(110), None)[..], [News::Acquired(_)]));
}

#[test]
fn that_the_controller_prefers_another_is_no_loss_and_goes_on_until_the_lease_is_given_back() {
    let mut bench = Bench::led("baz");
    let marked = bench.prefer("bing");
    assert_eq!(bench.hear(at_ms(100), marked), News::Unpreferred);
    assert!(bench.candidate.is_leading() && bench.candidate.is_unpreferred());
    assert!(
        matches!(&bench.settle(at_ms(1000), None)[..], [News::Renewed(_)]),
        "while the work winds up"
    );
    assert_eq!(bench.lease.clone().unwrap().record.preferred_holder, "bing");
    bench.candidate.leave();
    assert_eq!(bench.settle(at_ms(1100), None), [News::Released]);
    let released = bench.lease.clone().unwrap().record;
    assert!(released.is_free() && released.preferred_holder.is_empty());
    assert_eq!(released.strategy, STRATEGY, "it tells others that a controller is about");
    let before = bench.calls.len();
    bench.settle(at_ms(1200), None);
    assert_eq!(bench.calls.len(), before, "and does not take it again");
}

#[test]
fn a_note_that_meets_a_renewal_on_its_way_costs_no_term() {
    let mut bench = Bench::led("baz");
    // The note comes first: the renewal meets a conflict, and is repeated on the new version.
    bench.prefer("bing");
    let news = bench.settle(at_ms(1000), None);
    assert!(matches!(&news[..], [News::Unpreferred]), "{news:?}");
    assert!(matches!(&bench.settle(at_ms(1600), None)[..], [News::Renewed(_)]));
    // The renewal comes first, its answer is lost, and its event already has the note.
    let mut bench = Bench::led("baz");
    let write = bench.candidate.begin_write(at_ms(1000), WALL, Purpose::Renew);
    bench.carry_out(&write).unwrap();
    let marked = bench.prefer("bing");
    let until = at_ms(1000).after(bench.candidate.config.hold());
    assert_eq!(bench.hear(at_ms(1100), marked), News::Renewed(until));
    assert!(bench.candidate.is_unpreferred());
}

#[test]
fn a_stranger_that_changes_more_than_the_notes_ends_the_term() {
    let mut bench = Bench::led("baz");
    let found = bench.lease.clone().unwrap().record;
    let foreign = bench.put(Record {
        preferred_holder: "bing".into(),
        renew_time: WALL.checked_add(SignedDuration::from_secs(9)).ok(),
        ..found
    });
    assert_eq!(bench.hear(at_ms(100), foreign), News::Ended(Loss::ForeignWrite));
    // The controller's own grant to another, by its wall clock, ends the term too.
    let mut bench = Bench::led("baz");
    let grant = bench.grant("bing");
    assert_eq!(bench.hear(at_ms(100), grant), News::Ended(Loss::TakenOver { by: "bing".into() }));
}

#[test]
fn one_that_lost_its_term_gives_back_what_it_left_so_that_the_controller_elects() {
    let mut bench = Bench::led("baz");
    assert_eq!(bench.candidate.tick(at_ms(10_000)), News::Ended(Loss::Expired));
    assert!(bench.candidate.is_granted());
    bench.candidate.abdicate(at_ms(10_000));
    bench.settle(at_ms(11_000), None);
    assert!(bench.lease.as_ref().unwrap().record.is_free());
    assert!(!bench.candidate.is_leading());
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(11_010), grant);
    assert!(matches!(&bench.settle(at_ms(11_010), None)[..], [News::Acquired(_)]));
}

/// A candidate that does not lead must not hold up the others. But while its LeaseCandidate stands,
/// the controller would only grant it the lease again.
#[test]
fn a_grant_to_one_that_is_not_to_lead_is_given_back_when_it_stands_no_more() {
    let mut bench = Bench::coordinated("baz");
    led_by(&mut bench, at_ms(0), "bing", 5);
    bench.candidate.bar(true);
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(1000), grant);
    let gone = Manner::Elected { stands: false, impatient: false };
    bench.candidate.arrange(at_ms(1000), gone);
    bench.settle(at_ms(4999), None);
    assert!(!bench.lease.as_ref().unwrap().record.is_free(), "bing may lead until then");
    bench.candidate.arrange(at_ms(5000), ELECTED);
    bench.settle(at_ms(5000), None);
    assert!(!bench.lease.as_ref().unwrap().record.is_free(), "it stands");
    bench.candidate.arrange(at_ms(5000), gone);
    assert!(bench.settle(at_ms(5000), None).is_empty());
    assert!(bench.lease.as_ref().unwrap().record.is_free());
    // A controller that grants it again at once does not set the pace.
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(5010), grant);
    bench.settle(at_ms(5999), None);
    assert!(!bench.lease.as_ref().unwrap().record.is_free());
    bench.settle(at_ms(6000), None);
    assert!(bench.lease.as_ref().unwrap().record.is_free());
    assert!(!bench.candidate.is_leading());
}

#[test]
fn one_that_was_told_to_give_nothing_back_leaves_its_lease_to_run_out() {
    let mut bench = Bench::led("baz");
    let keeps =
        Config::builder("ns", "lease").fast().identity("baz").takeover_jitter(Duration::ZERO);
    bench.candidate.config = Arc::new(keeps.release_on_stop(false).build().unwrap());
    assert_eq!(bench.candidate.tick(at_ms(4000)), News::Ended(Loss::Expired));
    bench.candidate.abdicate(at_ms(4000));
    bench.settle(at_ms(4999), None);
    assert!(!bench.lease.as_ref().unwrap().record.is_free());
    bench.settle(at_ms(5000), None);
    assert!(bench.lease.as_ref().unwrap().record.is_free(), "and then out of the controller's way");
    // The same counts for a grant with the note that another is preferred.
    bench.grant("baz");
    let marked = bench.prefer("bing");
    let _ = bench.hear(at_ms(6000), marked);
    bench.settle(at_ms(10_999), None);
    assert!(!bench.lease.as_ref().unwrap().record.is_free());
    bench.settle(at_ms(11_000), None);
    assert!(bench.lease.as_ref().unwrap().record.is_free());
}

#[test]
fn an_elector_of_the_ordinary_kind_takes_a_note_for_a_foreign_write() {
    let mut bench = Bench::new("baz");
    bench.settle(at_ms(0), None);
    let marked = bench.prefer("bing");
    assert_eq!(bench.hear(at_ms(100), marked), News::Ended(Loss::ForeignWrite));
}

/// A controller that has written on a Lease chooses the next leader. Candidates that elect alone
/// leave the Lease to it for one lease.
#[test]
fn a_release_that_keeps_the_strategy_names_no_successor() {
    for (strategy, named) in [(STRATEGY, ""), ("", "bing")] {
        let mut bench = Bench::new("baz");
        bench.candidate.arrange(at_ms(0), Manner::Alone);
        bench.settle(at_ms(0), None);
        let found = bench.lease.clone().unwrap().record;
        let noted = bench.put(Record { strategy: strategy.into(), ..found });
        let _ = bench.hear(at_ms(100), noted);
        assert_eq!(bench.candidate.is_noted(), !strategy.is_empty());
        bench.candidate.name_successor(Some("bing".into()));
        bench.candidate.leave();
        let write = bench.candidate.begin_write(at_ms(200), WALL, Purpose::Release);
        assert_eq!((&*write.record.strategy, &*write.record.successor), (strategy, named));
        assert_eq!(
            write.record.hint(),
            Some(named).filter(|named| !named.is_empty()),
            "and what it says counts"
        );
    }
}
