//! Tests of standing: a candidate stands while a campaign wants it and its elector may lead.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;
use crate::error::StoreError;

/// A standing whose publisher counts its lives, and ends when it is unwanted.
fn standing() -> (Arc<Standing>, Arc<AtomicU32>) {
    let lives = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&lives);
    let publish: Publish = Arc::new(move |board, mut want| {
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

/// The candidacy once all tasks have run.
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
    assert_eq!(
        standing.board().candidacy(),
        Candidacy::Withdrawn,
        "taken back when the last has ended"
    );
    let _fourth = standing.begin();
    assert_eq!(settled(&standing).await, Candidacy::Standing);
    assert_eq!(lives.load(Ordering::SeqCst), 2);
}

/// A clock may panic, for example.
#[tokio::test(start_paused = true)]
async fn a_publisher_that_panics_is_begun_again_within_its_campaign_ever_more_seldom_and_that_is_counted()
 {
    const HOUR: Duration = Duration::from_secs(3600);
    let lives: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let (log, begun) = (Arc::clone(&lives), tokio::time::Instant::now());
    let publish: Publish = Arc::new(move |board, mut want| {
        let log = Arc::clone(&log);
        Box::pin(async move {
            board.note(Candidacy::Standing);
            let life = {
                let mut lives = log.lock().unwrap();
                lives.push(begun.elapsed());
                lives.len()
            };
            if life == 9 {
                tokio::time::sleep(HOUR).await;
            }
            assert!(life > 10, "life {life} panics");
            let _ = want.wait_for(|want| !want).await;
            board.note(Candidacy::Withdrawn);
        })
    });
    let counters: Arc<Counters> = Arc::default();
    let standing = Arc::new(Standing::new(publish, true, true).counting(&counters));
    let campaign = standing.begin();
    assert_eq!(
        settled(&standing).await,
        Candidacy::LeftBehind(StoreError::unknown("its publisher panicked"))
    );
    assert_eq!(
        standing.manner(),
        Manner::Elected { stands: false, impatient: false },
        "it does not count"
    );
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(standing.board().candidacy(), Candidacy::Standing);
    let pauses: Vec<u64> =
        lives.lock().unwrap().windows(2).map(|two| (two[1] - two[0]).as_secs()).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 3601, 2], "a long life begins the row anew");
    assert_eq!(counters.stats().publisher_failures, 10);
    campaign.end().await;
    assert_eq!(standing.board().candidacy(), Candidacy::Withdrawn);
    assert_eq!(counters.stats().publisher_failures, 10, "an end is no failure");
}

#[tokio::test(start_paused = true)]
async fn one_that_panicked_and_is_wanted_no_more_is_not_begun_again_and_holds_nobody_up() {
    let publish: Publish = Arc::new(|_, _| Box::pin(async { panic!("each time") }));
    let standing = Arc::new(Standing::new(publish, true, true));
    let campaign = standing.begin();
    assert!(matches!(settled(&standing).await, Candidacy::LeftBehind(_)));
    let asked = tokio::time::Instant::now();
    campaign.end().await;
    assert_eq!(asked.elapsed(), Duration::ZERO);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

#[test]
fn one_that_ended_with_its_runtime_is_told_and_begun_again_by_a_campaign_in_another() {
    let (standing, lives) = standing();
    let (first, second) = (runtime(), runtime());
    let _campaign = first.block_on(async {
        let campaign = standing.begin();
        assert_eq!(settled(&standing).await, Candidacy::Standing);
        campaign
    });
    let mut news = standing.news();
    drop(first);
    assert!(news.has_changed().unwrap(), "whoever follows it is woken");
    assert_eq!(
        *news.borrow_and_update(),
        Candidacy::LeftBehind(StoreError::unknown("its runtime went away"))
    );
    assert_eq!(standing.manner(), Manner::Elected { stands: false, impatient: false });
    second.block_on(async {
        standing.keep_up();
        assert_eq!(settled(&standing).await, Candidacy::Standing);
        standing.keep_up();
        assert_eq!(settled(&standing).await, Candidacy::Standing);
        assert_eq!(lives.load(Ordering::SeqCst), 2);
        // A withdrawn candidate is not kept up.
        standing.withdraw().await;
        standing.keep_up();
        assert_eq!(settled(&standing).await, Candidacy::Withdrawn);
    });
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
    assert_eq!(
        settled(&standing).await,
        Candidacy::Withdrawn,
        "for one reason, when the other is gone"
    );
    standing.occupy(false);
    assert_eq!(settled(&standing).await, Candidacy::Standing);
}

/// A change during the withdrawal starts nothing; the campaign that goes on starts the publisher.
#[tokio::test]
async fn one_that_is_taken_back_stands_again_when_its_campaign_goes_on() {
    let (standing, lives) = standing();
    let campaign = standing.begin();
    assert_eq!(settled(&standing).await, Candidacy::Standing);
    standing.withdraw().await;
    standing.bar(true);
    standing.bar(false);
    standing.keep_up();
    assert_eq!(settled(&standing).await, Candidacy::Withdrawn);
    standing.go_on();
    assert_eq!(settled(&standing).await, Candidacy::Standing);
    standing.withdraw().await;
    campaign.end().await;
    standing.go_on();
    assert_eq!(settled(&standing).await, Candidacy::Withdrawn, "nobody wants it");
    let _next = standing.begin();
    assert_eq!((settled(&standing).await, lives.load(Ordering::SeqCst)), (Candidacy::Standing, 3));
}

/// Without the API nothing is published, and a restart would have to find the absence again.
#[tokio::test]
async fn who_may_not_lead_yet_does_not_stand_and_still_knows_where_there_is_no_api() {
    let (standing, lives) = standing();
    let _campaign = standing.begin();
    assert_eq!(settled(&standing).await, Candidacy::Standing);
    standing.await_clear(true);
    standing.keep_up();
    assert_eq!(settled(&standing).await, Candidacy::Withdrawn);
    standing.await_clear(false);
    assert_eq!(settled(&standing).await, Candidacy::Standing);
    standing.board().note(Candidacy::ApiAbsent);
    standing.await_clear(true);
    assert_eq!(
        (settled(&standing).await, standing.manner()),
        (Candidacy::ApiAbsent, Manner::Alone)
    );
    // The API appears after all.
    standing.board().note(Candidacy::Standing);
    standing.await_clear(true);
    assert_eq!((settled(&standing).await, lives.load(Ordering::SeqCst)), (Candidacy::Withdrawn, 2));
}
