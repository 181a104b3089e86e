//! `Watched`: the queues whose gauges can be read.

use wq_core::{Backlog, QueueReader, WorkQueue};
use wq_delay::DelayingQueue;
use wq_ratelimit::RateLimitingQueue;

/// A queue that [`QueueMetrics`](crate::QueueMetrics) can watch: of any layer, or your own on top.
pub trait Watched {
    /// The type of the items.
    type Item: Send + 'static;
    /// The type of the backlog.
    type Backlog: Backlog + Send + 'static;

    /// Returns the name of the queue, which is the label.
    fn name(&self) -> Option<&str>;

    /// Returns a reader of the gauges that does not keep the queue alive.
    fn reader(&self) -> QueueReader<Self::Item, Self::Backlog>;

    /// Returns a function that counts the delayed items without keeping the queue alive. Its result
    /// is `None` once the queue is gone.
    ///
    /// `None`, the default, for a queue that delays nothing.
    fn delayed(&self) -> Option<Delayed> {
        None
    }
}

/// The function that [`Watched::delayed`] returns.
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

impl<T: Send + 'static, L, B: Backlog + Send + 'static, S> Watched
    for RateLimitingQueue<T, L, B, S>
{
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
