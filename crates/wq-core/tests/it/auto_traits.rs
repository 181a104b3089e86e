//! Auto traits: the types that are `Send`, `Sync` and `Unpin`.

use std::future::Future;

use wq_core::{
    DeferredWakes, Drained, Fifo, Get, GetOwned, OwnedProcessingGuard, ProcessingGuard, WorkQueue,
};

fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn unpin<T: Unpin>() {}
fn is_static<T: 'static>() {}
fn send_future<F: Future + Send + 'static>(_: F) {}

/// `Send`, not `Sync`.
type Cell = std::cell::Cell<u8>;

#[test]
fn handles_guards_and_futures_cross_threads() {
    send::<WorkQueue<Cell>>();
    sync::<WorkQueue<Cell>>();
    send::<ProcessingGuard<'_, Cell>>();
    send::<OwnedProcessingGuard<Cell>>();
    sync::<ProcessingGuard<'_, String>>();
    is_static::<OwnedProcessingGuard<String>>();
    send::<Get<'_, Cell>>();
    send::<GetOwned<Cell>>();
    send::<Drained<'_, Cell>>();
    send::<DeferredWakes<'_, Cell>>();
    is_static::<GetOwned<String>>();
}

#[test]
fn futures_can_be_moved_while_they_wait() {
    unpin::<Get<'_, std::marker::PhantomPinned>>();
    unpin::<GetOwned<String>>();
    unpin::<Drained<'_, std::marker::PhantomPinned>>();
}

#[test]
fn a_worker_is_a_task() {
    let queue = WorkQueue::<String>::new();
    send_future(async move {
        while let Some(item) = queue.get().await {
            std::future::ready(()).await;
            item.done();
        }
        queue.drained().await;
    });
}

#[test]
fn a_queue_without_an_observer_needs_no_bounds() {
    fn any<T, B: wq_core::Backlog, S: Clone>(queue: &WorkQueue<T, B, S>) -> WorkQueue<T, B, S> {
        let _ = format!("{queue:?}");
        queue.clone()
    }
    struct Plain;
    let queue = WorkQueue::<Plain>::new();
    any::<Plain, Fifo, _>(&queue).shutdown();
    assert!(queue.is_shutting_down());
}
