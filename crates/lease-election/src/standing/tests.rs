//! The wish that a candidate stands: from the first campaign to the end of the last, less the times in which its elector is not to lead, or cannot.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// With a publisher that counts its lives, and ends when it is not wanted.
fn standing() -> (Arc<Standing>, Arc<AtomicU32>) {
    let lives = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&lives);
    let publish: Publish = Box::new(move |board, mut want| {
        let counted = Arc::clone(&counted);
        Box::pin(async move {
            counted.fetch_add(1, Ordering::SeqCst);
            board.note(Candidacy::Standing);
            let _ = want.wait_for(|want| !want).await;
            board.note(Candidacy::Withdrawn);
        })
    });
    (Arc::new(Standing::new(publish, true, true)), lives)
}

/// What comes of it when all has run that can.
async fn settled(standing: &Standing) -> Candidacy {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    standing.board().candidacy()
}

#[tokio::test]
async fn it_stands_from_the_first_campaign_to_the_end_of_the_last() {
    let (standing, lives) = standing();
    let first = standing.begin();
    assert_eq!(settled(&standing).await, Candidacy::Standing);
    let second = standing.begin();
    first.end().await;
    assert_eq!(settled(&standing).await, Candidacy::Standing, "another campaign wants it");
    let third = standing.begin();
    drop(second);
    assert_eq!(settled(&standing).await, Candidacy::Standing);
    assert_eq!(lives.load(Ordering::SeqCst), 1);
    third.end().await;
    assert_eq!(standing.board().candidacy(), Candidacy::Withdrawn, "taken back when the last has ended");
    let _fourth = standing.begin();
    assert_eq!(settled(&standing).await, Candidacy::Standing);
    assert_eq!(lives.load(Ordering::SeqCst), 2);
}

/// A clock may panic, for one.
#[tokio::test]
async fn what_a_publisher_that_panicked_left_does_not_count_as_standing() {
    let lives = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&lives);
    let publish: Publish = Box::new(move |board, mut want| {
        let life = counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            board.note(Candidacy::Standing);
            assert!(life > 0, "the first one panics");
            let _ = want.wait_for(|want| !want).await;
        })
    });
    let standing = Arc::new(Standing::new(publish, true, true));
    let _campaign = standing.begin();
    assert!(matches!(settled(&standing).await, Candidacy::LeftBehind(_)));
    assert_eq!(standing.manner(), Manner::Elected { stands: false, impatient: false });
    let _another = standing.begin();
    assert_eq!(settled(&standing).await, Candidacy::Standing, "the next campaign publishes anew");
}

#[tokio::test]
async fn who_is_not_to_lead_or_cannot_does_not_stand() {
    let (standing, _) = standing();
    standing.occupy(true);
    let _campaign = standing.begin();
    assert_eq!(settled(&standing).await, Candidacy::Looking);
    standing.occupy(false);
    assert_eq!(settled(&standing).await, Candidacy::Standing);
    standing.bar(true);
    assert_eq!(settled(&standing).await, Candidacy::Withdrawn);
    standing.occupy(true);
    standing.bar(false);
    assert_eq!(settled(&standing).await, Candidacy::Withdrawn, "for one reason, when the other is gone");
    standing.occupy(false);
    assert_eq!(settled(&standing).await, Candidacy::Standing);
}
