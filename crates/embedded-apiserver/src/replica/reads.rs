//! Which requests read the cache, by method and URI: `shouldDelegateList` and its neighbours in
//! k8s.io/apiserver/pkg/storage/cacher.

use api_front::{RequestInfo, Verb};
use http::{Method, Uri};

use crate::api::query::Query;

/// The source of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The store.
    Newest,
    /// The cache as it is.
    Cache,
    /// The cache, after it has every write up to now.
    CaughtUp,
}

pub(crate) fn source(method: &Method, uri: &Uri) -> Source {
    let info = RequestInfo::of(method, uri);
    let query = Query::parse(uri.query().unwrap_or_default());
    let option = |name: &str| query.get(name).unwrap_or_default();
    let version = option("resourceVersion");
    if is_uncached(&info) {
        return Source::Newest;
    }
    match info.verb {
        Verb::Watch if version.is_empty() && query.flag("sendInitialEvents") => Source::CaughtUp,
        Verb::Watch => Source::Cache,
        Verb::Get if !info.resource.is_empty() && !version.is_empty() => Source::Cache,
        Verb::List => {
            let pages = !matches!(option("limit"), "" | "0") && version != "0";
            let exact = option("resourceVersionMatch") == "Exact";
            if version.is_empty() || pages || exact || !option("continue").is_empty() {
                Source::Newest
            } else {
                Source::Cache
            }
        }
        _ => Source::Newest,
    }
}

/// Events are not cached (`DefaultWatchCacheSizes` of k8s.io/kubernetes/pkg/kubeapiserver: size 0).
fn is_uncached(info: &RequestInfo) -> bool {
    info.resource == "events" && matches!(&*info.group, "" | "events.k8s.io")
}

#[cfg(test)]
mod tests {
    use super::{Source, source};
    use http::Method;

    #[test]
    fn only_reads_that_allow_an_old_answer_get_one() {
        const PODS: &str = "/api/v1/namespaces/a/pods";
        for (path, expected) in [
            ("", Source::Newest),
            ("?resourceVersion=", Source::Newest),
            ("?resourceVersion=0", Source::Cache),
            ("?resourceVersion=0&limit=500", Source::Cache),
            ("?resourceVersion=7", Source::Cache),
            ("?resourceVersion=7&resourceVersionMatch=NotOlderThan", Source::Cache),
            ("?resourceVersion=7&limit=1", Source::Newest),
            ("?resourceVersion=7&resourceVersionMatch=Exact", Source::Newest),
            ("?limit=1&continue=x", Source::Newest),
            ("/p", Source::Newest),
            ("/p?resourceVersion=0", Source::Cache),
            ("?watch=true", Source::Cache),
            ("?watch=1&resourceVersion=7", Source::Cache),
            (
                "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                Source::CaughtUp,
            ),
            ("?watch=true&sendInitialEvents=true&resourceVersion=0", Source::Cache),
        ] {
            assert_eq!(
                source(&Method::GET, &format!("{PODS}{path}").parse().unwrap()),
                expected,
                "{path}"
            );
        }
        let write = format!("{PODS}/p?resourceVersion=0").parse().unwrap();
        for method in [Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(source(&method, &write), Source::Newest);
        }
        for events in ["/api/v1/events", "/apis/events.k8s.io/v1/namespaces/a/events"] {
            for query in
                ["?resourceVersion=0", "?watch=1&resourceVersion=7", "/e?resourceVersion=0"]
            {
                let path = format!("{events}{query}").parse().unwrap();
                assert_eq!(source(&Method::GET, &path), Source::Newest, "{path}");
            }
        }
        let others = "/apis/example.com/v1/events?resourceVersion=0".parse().unwrap();
        assert_eq!(source(&Method::GET, &others), Source::Cache);
        assert_eq!(source(&Method::GET, &"/version".parse().unwrap()), Source::Newest);
    }
}
