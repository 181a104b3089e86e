//! The public API of wq-priority, one module a theme.

mod backlog;
mod contract;
mod depths;
mod hostile;
mod steps;
mod upstream;
