//! One test suite that any of the queues must pass.
