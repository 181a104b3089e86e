//! Fuzz targets: methods, paths, queries and headers of a broken or hostile client.

use http::Method;
use proptest::prelude::*;
use proptest::sample::select;

use crate::fuzz_target::{MAPS, Target, WIDGETS, cases, encoded, names};

const SEGMENTS: &[&str] = &[
    "",
    "/",
    ".",
    "..",
    "%2e%2e",
    "%2f",
    "%00",
    "%ff",
    "%",
    "%zz",
    "%C3%A9",
    "a",
    "b",
    "api",
    "apis",
    "v1",
    "v2",
    "apps",
    "fuzz.example.com",
    "namespaces",
    "default",
    "nowhere",
    "configmaps",
    "pods",
    "widgets",
    "nodes",
    "secrets",
    "status",
    "scale",
    "finalize",
    "log",
    "exec",
    "token",
    "eviction",
    "binding",
    "proxy",
    "watch",
    "openapi",
    "v3",
    "healthz",
    "livez",
    "etcd",
    "version",
    "metrics",
    "embedded",
    "requests",
    "UPPER",
    "a:b",
    "a;b=c",
    "a+b",
    "*",
    "{x}",
    "@",
    "coordination.k8s.io",
    "customresourcedefinitions",
    "selfsubjectaccessreviews",
    "authorization.k8s.io",
];

const NAMES: &[&str] = &[
    "limit",
    "continue",
    "labelSelector",
    "fieldSelector",
    "resourceVersion",
    "resourceVersionMatch",
    "watch",
    "timeoutSeconds",
    "timeout",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "force",
    "pretty",
    "propagationPolicy",
    "gracePeriodSeconds",
    "orphanDependents",
    "preconditions.uid",
    "includeObject",
    "as",
    "verbose",
    "exclude",
    "hash",
    "nothing",
];

const VALUES: &[&str] = &[
    "",
    "0",
    "1",
    "2",
    "-1",
    "18446744073709551616",
    "9223372036854775807",
    "1.5",
    "1e3",
    "0x1",
    " 1",
    "true",
    "false",
    "yes",
    "null",
    "All",
    "Strict",
    "Warn",
    "Ignore",
    "Exact",
    "NotOlderThan",
    "Foreground",
    "Orphan",
    "metadata.name=a",
    "a=b",
    "a in (b,c)",
    "!a",
    "a,,b",
    "spec.x=1",
    "1s",
    "-1h",
    "Object",
    "None",
    "Metadata",
    "\u{0}",
    "é",
    "\u{202e}",
    "%",
    "&",
    "=",
];

fn path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![8 => select(SEGMENTS).prop_map(str::to_owned), 1 => "[!-~]{0,12}", 1 => "a{240,300}"];
    let known = select(vec![
        MAPS,
        WIDGETS,
        "/api/v1",
        "/apis/apps/v1/namespaces/default/deployments",
        "/api/v1/pods",
        "/apis",
    ]);
    prop_oneof![
        1 => prop::collection::vec(segment.clone(), 0..9).prop_map(|segments| format!("/{}", segments.join("/"))),
        2 => (known, prop::collection::vec(segment, 0..4))
            .prop_map(|(known, more)| more.into_iter().fold(known.to_owned(), |path, segment| path + "/" + &segment)),
    ]
}

fn query() -> impl Strategy<Value = String> {
    let value = prop_oneof![6 => select(VALUES).prop_map(str::to_owned), 1 => "\\PC{0,20}", 1 => "[ -~]{0,20}"];
    let pair = (select(NAMES), value, any::<bool>()).prop_map(|(name, value, safe)| {
        let value = if safe { encoded(&value) } else { value };
        format!("{name}={value}")
    });
    prop::collection::vec(pair, 0..5).prop_map(|pairs| pairs.join("&"))
}

