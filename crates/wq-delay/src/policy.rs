//! ImmediateAdd: what an add without a delay does to an item that waits for its deadline.

/// What an add without a delay does to the deadline of a delayed item.
///
/// The result of the add, and when the item comes out:
#[doc = include_str!("immediate_add.md")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ImmediateAdd {
    /// Both adds count, as in client-go: the item runs now, and once more at its deadline.
    #[default]
    Keep,
    /// One run, now: the add removes the deadline.
    Merge,
    /// One run, later: the add joins the delayed add and waits for its deadline. With a delay of
    /// [`Duration::MAX`](std::time::Duration::MAX) the item never comes out, unless it is
    /// [canceled](crate::DelayingQueue::cancel) or moved.
    Defer,
}
