//! The wq-delay work queue with per-item back-off, token buckets, and one call that ends an item's work.
