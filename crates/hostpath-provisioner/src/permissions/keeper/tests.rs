//! The keeper's rounds: when what is asked, and who is told.

use super::*;

fn changes(ended: &[usize], mended: &[usize]) -> Changes {
    Changes { began: Vec::new(), ended: ended.to_vec(), mended: mended.to_vec() }
}

fn answered() -> Review {
    Review::Answered(Vec::new(), None)
}

fn unknown() -> Review {
    Review::Answered(Vec::new(), Some("500".to_owned()))
}

fn none(_: bool) -> Vec<usize> {
    Vec::new()
}

#[test]
fn everything_is_asked_at_the_start_and_what_is_missing_more_often() {
    let start = Instant::now();
    let mut rounds = Rounds::begin(start);
    assert_eq!(rounds.places(start, none).len(), PERMISSIONS.len());
    rounds.reviewed(start, Some(&answered()), &Changes::default());
    assert_eq!(rounds.wake(false), start + EASY);
    assert_eq!(rounds.wake(true), start + UNEASY);
    assert_eq!(rounds.places(start + UNEASY, |_| vec![4]), [4]);
    assert_eq!(rounds.places(start + EASY, |_| vec![4]).len(), PERMISSIONS.len());
}

#[test]
fn questions_without_an_answer_are_asked_again_ever_more_rarely() {
    let mut now = Instant::now();
    let mut rounds = Rounds::begin(now);
    let mut pauses = Vec::new();
    for _ in 0..7 {
        assert_eq!(rounds.places(now, none).len(), PERMISSIONS.len());
        rounds.reviewed(now, Some(&unknown()), &Changes::default());
        rounds.news = true;
        assert!(rounds.places(now + GAP, none).is_empty(), "a refusal does not have them asked");
        rounds.reviewed(now + GAP, None, &Changes::default());
        let next = rounds.wake(false);
        pauses.push((next - now).as_secs());
        now = next;
    }
    assert_eq!(pauses, [3, 6, 12, 24, 48, 60, 60]);
    assert_eq!(
        rounds.mended(now, true, &Changes::default()),
        Some(Mended::Everything),
        "as where it knows none"
    );
    rounds.places(now, none);
    rounds.reviewed(now, Some(&answered()), &Changes::default());
    assert!(!rounds.blind);
    assert_eq!(rounds.wake(false), now + EASY);
}

#[test]
fn refusals_that_wait_for_their_review_delay_no_round_and_no_word_of_a_grant() {
    let start = Instant::now();
    let mut rounds = Rounds::begin(start);
    for _ in 0..7 {
        rounds.all = start;
        rounds.places(start, none);
        rounds.reviewed(start, Some(&answered()), &changes(&[], &[3]));
    }
    rounds.all = start + EASY * 2;
    rounds.news = true;
    assert_eq!(rounds.not_before(), start + GAP_MAX);
    assert_eq!(rounds.wake(true), start + UNEASY);
    assert_eq!(rounds.places(start + UNEASY, |refused_too| vec![usize::from(refused_too)]), [0]);
    rounds.reviewed(start + UNEASY, Some(&answered()), &changes(&[4], &[]));
    assert_eq!(rounds.mended(start + UNEASY, false, &changes(&[4], &[])), Some(Mended::Everything));
    assert_eq!(rounds.wake(false), start + UNEASY + TOLD_AFTER[1]);
    assert_eq!(rounds.not_before(), start + GAP_MAX, "nothing is known of the refusal yet");
    assert_eq!(rounds.places(start + GAP_MAX, none).len(), PERMISSIONS.len());
}

#[test]
fn a_server_that_knows_no_reviews_is_not_asked_while_something_is_missing() {
    let start = Instant::now();
    let mut rounds = Rounds::begin(start);
    rounds.reviewed(start, Some(&Review::NotPossible("404".to_owned())), &Changes::default());
    assert_eq!(rounds.wake(false), start + UNABLE);
    assert_eq!(rounds.mended(start + UNEASY, true, &Changes::default()), None);
    assert_eq!(rounds.mended(start + BLIND, true, &Changes::default()), Some(Mended::Everything));
    assert_eq!(rounds.mended(start + BLIND + UNEASY, true, &Changes::default()), None);
}

#[test]
fn who_waited_is_told_at_once_and_twice_more() {
    let start = Instant::now();
    let mut rounds = Rounds::begin(start);
    rounds.places(start, none);
    rounds.reviewed(start, Some(&answered()), &changes(&[3], &[]));
    assert_eq!(rounds.mended(start, false, &changes(&[3], &[])), Some(Mended::Everything));
    let mut told = Vec::new();
    for _ in 0..2 {
        let next = rounds.wake(false);
        told.push(next - start);
        assert_eq!(rounds.mended(next, false, &Changes::default()), Some(Mended::Everything));
    }
    assert_eq!(told, TOLD_AFTER[1..]);
    assert_eq!(rounds.mended(start + EASY, false, &Changes::default()), None);
}

#[test]
fn refusals_that_are_no_missing_permission_are_asked_about_ever_more_rarely() {
    let start = Instant::now();
    let mut rounds = Rounds::begin(start);
    let list = PERMISSIONS.iter().position(|permission| permission.verb == "list").unwrap();
    let create = PERMISSIONS.iter().position(|permission| permission.verb == "create").unwrap();
    let mut gaps = Vec::new();
    for _ in 0..7 {
        rounds.all = start;
        rounds.places(start, none);
        rounds.reviewed(start, Some(&answered()), &changes(&[], &[create]));
        gaps.push((rounds.not_before() - start).as_secs());
    }
    assert_eq!(gaps, [2, 4, 8, 16, 30, 30, 30]);
    assert_eq!(
        rounds.mended(start, false, &changes(&[], &[create])),
        None,
        "its back-off is short yet"
    );
    assert_eq!(rounds.mended(start, false, &changes(&[], &[list])), Some(Mended::Watches));
    rounds.reviewed(start, Some(&answered()), &changes(&[create], &[]));
    assert_eq!(rounds.not_before() - start, GAP);
}
