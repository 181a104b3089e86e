//! `CacheConfig`: the scope of one watch, and the indexes of its cache.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{ListParams, WatchParams};

use super::Index;
use crate::hostile::loggable;

type Transform<K> = Arc<dyn Fn(&mut K) + Send + Sync>;

/// Shortest and longest time a watch may be asked to last.
const WATCH_TIMES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3600));

/// The scope and the indexes of a cache. Lists are always consistent reads (`resourceVersion`
/// unset).
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use reconciler::CacheConfig;
///
/// let config = CacheConfig::<Pod>::new()
///     .labels("app=web")
///     .transform(|pod| pod.metadata.annotations = None);
/// # let _ = config;
/// ```
pub struct CacheConfig<K> {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) indexes: Vec<Index<K>>,
    pub(crate) transform: Option<Transform<K>>,
    pub(crate) keeps_managed_fields: bool,
    namespaces: Option<Vec<Arc<str>>>,
    labels: Option<String>,
    labels_in: BTreeMap<String, String>,
    fields: Option<String>,
    page_size: u32,
    pub(crate) is_streaming: bool,
    watch_time: Duration,
    pub(crate) answer_time: Duration,
}

impl<K> CacheConfig<K> {
    /// Returns the defaults: all objects of the kind, without managed fields, no index, pages of
    /// 500, watches of 290 s, 10 s for an answer.
    #[must_use]
    pub fn new() -> Self {
        Self {
            name: None,
            indexes: Vec::new(),
            transform: None,
            keeps_managed_fields: false,
            namespaces: None,
            labels: None,
            labels_in: BTreeMap::new(),
            fields: None,
            page_size: 500,
            is_streaming: false,
            watch_time: Duration::from_secs(290),
            answer_time: Duration::from_secs(10),
        }
    }

    /// Sets the cache's name in logs, metrics, `/readyz` and errors. A second cache of one kind in
    /// a manager needs it: of another server, or with another selector.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Keeps this index, so that [`Cache::by_index`](crate::Cache::by_index) reads it.
    #[must_use]
    #[doc(alias = "AddIndexers")]
    pub fn index(mut self, index: &Index<K>) -> Self {
        self.indexes.push(index.clone());
        self
    }

