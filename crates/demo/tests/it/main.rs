//! The demo as its user meets it, in a few seconds: a run that passes, runs that fail, an
//! interrupted run, and bad input.
//!
//! Longer runs, and more of them, are in `tests/processes`.

mod stage;
mod theirs;

mod bad_input;
mod cluster;
mod runs;
