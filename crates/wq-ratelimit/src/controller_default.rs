//! The default limiters of client-go.

use crate::exponential::ExponentialBackoff;
use crate::max_of::MaxOf;
use crate::rate::Rate;
use crate::token_bucket::TokenBucket;
use std::time::Duration;

/// client-go's default for controllers: [`item_default`] from 5 ms on, and a bucket of ten per
/// second with a burst of a hundred. The longer wait counts.
#[must_use]
#[doc(alias = "DefaultTypedControllerRateLimiter")]
#[doc(alias = "DefaultControllerRateLimiter")]
pub fn controller_default<T>() -> MaxOf<ExponentialBackoff<T>, TokenBucket> {
    let backoff = ExponentialBackoff::checked(Duration::from_millis(5), Duration::from_secs(1000));
    MaxOf::new(backoff, TokenBucket::of(Rate::CONTROLLER))
}

/// client-go's default without a bucket: a back-off per item, 1 ms doubling to 1000 s.
#[must_use]
#[doc(alias = "DefaultTypedItemBasedRateLimiter")]
#[doc(alias = "DefaultItemBasedRateLimiter")]
pub fn item_default<T>() -> ExponentialBackoff<T> {
    ExponentialBackoff::checked(Duration::from_millis(1), Duration::from_secs(1000))
}
