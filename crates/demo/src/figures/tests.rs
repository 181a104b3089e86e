//! Nearest-rank percentiles at their edges.

use super::{Waits, ms, rate_tenths};
use std::time::Duration;

fn waits(ms: impl IntoIterator<Item = u64>) -> Waits {
    Waits::of(ms.into_iter().map(Duration::from_millis))
}

#[test]
fn percentiles_are_nearest_rank() {
    let hundred = waits((1..=100).rev());
    assert_eq!(hundred.percentile(50), Some(Duration::from_millis(50)));
    assert_eq!(hundred.percentile(99), Some(Duration::from_millis(99)));
    assert_eq!(hundred.percentile(100), Some(Duration::from_millis(100)));
    assert_eq!(hundred.percentile(0), Some(Duration::from_millis(1)));
    assert_eq!(waits([7]).percentile(99), Some(Duration::from_millis(7)));
    assert_eq!(waits([1, 2, 3]).percentile(50), Some(Duration::from_millis(2)));
    assert_eq!(waits([]).percentile(50), None);
}

#[test]
fn rates_are_in_tenths_and_never_divide_by_nothing() {
    assert_eq!(rate_tenths(500, Duration::from_secs(20)), 250);
    assert_eq!(rate_tenths(1, Duration::from_secs(3)), 3);
    assert_eq!(rate_tenths(5, Duration::ZERO), 50_000);
    assert_eq!(ms(Duration::from_micros(1999)), 1);
    assert_eq!(ms(Duration::MAX), u64::MAX);
}
