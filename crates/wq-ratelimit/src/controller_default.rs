//! The pair of limiters that client-go gives a controller.

use crate::exponential::ExponentialBackoff;
use crate::max_of::MaxOf;
use crate::rate::Rate;
use crate::token_bucket::TokenBucket;
use std::time::Duration;

/// client-go's default for controllers: the longer of a back-off per item, 5 ms doubling to 1000 s, and a bucket of ten
/// per second with a burst of a hundred.
#[must_use]
#[doc(alias = "DefaultTypedControllerRateLimiter")]
#[doc(alias = "DefaultControllerRateLimiter")]
pub fn controller_default<T>() -> MaxOf<ExponentialBackoff<T>, TokenBucket> {
    let backoff = ExponentialBackoff::checked(Duration::from_millis(5), Duration::from_secs(1000));
    MaxOf::new(backoff, TokenBucket::of(Rate::CONTROLLER))
}
