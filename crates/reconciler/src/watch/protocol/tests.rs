//! Tests of the list-and-watch protocol.

use super::*;

fn watching(version: &str) -> Protocol {
    let mut protocol = Protocol::new(false);
    protocol.listed(version.to_owned());
    protocol.progressed(None);
    protocol
}

fn next_is_list(protocol: &Protocol) -> bool {
    *protocol.next() == Next::List { token: None }
}

#[test]
fn pages_follow_each_other_then_the_watch_begins_at_the_lists_version() {
    let mut protocol = Protocol::new(false);
    assert!(next_is_list(&protocol));
    protocol.page("t1".into());
    assert_eq!(*protocol.next(), Next::List { token: Some("t1".into()) });
    protocol.listed("7".into());
    assert_eq!(*protocol.next(), Next::Watch { version: "7".into() });
}

#[test]
fn a_streaming_list_goes_on_as_the_watch_and_is_chosen_again_for_the_next_list() {
    let mut protocol = Protocol::new(true);
    for version in ["7", "9"] {
        assert_eq!(*protocol.next(), Next::StreamingList);
        protocol.listed(version.into());
        assert_eq!(*protocol.next(), Next::Watch { version: version.into() });
        protocol.failed(Fault::Expired, 0);
    }
}

#[test]
fn a_server_without_streaming_lists_is_asked_for_one_once() {
    for is_ignored in [false, true] {
        let mut protocol = Protocol::new(true);
        if is_ignored {
            assert!(!protocol.unended(), "it may never have had them: no failure");
        } else {
            assert!(protocol.fall_back(Fault::Invalid));
        }
        for version in ["7", "9"] {
            assert!(next_is_list(&protocol));
            protocol.listed(version.into());
            protocol.failed(Fault::Expired, 0);
        }
    }
}

#[test]
fn a_stream_that_is_denied_or_stalls_gives_way_to_pages_until_a_list_is_complete() {
    for is_denied in [false, true] {
        let mut protocol = Protocol::new(true);
        protocol.listed("7".into());
        protocol.failed(Fault::Expired, 0);
        if is_denied {
            assert!(protocol.fall_back(Fault::Refused));
        } else {
            assert!(protocol.unended(), "the server has them: a failure");
        }
        protocol.failed(Fault::Unreachable, 0);
        assert!(next_is_list(&protocol));
        protocol.listed("9".into());
        protocol.failed(Fault::Expired, 0);
        assert_eq!(*protocol.next(), Next::StreamingList);
    }
}

#[test]
fn a_stream_that_is_always_cut_starts_over_with_pauses_and_gives_way_to_pages() {
    let mut protocol = Protocol::new(true);
    for pause in [125, 250, 500] {
        assert_eq!(*protocol.next(), Next::StreamingList);
        assert!(!protocol.fall_back(Fault::Unreachable));
        assert_eq!(protocol.failed(Fault::Unreachable, 0), Duration::from_millis(pause));
    }
    assert!(next_is_list(&protocol));
}

#[test]
fn only_a_streaming_list_gives_way_to_pages() {
    for mut protocol in [watching("7"), Protocol::new(false)] {
        let next = protocol.next().clone();
        for fault in [Fault::Invalid, Fault::Refused] {
            assert!(!protocol.fall_back(fault));
        }
        assert_eq!(*protocol.next(), next);
    }
}

#[test]
fn a_failed_page_restarts_the_whole_list() {
    let mut protocol = Protocol::new(false);
    protocol.page("t1".into());
    assert_eq!(protocol.failed(Fault::Expired, 0), Duration::ZERO);
    assert!(next_is_list(&protocol));
}

#[test]
fn a_watch_that_ends_after_progress_is_opened_again_at_once_from_its_last_version() {
    let mut protocol = watching("7");
    protocol.progressed(Some("9"));
    assert_eq!(protocol.ended(true, SHORT_WATCH, 0), Duration::ZERO);
    assert_eq!(*protocol.next(), Next::Watch { version: "9".into() });
}

#[test]
fn a_watch_that_is_always_closed_at_once_is_opened_later_and_later() {
    let mut protocol = watching("7");
    let pauses: Vec<u64> = (0..9)
        .map(|_| u64::try_from(protocol.ended(false, Duration::ZERO, 0).as_millis()).unwrap())
        .collect();
    assert_eq!(pauses, [125, 250, 500, 1000, 2000, 4000, 8000, 15000, 15000]);
    assert_eq!(
        protocol.ended(false, SHORT_WATCH, 0),
        Duration::ZERO,
        "a quiet watch is no failure"
    );
}

