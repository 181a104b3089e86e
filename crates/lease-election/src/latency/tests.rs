//! Latency tests: bounds are inclusive, the last bucket has none, and sums saturate.

use super::*;

#[test]
fn a_time_falls_into_the_first_bucket_that_it_does_not_exceed() {
    let mut latency = Latency::default();
    for bound in Latency::BOUNDS {
        latency.note(bound);
    }
    latency.note(Duration::ZERO);
    latency.note(Duration::from_micros(1001));
    latency.note(Duration::MAX);
    let expected = [2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
    assert_eq!(latency.counts(), expected);
    assert_eq!((latency.count(), latency.sum()), (18, Duration::MAX));
    let mut twice = latency;
    twice.join(&latency);
    assert_eq!((twice.count(), twice.counts()[1], twice.sum()), (36, 4, Duration::MAX));
}
