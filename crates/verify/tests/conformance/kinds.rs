//! Every built-in kind that the server serves is walked through, drawn and documented.

use std::path::Path;

use embedded_apiserver::EmbeddedApiServer;
use serde_json::Value;
use verify::{conformance, fuzz};

/// Kinds without a case or without random calls, and why.
const WITHOUT: &[(&str, &str, &str)] = &[
    ("case", "LeaseCandidate", "real servers serve it only with a flag"),
    ("random calls", "Namespace", "each sequence of calls is in one"),
];

/// Version, group and name of every built-in kind that can be listed.
async fn served() -> Vec<(String, String, String)> {
    let client = EmbeddedApiServer::new().client();
    let of = async |path: &str| {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request::<Value>(request).await.unwrap()
    };
    let groups = of("/apis").await;
    let groups = groups["groups"].as_array().unwrap().iter();
    let versions = groups.flat_map(|group| group["versions"].as_array().unwrap());
    let mut versions: Vec<String> =
        versions.map(|version| version["groupVersion"].as_str().unwrap().to_owned()).collect();
    versions.push("v1".to_owned());
    let mut kinds = Vec::new();
    for version in versions {
        let root = if version == "v1" { "/api" } else { "/apis" };
        let group = version.split_once('/').map_or("core", |(group, _)| group);
        for resource in of(&format!("{root}/{version}")).await["resources"].as_array().unwrap() {
            let is_listed = resource["verbs"].as_array().unwrap().iter().any(|verb| verb == "list");
            if is_listed {
                let kind = resource["kind"].as_str().unwrap().to_owned();
                kinds.push((version.clone(), group.to_owned(), kind));
            }
        }
    }
    kinds
}

#[tokio::test]
async fn every_served_kind_has_a_case_random_calls_and_a_line_in_the_docs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/embedded-apiserver.md");
    let page = std::fs::read_to_string(path).unwrap();
    let is_documented = |group: &str, kind: &str| {
        let mut rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
        rows.any(|(groups, kinds)| {
            groups.split(", ").any(|one| one == group)
                && kinds.split(|c: char| !c.is_alphanumeric()).any(|one| one == kind)
        })
    };
    let walked = conformance::walked();
    let mut missing = Vec::new();
    for (version, group, kind) in served().await {
        for (what, is_there) in [
            ("case", walked.contains(&(version.as_str(), kind.as_str()))),
            ("random calls", fuzz::draws_of(&version, &kind)),
            ("line in the table of kinds", is_documented(&group, &kind)),
        ] {
            let is_excepted = WITHOUT.iter().any(|(part, name, _)| *part == what && *name == kind);
            if is_there == is_excepted {
                missing.push(format!("{version} {kind}: {what}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "CONTRIBUTING, \"A new built-in kind\", says how to add what is missing (or excepted, and \
         there): {missing:#?}"
    );
}
