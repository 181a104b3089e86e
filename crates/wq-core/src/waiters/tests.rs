//! Tests of the line of waiters.
