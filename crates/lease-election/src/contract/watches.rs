//! The rules of watches.

use futures::StreamExt;

use super::place::{Place, TIMELY, is_later, must, record};
use crate::record::StoredLease;
use crate::store::{LeaseEvent, LeaseEvents, LeaseStore};

pub(super) async fn can_watch(place: Place) -> bool {
    must("a lease can be created", place.one.create(&record("a", 1)).await);
    place.one.watch(None).await.is_ok()
}

/// Reads the watch until it reports this state, or until it reports a deletion and a read returns
/// this state.
async fn tells(
    rule: &str,
    store: &dyn LeaseStore,
    watch: &mut LeaseEvents,
    state: Option<&StoredLease>,
) {
    let told = async {
        loop {
            match watch.next().await {
                Some(Ok(LeaseEvent::Alive)) => {}
                Some(Ok(LeaseEvent::Changed(lease))) if Some(&lease) == state => return,
                Some(Ok(LeaseEvent::Changed(lease))) => {
                    let is_old = state.is_none_or(|state| is_later(&state.version, &lease.version));
                    assert!(
                        is_old,
                        "{rule}: it tells of {lease:?}, which never was; now there is {state:?}"
                    );
                }
                Some(Ok(LeaseEvent::Deleted(Some(_)))) if state.is_none() => return,
                Some(Ok(LeaseEvent::Deleted(_))) => {
                    if must(rule, store.get().await).as_ref() == state {
                        return;
                    }
                }
                Some(Err(error)) => panic!("{rule}: {error}"),
                None => panic!("{rule}: it ends before it told of {state:?}"),
            }
        }
    };
    if tokio::time::timeout(TIMELY, told).await.is_err() {
        panic!("{rule}: it does not tell of {state:?} within {TIMELY:?}");
    }
}

pub(super) async fn a_watch_tells_the_state_and_the_changes(place: Place) {
    let rule = "a watch tells the state and the changes";
    let mut lease = must(rule, place.one.create(&record("a", 1)).await);
    let mut watch = must(rule, place.other.watch(None).await);
    tells(rule, &*place.other, &mut watch, Some(&lease)).await;
    for write in 2..6 {
        lease = must(rule, place.one.update(&lease.version, &record("a", write)).await);
        tells(rule, &*place.other, &mut watch, Some(&lease)).await;
    }
    // Own writes, too.
    lease = must(rule, place.other.update(&lease.version, &record("b", 6)).await);
    let mut own = must(rule, place.other.watch(None).await);
    tells(rule, &*place.other, &mut own, Some(&lease)).await;
}

pub(super) async fn a_watch_tells_the_changes_after_a_version(place: Place) {
    let rule = "a watch tells the changes after a version";
    let made = must(rule, place.one.create(&record("a", 1)).await);
    let seen = must(rule, place.other.get().await).unwrap_or_else(|| panic!("{rule}: it is there"));
    // Between the read and the watch.
    let second = must(rule, place.one.update(&made.version, &record("a", 2)).await);
    let mut watch = must(rule, place.other.watch(Some(&seen.version)).await);
    tells(rule, &*place.other, &mut watch, Some(&second)).await;
    let third = must(rule, place.one.update(&second.version, &record("a", 3)).await);
    tells(rule, &*place.other, &mut watch, Some(&third)).await;
}

pub(super) async fn a_watch_of_nothing_tells_the_creation(place: Place) {
    let rule = "a watch of nothing tells the creation";
    let mut watch = must(rule, place.other.watch(None).await);
    let made = must(rule, place.one.create(&record("a", 1)).await);
    tells(rule, &*place.other, &mut watch, Some(&made)).await;
}

pub(super) async fn a_watch_tells_the_end(place: Place) {
    let rule = "a watch tells the end";
    let made = must(rule, place.one.create(&record("a", 1)).await);
    let mut watch = must(rule, place.other.watch(Some(&made.version)).await);
    (place.delete)().await;
    tells(rule, &*place.other, &mut watch, None).await;
}
