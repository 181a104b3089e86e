//! Auto traits: the types that can be sent to another thread.

use wq_ratelimit::{
    ExponentialBackoff, Get, GetOwned, OwnedProcessingGuard, ProcessingGuard, RateLimitingQueue,
    Shared, TokenBucket,
};

fn send_sync<T: Send + Sync>() {}
fn send<T: Send>() {}

#[test]
fn handles_are_shared_and_guards_and_futures_are_sent() {
    send_sync::<RateLimitingQueue<String, ExponentialBackoff<String>>>();
    send_sync::<Shared<String, ExponentialBackoff<String>>>();
    send_sync::<TokenBucket>();
    send::<ProcessingGuard<'_, String>>();
    send::<OwnedProcessingGuard<String>>();
    send::<Get<'_, String>>();
    send::<GetOwned<String>>();
}
