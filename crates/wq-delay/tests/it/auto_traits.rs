//! Auto traits: the types that can be sent to another thread.

use wq_delay::{DelayingQueue, Drained, Get, GetOwned, KeepTime, ManualTimer, ThreadTimer};

fn send_sync<T: Send + Sync>() {}
fn send<T: Send>() {}

#[test]
fn handles_are_shared_and_futures_are_sent() {
    send_sync::<DelayingQueue<String>>();
    send_sync::<ManualTimer>();
    send_sync::<ThreadTimer>();
    send::<Get<'_, String>>();
    send::<GetOwned<String>>();
    send::<KeepTime<'_, String>>();
    send::<Drained<'_, String>>();
}
