//! The keeper's rounds: when what is asked, and who is told.

use super::*;

fn changes(ended: &[usize], mended: &[usize]) -> Changes {
    Changes { began: Vec::new(), ended: ended.to_vec(), mended: mended.to_vec() }
}

fn answered(answer: Answer) -> Review {
    Review::Answered(vec![(0, answer)])
}

#[test]
fn everything_is_asked_at_the_start_and_what_is_missing_more_often() {
    let start = Instant::now();
    let mut rounds = Rounds::begin(start);
    assert_eq!(rounds.places(start, Vec::new).len(), PERMISSIONS.len());
    rounds.reviewed(start, Some(&answered(Answer::Allowed)), &Changes::default());
    assert_eq!(rounds.wake(false), start + EASY);
    assert_eq!(rounds.wake(true), start + UNEASY);
    assert_eq!(rounds.places(start + UNEASY, || vec![4]), [4]);
    assert_eq!(rounds.places(start + EASY, || vec![4]).len(), PERMISSIONS.len());
}

#[test]
fn a_question_without_an_answer_is_asked_again_soon() {
    let start = Instant::now();
    let mut rounds = Rounds::begin(start);
    rounds.reviewed(start, Some(&answered(Answer::Unknown)), &Changes::default());
    assert_eq!(rounds.wake(false), start + UNEASY);
    assert_eq!(rounds.places(start + UNEASY, Vec::new).len(), PERMISSIONS.len());
}

#[test]
fn a_server_that_knows_no_reviews_is_not_asked_while_something_is_missing() {
    let start = Instant::now();
    let mut rounds = Rounds::begin(start);
    rounds.reviewed(start, Some(&Review::NotPossible), &Changes::default());
    assert!(rounds.places(start + UNEASY, || vec![4]).is_empty());
    assert_eq!(rounds.mended(start + UNEASY, true, &Changes::default()), None);
    assert_eq!(rounds.mended(start + BLIND, true, &Changes::default()), Some(Mended::Everything));
    assert_eq!(rounds.mended(start + BLIND + UNEASY, true, &Changes::default()), None);
}

#[test]
fn who_waited_is_told_at_once_and_twice_more() {
    let start = Instant::now();
    let mut rounds = Rounds::begin(start);
    rounds.reviewed(start, Some(&answered(Answer::Allowed)), &changes(&[3], &[]));
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
        rounds.reviewed(start, Some(&answered(Answer::Allowed)), &changes(&[], &[create]));
        gaps.push((rounds.not_before() - start).as_secs());
    }
    assert_eq!(gaps, [2, 4, 8, 16, 30, 30, 30]);
    assert_eq!(rounds.mended(start, false, &changes(&[], &[create])), None, "its back-off is short yet");
    assert_eq!(rounds.mended(start, false, &changes(&[], &[list])), Some(Mended::Watches));
    rounds.reviewed(start, Some(&answered(Answer::Allowed)), &changes(&[create], &[]));
    assert_eq!(rounds.not_before() - start, GAP);
}