fn method() -> impl Strategy<Value = Method> {
    let odd = Method::from_bytes(b"FROB").expect("a token");
    let known = vec![Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let rare = vec![Method::HEAD, Method::OPTIONS, Method::TRACE, Method::CONNECT, odd];
    prop_oneof![9 => select(known), 1 => select(rare)]
}

/// Accept and Content-Type.
fn media() -> impl Strategy<Value = String> {
    let known = select(vec![
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/vnd.kubernetes.protobuf;stream=watch",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/cbor",
        "text/html",
        "*/*",
        "",
    ]);
    let parts = "[a-z*]{0,5}/?[a-z+*]{0,5}(;[a-z]{0,3}=?[a-zA-Z0-9.\"]{0,4}){0,3}(,[ -~]{0,8})?";
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => parts, 1 => "[ -~]{0,16}"]
}

fn body() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "{}",
        "null",
        "[]",
        "{",
        r#"{"metadata":{"name":"c"}}"#,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"w"}}"#,
        r#"[{"op":"remove","path":"/data"}]"#,
        r#"{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}"#,
        "k8s\0",
        "metadata: {name: d}",
    ])
}

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn every_method_path_and_query_gets_an_answer_that_says_what_it_is(
        requests in prop::collection::vec((method(), path(), query(), media(), media(), body()), 50),
    ) {
        let target = Target::new();
        for (method, path, query, accept, media, body) in requests {
            let uri = if query.is_empty() { path } else { format!("{path}?{query}") };
            let headers = [("accept", accept.as_str()), ("content-type", media.as_str())];
            target.send(method, &uri, &headers, body)?;
        }
        target.serves_others()?;
    }
}

/// A continue token with modified JSON.
fn token() -> impl Strategy<Value = String> {
    let number = prop_oneof![Just("-1".to_owned()), "[0-9]{1,20}", "[ -~]{0,6}"];
    let start = prop_oneof![Just("a\\u0000".to_owned()), "[ -~]{0,20}", "(\\.\\.|/|a){0,6}"];
    let made = ("(meta.k8s.io/v1|v[0-9]|)", number, start).prop_map(|(version, number, start)| {
        base64(&format!(r#"{{"v":"{version}","rv":{number},"start":"{start}"}}"#))
    });
    prop_oneof![
        made,
        "[A-Za-z0-9_-]{0,40}",
        "[ -~]{0,20}",
        "(\\PC{0,12})".prop_map(|text| base64(&text))
    ]
}

/// Base64 for URLs, without padding.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digits = |chunk: &[u8]| {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        let digit = move |at: usize| char::from(DIGITS[(bits >> (18 - 6 * at)) as usize & 63]);
        (0..=chunk.len()).map(digit).collect::<String>()
    };
    text.as_bytes().chunks(3).map(digits).collect()
}

proptest! {
    #![proptest_config(cases(30))]
    #[test]
    fn a_forged_token_is_refused_or_leads_into_the_collection(
        path in select(vec![MAPS, "/api/v1/configmaps", "/api/v1/namespaces", WIDGETS]),
        tokens in prop::collection::vec((token(), 0..4_u8), 60),
    ) {
        let target = Target::new();
        for (token, limit) in tokens {
            let answer = target.get(&format!("{path}?limit={limit}&continue={}", encoded(&token)))?;
            if answer.code == 200 {
                let items = names(&answer.json()).len();
                prop_assert!(items <= 4 && (limit == 0 || items <= usize::from(limit)), "{:?}", answer);
            } else {
                prop_assert!(matches!(answer.code.as_u16(), 400 | 410), "{:?}", answer);
            }
        }
    }

    #[test]
    fn pages_of_any_size_are_the_whole_list(sizes in prop::collection::vec(1..4_u8, 1..8)) {
        let target = Target::new();
        let whole = names(&target.get("/api/v1/namespaces")?.json());
        let (mut paged, mut token) = (Vec::new(), String::new());
        for size in sizes.iter().cycle() {
            let page = target.get(&format!("/api/v1/namespaces?limit={size}&continue={token}"))?.json();
            paged.extend(names(&page));
            token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            if token.is_empty() {
                break;
            }
        }
        prop_assert_eq!(paged, whole);
    }
}
