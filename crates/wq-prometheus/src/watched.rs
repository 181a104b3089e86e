//! `Watched`: the queues whose gauges can be read.

use wq_core::{Backlog, QueueReader, WorkQueue};
use wq_delay::DelayingQueue;
use wq_ratelimit::RateLimitingQueue;

/// A queue that [`QueueMetrics`](crate::QueueMetrics) can watch: one of any layer, or of yours on top.
pub trait Watched {
    /// What it holds.
    type Item: Send + 'static;
    /// What decides its order.
    type Backlog: Backlog + Send + 'static;

    /// Its name, which is the label.
    fn name(&self) -> Option<&str>;

    /// What reads its gauges without keeping it alive.
    fn reader(&self) -> QueueReader<Self::Item, Self::Backlog>;

    /// What tells how many items wait for their deadline, without keeping the queue alive: `None` from its end on. `None` for a
    /// queue that delays nothing.
    fn delayed(&self) -> Option<Delayed> {
        None
    }
}

/// See [`Watched::delayed`].
pub type Delayed = Box<dyn Fn() -> Option<usize> + Send + Sync>;

impl<T: Send + 'static, B: Backlog + Send + 'static, S> Watched for WorkQueue<T, B, S> {
    type Item = T;
    type Backlog = B;

    fn name(&self) -> Option<&str> {
        self.name()
    }

    fn reader(&self) -> QueueReader<T, B> {
        self.reader()
    }
}

impl<T: Send + 'static, B: Backlog + Send + 'static, S> Watched for DelayingQueue<T, B, S> {
    type Item = T;
    type Backlog = B;

    fn name(&self) -> Option<&str> {
        self.name()
    }

    fn reader(&self) -> QueueReader<T, B> {
        self.reader().core().clone()
    }

    fn delayed(&self) -> Option<Delayed> {
        let reader = self.reader();
        Some(Box::new(move || reader.delayed()))
    }
}

impl<T: Send + 'static, L, B: Backlog + Send + 'static, S> Watched for RateLimitingQueue<T, L, B, S> {
    type Item = T;
    type Backlog = B;

    fn name(&self) -> Option<&str> {
        self.name()
    }

    fn reader(&self) -> QueueReader<T, B> {
        self.reader().core().clone()
    }

    fn delayed(&self) -> Option<Delayed> {
        let reader = self.reader();
        Some(Box::new(move || reader.delayed()))
    }
}
