//! Tracing: the events that a subscriber receives.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;
use wq_core::tracing::TraceEvents;
use wq_core::{Observer, WorkQueue};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[test]
fn each_event_is_one_at_level_trace_that_names_the_queue_and_no_item() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .without_time()
        .with_writer(lines.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let queue =
            WorkQueue::builder().observer(TraceEvents::new("claims")).capacity(1).build().unwrap();
        queue.add("secret");
        let _ = queue.try_add("other");
        let guard = queue.try_get().unwrap();
        queue.add("secret");
        guard.done();
        queue.remove("secret");
        // The events of the layers above.
        let layer = TraceEvents::new("claims");
        layer.retried();
        layer.due(Duration::from_millis(1500));
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let events: Vec<&str> = text.lines().collect();
    assert!(events.iter().all(|event| event.trim_start().starts_with("TRACE wq_core:")), "{text}");
    assert!(
        events.iter().all(|event| event.contains("queue=\"claims\"")) && !text.contains("secret"),
        "{text}"
    );
    let told = [
        "added added=Queued",
        "refused",
        "got waited=",
        "added added=Deferred",
        "done worked=",
        "requeued",
        "removed",
        "retried",
        "due late=1.5",
    ];
    assert_eq!(events.len(), told.len(), "{text}");
    for (event, word) in events.iter().zip(told) {
        let (first, rest) = word.split_once(' ').unwrap_or((word, ""));
        assert!(event.contains(first) && event.contains(rest), "{event} is not {word}");
    }
}
