//! Tests of two halves: their joint record, which each change of one changes, and their versions.

use super::*;
use crate::legacy_locks::multi_store::half::Half;

fn half(uid: &str, version: u64, record: Record) -> Option<StoredLease> {
    Some(StoredLease { version: Version::new(uid, version.to_string()), record })
}

fn record(holder: &str, seconds: i32, id: Option<&str>) -> Record {
    Record {
        holder: holder.into(),
        lease_duration_seconds: seconds,
        write_id: id.map(str::to_owned),
        ..Record::default()
    }
}

fn together(primary: Option<StoredLease>, secondary: Option<StoredLease>) -> Record {
    Halves { primary, secondary }.record(15, &VecDeque::new())
}

#[test]
fn a_write_of_which_both_halves_were_made_is_that_write() {
    let ours = record("a", 5, Some("a.1"));
    assert_eq!(together(half("p", 9, ours.clone()), half("s", 10, ours.clone())), ours);
}

#[test]
fn one_half_of_a_write_is_not_that_write_whatever_the_other_says() {
    let ours = record("a", 5, Some("a.7"));
    for other in [
        None,
        half("x", 3, record("a", 5, Some("a.6"))),
        half("x", 3, record("", 1, Some("b.1"))),
        half("x", 3, record("a", 5, None)),
    ] {
        for (primary, secondary) in [
            (half("p", 9, ours.clone()), other.clone()),
            (other.clone(), half("s", 9, ours.clone())),
        ] {
            let both = together(primary, secondary);
            assert_ne!(both, ours, "with {other:?}");
            assert!(!both.is_free(), "a half that is held is held: {other:?}");
        }
    }
}

#[test]
fn halves_that_disagree_are_nobodys_and_free_only_where_both_are() {
    let holder = |one: &str, other: &str| {
        together(half("p", 1, record(one, 5, None)), half("s", 2, record(other, 9, None))).holder
    };
    assert_eq!(holder("a", "a"), "a");
    assert_eq!(holder("", ""), "");
    for (one, other) in [("a", "b"), ("a", ""), ("", "a")] {
        assert_eq!(holder(one, other), "leaderelection.k8s.io/unknown");
    }
    // An old or a new client alone has one half.
    assert_eq!(together(half("p", 1, record("old", 5, None)), None).holder, "old");
    assert_eq!(together(None, half("s", 1, record("new", 5, None))).holder, "new");
    assert!(together(half("p", 1, Record::default()), None).is_free());
}

#[test]
fn the_longer_duration_counts_and_none_is_a_lease_of_ones_own() {
    for (one, other, both) in
        [(5, 9, 9), (9, 5, 9), (0, 9, 15), (30, -1, 30), (0, 0, 15), (i32::MIN, 7, 15)]
    {
        let primary = half("p", 1, record("a", one, None));
        assert_eq!(
            together(primary, half("s", 2, record("b", other, None))).lease_duration_seconds,
            both
        );
    }
    assert_eq!(together(half("p", 1, record("a", 0, None)), None).lease_duration_seconds, 15);
}

#[test]
fn whatever_changes_in_one_half_changes_the_whole_and_a_label_does_not() {
    let base = (record("a", 5, None), record("b", 5, None));
    let whole = |one: &Record, other: &Record, version| {
        together(half("p", version, one.clone()), half("s", version, other.clone()))
    };
    let before = whole(&base.0, &base.1, 1);
    assert_eq!(before, whole(&base.0, &base.1, 2), "another version of the same record");
    let changes: [fn(&mut Record); 5] = [
        |record| record.renew_time = "2026-01-02T03:04:05Z".parse().ok(),
        |record| record.acquire_time = "2026-01-02T03:04:05Z".parse().ok(),
        |record| record.lease_duration_seconds = 4,
        |record| record.leader_transitions = 1,
        |record| record.write_id = Some("x".into()),
    ];
    for (n, change) in changes.iter().enumerate() {
        let (mut one, mut other) = base.clone();
        change(&mut one);
        assert_ne!(before, whole(&one, &base.1, 1), "change {n} of the primary half");
        change(&mut other);
        assert_ne!(before, whole(&base.0, &other, 1), "change {n} of the secondary half");
        assert_ne!(before, whole(&one, &other, 1), "change {n} of both");
    }
}

#[test]
fn a_half_made_write_is_undone_by_its_sender_alone_and_only_while_the_other_half_is_as_it_was() {
    let (before, ours) = (record("a", 5, Some("a.6")), record("a", 5, Some("a.7")));
    let attempt = Attempt {
        record: ours.clone(),
        halves: Halves {
            primary: half("p", 3, before.clone()),
            secondary: half("s", 4, before.clone()),
        },
        before: before.clone(),
        first: Half::Primary,
        tries: 0,
    };
    let attempts = VecDeque::from([attempt]);
    let seen = |primary, secondary| Halves { primary, secondary }.record(15, &attempts);
    assert_eq!(seen(half("p", 5, ours.clone()), half("s", 4, before.clone())), before);
    assert_eq!(
        seen(half("p", 3, before.clone()), half("s", 6, ours.clone())),
        before,
        "events out of order"
    );
    assert_eq!(seen(half("p", 5, ours.clone()), half("s", 5, before.clone())), before, "a label");
    assert_eq!(
        seen(half("p", 5, ours.clone()), half("s", 6, ours.clone())),
        ours,
        "made after all"
    );
    // client-go took it, and kept this store's mark.
    let theirs = record("go", 5, Some("a.7"));
    assert_eq!(seen(half("p", 5, theirs), half("s", 4, before.clone())).holder, UNKNOWN_HOLDER);
    // Another client has written the other half.
    for other in [half("s", 5, record("a", 5, None)), half("t", 4, before.clone()), None] {
        assert_ne!(seen(half("p", 5, ours.clone()), other), before);
    }
    assert_ne!(
        together(half("p", 5, ours), half("s", 4, before.clone())),
        before,
        "another store cannot know"
    );
}

#[test]
fn versions_are_joined_and_split() {
    let both = Halves {
        primary: half("p", 9, Record::default()),
        secondary: half("s", 10, Record::default()),
    };
    let version = both.version().unwrap().unwrap();
    assert_eq!(version, Version::new("p+s", "9+10"));
    assert_eq!(
        split(&version),
        Some([Some(Version::new("p", "9")), Some(Version::new("s", "10"))])
    );
    let one = Halves { primary: None, ..both.clone() };
    let version = one.version().unwrap().unwrap();
    assert_eq!(version, Version::new("+s", "0+10"));
    assert_eq!(split(&version), Some([None, Some(Version::new("s", "10"))]));
    assert_eq!(Halves::default().version(), None);
    assert_eq!(split(&Version::new("p", "9")), None);
    let odd = Halves { primary: half("p+q", 9, Record::default()), ..both };
    assert!(odd.version().unwrap().is_err());
}

#[test]
fn an_older_state_of_a_half_is_no_news() {
    let mut halves = Halves::default();
    assert!(halves.see(Half::Primary, half("p", 9, Record::default()).unwrap()));
    for (version, news) in [(9, false), (8, false), (10, true), (9, false)] {
        assert_eq!(
            halves.see(Half::Primary, half("p", version, Record::default()).unwrap()),
            news,
            "{version}"
        );
    }
    halves.forget(Half::Primary);
    assert!(halves.see(Half::Primary, half("p", 1, Record::default()).unwrap()));
}
