//! The wq-core work queue with adds that become due later.
