//! The state on its own: history, snapshots of the past, compaction.
