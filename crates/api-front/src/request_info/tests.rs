//! The table of paths.

use super::{RequestInfo, Verb, resource_matches};
use http::{Method, Uri};

fn of(method: Method, uri: &str) -> RequestInfo {
    RequestInfo::of(&method, &uri.parse::<Uri>().expect("a valid URI"))
}

/// (method, uri) -> "verb qualified-resource namespace name"
fn said(method: Method, uri: &str) -> String {
    let info = of(method, uri);
    format!(
        "{} {} {} {}",
        info.verb,
        info.qualified_resource(),
        info.namespace.as_deref().unwrap_or("-"),
        info.name.as_deref().unwrap_or("-")
    )
}

#[test]
fn verbs_come_from_method_name_and_watch_parameter() {
    assert_eq!(said(Method::GET, "/api/v1/pods"), "list pods - -");
    assert_eq!(said(Method::GET, "/api/v1/pods?&watch=true&limit=5"), "watch pods - -");
    assert_eq!(said(Method::GET, "/api/v1/pods?watch=yes"), "watch pods - -");
    assert_eq!(said(Method::GET, "/api/v1/pods?watch"), "watch pods - -");
    assert_eq!(said(Method::GET, "/api/v1/pods?watch=0"), "list pods - -");
    assert_eq!(said(Method::GET, "/api/v1/pods?watch=false"), "list pods - -");
    assert_eq!(said(Method::GET, "/api/v1/namespaces/a/pods/p"), "get pods a p");
    assert_eq!(said(Method::POST, "/api/v1/namespaces/a/pods"), "create pods a -");
    assert_eq!(said(Method::PUT, "/api/v1/namespaces/a/pods/p/status"), "update pods/status a p");
    assert_eq!(said(Method::PATCH, "/api/v1/namespaces/a/pods/p"), "patch pods a p");
    assert_eq!(said(Method::DELETE, "/api/v1/namespaces/a/pods/p"), "delete pods a p");
    assert_eq!(said(Method::DELETE, "/api/v1/namespaces/a/pods"), "deletecollection pods a -");
    assert_eq!(said(Method::OPTIONS, "/api/v1/pods"), "other pods - -");
}

#[test]
fn groups_and_namespaces_are_told_apart() {
    assert_eq!(
        said(Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/x"),
        "update leases.coordination.k8s.io ns x"
    );
    assert_eq!(said(Method::GET, "/api/v1/namespaces"), "list namespaces - -");
    assert_eq!(said(Method::GET, "/api/v1/namespaces/ns"), "get namespaces ns ns");
    assert_eq!(
        said(Method::PUT, "/api/v1/namespaces/ns/finalize"),
        "update namespaces/finalize ns ns"
    );
    assert_eq!(said(Method::GET, "/api/v1/namespaces/ns/status"), "get namespaces/status ns ns");
    assert_eq!(said(Method::GET, "/api/v1/namespaces/ns/pods/"), "list pods ns -");
}

#[test]
fn a_name_in_the_field_selector_counts() {
    assert_eq!(
        said(Method::GET, "/api/v1/pods?fieldSelector=metadata.name%3Dp&watch=1"),
        "watch pods - p"
    );
    assert_eq!(said(Method::GET, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn"), "list pods - -");
}

#[test]
fn paths_that_are_no_resource_keep_their_path() {
    for path in
        ["/", "/version", "/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1", "/healthz"]
    {
        let info = of(Method::GET, path);
        assert_eq!((info.verb, info.resource.as_str(), info.path.as_str()), (Verb::Get, "", path));
    }
}

#[test]
fn an_escaped_slash_separates_like_a_slash() {
    assert_eq!(said(Method::GET, "/api/v1/namespaces/a%2Fpods/p"), "get pods a p");
}

#[test]
fn patterns_match_plural_group_and_subresource() {
    let leases = |pattern| resource_matches(pattern, "coordination.k8s.io", "leases", None);
    assert!(leases("leases") && leases("leases.coordination.k8s.io"));
    assert!(!leases("leases.example.com") && !leases("lease") && !leases("leases/status"));
    assert!(resource_matches("pods", "", "pods", Some("status")));
    assert!(resource_matches("pods/status", "", "pods", Some("status")));
    assert!(!resource_matches("pods/status", "", "pods", Some("log")));
}
