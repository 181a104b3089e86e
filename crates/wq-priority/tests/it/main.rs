//! The public API of wq-priority, one module a theme.

mod backlog;
mod queue;
