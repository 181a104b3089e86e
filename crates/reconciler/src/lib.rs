//! A level-triggered Kubernetes controller runtime on deduplicating work queues.
