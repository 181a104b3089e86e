//! `Scope`: one watch of a cache, of all namespaces or of one, and its state.

use std::sync::atomic::AtomicU64;

use tokio::sync::{Notify, watch};

use super::CacheStatus;
use super::store::Namespace;

pub(crate) struct Scope {
    pub(crate) namespace: Namespace,
    /// Whether the cache has several: then each is named in logs.
    pub(super) is_one_of_several: bool,
    /// All events up to this version have been read.
    pub(super) newest: AtomicU64,
    pub(super) status: watch::Sender<CacheStatus>,
    /// Signals the watch to end its pause.
    pub(super) hurried: Notify,
}

impl Scope {
    pub(super) fn new(namespace: Namespace, is_one_of_several: bool) -> Self {
        Self {
            namespace,
            is_one_of_several,
            newest: AtomicU64::new(0),
            status: watch::Sender::new(CacheStatus::default()),
            hurried: Notify::new(),
        }
    }

    /// The namespace in logs, where the name of the cache does not tell it.
    pub(super) fn label(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|_| self.is_one_of_several)
    }
}

/// The path of a kind in a namespace: `/api/v1/pods` is `/api/v1/namespaces/a/pods`.
pub(super) fn url_in(all: &str, namespace: &str) -> String {
    let (group, plural) = all.rsplit_once('/').unwrap_or(("", all));
    format!("{group}/namespaces/{namespace}/{plural}")
}