#[test]
fn a_watch_that_is_always_closed_after_one_event_is_opened_with_a_short_pause() {
    let mut protocol = watching("7");
    for version in ["8", "9", "10", "11"] {
        protocol.progressed(Some(version));
        assert_eq!(protocol.ended(true, Duration::ZERO, 0), FIRST_PAUSE / 2);
    }
}

#[test]
fn a_version_that_expires_after_every_event_does_not_list_in_a_hot_loop() {
    let mut protocol = watching("7");
    let mut expire = |version: &str| {
        protocol.progressed(Some(version));
        let pause = protocol.failed(Fault::Expired, 0);
        assert!(next_is_list(&protocol));
        protocol.listed(version.to_owned());
        pause
    };
    assert_eq!(expire("8"), Duration::ZERO);
    assert_eq!([expire("9"), expire("10")], [FIRST_PAUSE / 2; 2]);
    protocol.lasted(SHORT_WATCH - Duration::from_millis(1));
    assert_eq!(protocol.failed(Fault::Expired, 0), FIRST_PAUSE);
}

#[test]
fn a_watch_that_stood_makes_the_next_expiry_ordinary_again_busy_or_quiet() {
    for busy in [false, true] {
        let mut protocol = watching("7");
        assert_eq!(protocol.failed(Fault::Expired, 0), Duration::ZERO);
        protocol.listed("8".into());
        if busy {
            // Events from the first moment on: never a quiet second.
            protocol.progressed(Some("9"));
        }
        protocol.lasted(SHORT_WATCH);
        protocol.progressed(busy.then_some("10"));
        assert_eq!(protocol.failed(Fault::Expired, 0), Duration::ZERO, "busy: {busy}");
    }
}

#[test]
fn the_random_part_stays_in_the_upper_half() {
    for random in [0, 1, u64::MAX, 124_999_999, 125_000_000] {
        let pause = watching("7").ended(false, Duration::ZERO, random);
        assert!(pause >= FIRST_PAUSE / 2 && pause <= FIRST_PAUSE, "{pause:?}");
    }
}

#[test]
fn an_expired_version_lists_at_once_the_first_time_and_later_with_pauses() {
    let mut protocol = watching("7");
    assert_eq!(protocol.failed(Fault::Expired, 0), Duration::ZERO);
    assert!(next_is_list(&protocol));
    protocol.listed("8".into());
    assert!(
        protocol.failed(Fault::Expired, 0) > Duration::ZERO,
        "no progress since: do not list in a loop"
    );
    protocol.listed("9".into());
    protocol.lasted(SHORT_WATCH);
    protocol.progressed(None);
    assert_eq!(protocol.failed(Fault::Expired, 0), Duration::ZERO);
}

#[test]
fn refused_starts_lead_to_a_list_but_a_server_that_is_down_or_busy_does_not() {
    let mut protocol = watching("7");
    for _ in 0..20 {
        protocol.failed(Fault::Unreachable, 0);
        protocol.failed(Fault::Busy(None), 0);
    }
    assert_eq!(*protocol.next(), Next::Watch { version: "7".into() });
    protocol.failed(Fault::Refused, 0);
    protocol.failed(Fault::Refused, 0);
    assert_eq!(*protocol.next(), Next::Watch { version: "7".into() });
    protocol.failed(Fault::Refused, 0);
    assert!(next_is_list(&protocol));
}

#[test]
fn the_time_a_busy_server_asks_for_is_kept_within_bounds() {
    let asked = |seconds| watching("7").failed(Fault::Busy(Some(Duration::from_secs(seconds))), 0);
    assert_eq!(asked(5), Duration::from_secs(5));
    assert_eq!(asked(1_000_000), LONGEST_PAUSE);
    assert_eq!(asked(0), FIRST_PAUSE / 2);
}

#[test]
fn a_list_that_goes_backwards_is_believed_only_when_it_insists() {
    let mut protocol = watching("7");
    protocol.progressed(Some("10"));
    assert!(
        protocol.is_backwards("9") && !protocol.is_backwards("10") && !protocol.is_backwards("x")
    );
    protocol.restart();
    assert!(matches!(protocol.listed_backwards(0), OnBackwards::ListAgain(_)));
    assert!(matches!(protocol.listed_backwards(0), OnBackwards::ListAgain(_)));
    assert_eq!(protocol.listed_backwards(0), OnBackwards::TakeOver);
    protocol.listed("3".into());
    assert!(!protocol.is_backwards("3"));
    assert!(
        matches!(protocol.listed_backwards(0), OnBackwards::ListAgain(_)),
        "the count starts anew"
    );
}