    /// Caches the objects of these namespaces, with one watch for each: the rights of a Role in
    /// each are enough. Give the cache an `Api::all`.
    ///
    /// The cache is complete when the list of each namespace is. A namespace whose watch fails is
    /// named in [`CacheStatus`](crate::CacheStatus), and the others continue. An empty list, a
    /// duplicate and an invalid name are a [`ManagerError`](crate::ManagerError) at the start.
    #[must_use]
    #[doc(alias = "DefaultNamespaces")]
    #[doc(alias = "ByObject")]
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        self.namespaces = Some(namespaces.into_iter().map(Into::into).collect());
        self
    }

    /// Caches only objects that match this label selector.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// As [`labels`](Self::labels), for one of the [`namespaces`](Self::namespaces). Replaces that
    /// selector there.
    #[must_use]
    pub fn labels_in(mut self, namespace: impl Into<String>, selector: impl Into<String>) -> Self {
        self.labels_in.insert(namespace.into(), selector.into());
        self
    }

    /// Caches only objects that match this field selector.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// Changes each object before it is stored, for example to drop fields that no reconcile reads.
    /// Names, uid and versions must stay.
    #[must_use]
    #[doc(alias = "SetTransform")]
    pub fn transform(mut self, transform: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.transform = Some(Arc::new(transform));
        self
    }

    /// Keeps `metadata.managedFields`, which are dropped otherwise: no reconcile reads them, and
    /// they take more memory than many an object.
    #[must_use]
    pub fn keep_managed_fields(mut self) -> Self {
        self.keeps_managed_fields = true;
        self
    }

    /// Sets the page size of a list; 0 requests all objects at once. Default 500, as in client-go's
    /// pager.
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.page_size = objects;
        self
    }

    /// Sets whether the list comes as the start of the watch, and in pages only if the server does
    /// not send it so. Default false.
    ///
    /// It spares the memory of the API server, and costs more CPU here. Kubernetes sends such lists
    /// in 1.32 and since 1.34, by default. A server that refuses one gets one request more. A
    /// server that ignores the request delays the first list by [`answer_time`](Self::answer_time),
    /// and by a minute if events keep coming.
    #[must_use]
    #[doc(alias = "WatchListClient")]
    #[doc(alias = "InitialListStrategy")]
    pub fn streaming_list(mut self, streaming: bool) -> Self {
        self.is_streaming = streaming;
        self
    }

    /// Sets how long the server keeps one watch open, in whole seconds from 1 s to 1 h. Default 290
    /// s.
    ///
    /// A dead connection is noticed 5 s after this time. A shorter time notices it sooner, and
    /// costs one cheap request each time.
    #[must_use]
    pub fn watch_time(mut self, time: Duration) -> Self {
        self.watch_time = time.clamp(WATCH_TIMES.0, WATCH_TIMES.1);
        self
    }

    /// Sets how long to wait for a page of a list, or for the start of a watch. Default 10 s, at
    /// least 100 ms.
    ///
    /// After each late page the wait for the next one doubles, up to a minute or to `time`, if that
    /// is longer. So a slow list still completes.
    #[must_use]
    pub fn answer_time(mut self, time: Duration) -> Self {
        self.answer_time = time.max(Duration::from_millis(100));
        self
    }

    /// The namespaces of [`namespaces`](Self::namespaces).
    pub(crate) fn several(&self) -> Option<&[Arc<str>]> {
        self.namespaces.as_deref()
    }

    /// Why these namespaces cannot be watched, for a kind and the namespace of its `Api`.
    pub(crate) fn check(&self, is_of_cluster: bool, api: Option<&str>) -> Result<(), String> {
        let several = self.namespaces.as_deref().unwrap_or_default();
        if let Some(namespace) =
            self.labels_in.keys().find(|namespace| !several.iter().any(|it| **it == ***namespace))
        {
            let namespace = loggable(namespace);
            return Err(format!(
                "labels_in names {namespace:?}, which CacheConfig::namespaces does not name: add it there"
            ));
        }
        if self.namespaces.is_none() {
            return Ok(());
        }
        if is_of_cluster {
            return Err("the kind has no namespaces: remove CacheConfig::namespaces".to_owned());
        }
        if let Some(namespace) = api {
            return Err(format!(
                "its Api is that of the namespace {namespace:?}: use Api::all with CacheConfig::namespaces"
            ));
        }
        if several.is_empty() {
            return Err("CacheConfig::namespaces names none: name one, or remove it to cache all"
                .to_owned());
        }
        let mut known = HashSet::new();
        for namespace in several {
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let is_label = (1..=63).contains(&namespace.len())
                && namespace.chars().all(fits)
                && !namespace.starts_with('-')
                && !namespace.ends_with('-');
            let namespace = loggable(namespace);
            if !is_label {
                return Err(format!(
                    "{namespace:?} is no namespace: use 1 to 63 of a to z, 0 to 9 and '-', which neither \
                     begins nor ends it"
                ));
            }
            if !known.insert(namespace.clone()) {
                return Err(format!(
                    "CacheConfig::namespaces names {namespace:?} twice: remove one"
                ));
            }
        }
        Ok(())
    }

    fn labels_of(&self, namespace: Option<&str>) -> Option<&String> {
        namespace.and_then(|namespace| self.labels_in.get(namespace)).or(self.labels.as_ref())
    }

    /// The labels that an object of a watch has, if its scope is no more than that.
    pub(crate) fn equal_labels(&self, namespace: Option<&str>) -> Option<Vec<(String, String)>> {
        if self.fields.is_some() {
            return None;
        }
        let labels = self.labels_of(namespace).map_or("", String::as_str).trim();
        if labels.is_empty() {
            return Some(Vec::new());
        }
        let term = |term: &str| {
            let (name, value) = term.split_once('=')?;
            let (name, value) = (name.trim(), value.strip_prefix('=').unwrap_or(value).trim());
            let is_plain = !name.contains(['!', '(', ')', ' ']) && !value.contains(['(', ')', ' ']);
            is_plain.then(|| (name.to_owned(), value.to_owned()))
        };
        labels.split(',').map(term).collect()
    }

    pub(crate) fn list_params(&self, namespace: Option<&str>, token: Option<String>) -> ListParams {
        ListParams {
            label_selector: self.labels_of(namespace).cloned(),
            field_selector: self.fields.clone(),
            limit: (self.page_size > 0).then_some(self.page_size),
            continue_token: token,
            ..ListParams::default()
        }
    }

    pub(crate) fn watch_params(&self, namespace: Option<&str>, streaming: bool) -> WatchParams {
        WatchParams {
            label_selector: self.labels_of(namespace).cloned(),
            field_selector: self.fields.clone(),
            timeout: Some(u32::try_from(self.watch_time.as_secs()).unwrap_or(290)),
            bookmarks: true,
            send_initial_events: streaming,
        }
    }

    /// How long a watch may go without an event before it counts as dead.
    pub(crate) fn idle_time(&self) -> Duration {
        self.watch_time.saturating_add(Duration::from_secs(5))
    }
}

impl<K> Default for CacheConfig<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for CacheConfig<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheConfig")
            .field("name", &self.name)
            .field("indexes", &self.indexes.len())
            .field("namespaces", &self.namespaces)
            .field("labels", &self.labels)
            .field("labels_in", &self.labels_in)
            .field("fields", &self.fields)
            .field("page_size", &self.page_size)
            .field("streaming_list", &self.is_streaming)
            .field("watch_time", &self.watch_time)
            .field("answer_time", &self.answer_time)
            .finish_non_exhaustive()
    }
}
