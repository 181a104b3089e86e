//! The list, the roles in `deploy/`, the table for operators and the reading of requests agree.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{PERMISSIONS, Permission, Scope};
use crate::names::{CLUSTER_ROLE_FILE, ROLE_FILE};

/// Group, resource, verb and, if it is limited to one, the object's name.
type Granted = (String, String, String, Option<String>);

fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

/// What the only role of this kind in a file grants.
fn granted_by(file: &str, text: &str, kind: &str) -> Vec<Granted> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).expect(file);
    let mut roles = documents.iter().filter(|document| document["kind"] == kind);
    let role = roles.next().expect("a role");
    assert!(roles.next().is_none(), "{file}: more than one {kind}");
    let mut granted = Vec::new();
    for rule in role["rules"].as_array().expect("rules") {
        let keys: Vec<&String> = rule.as_object().expect("a rule").keys().collect();
        assert!(keys.iter().all(|key| {
            ["apiGroups", "resources", "resourceNames", "verbs"].contains(&key.as_str())
        }));
        let names = texts(&rule["resourceNames"]);
        assert!(names.len() <= 1);
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                for verb in texts(&rule["verbs"]) {
                    granted.push((group.clone(), resource.clone(), verb, names.first().cloned()));
                }
            }
        }
    }
    granted
}

fn needed(scopes: &[Scope]) -> BTreeSet<Granted> {
    let needed = PERMISSIONS.iter().filter(|permission| scopes.contains(&permission.scope));
    needed
        .map(|permission| {
            let named = permission.scope == Scope::Lease && permission.verb != "create";
            (
                permission.group.to_owned(),
                permission.resource.to_owned(),
                permission.verb.to_owned(),
                named.then(|| "hostpath-provisioner".to_owned()),
            )
        })
        .collect()
}

#[test]
fn the_roles_grant_exactly_the_list() {
    for (file, text, kind, scopes) in [
        (
            CLUSTER_ROLE_FILE,
            include_str!("../../deploy/30-cluster-role.yaml"),
            "ClusterRole",
            &[Scope::Cluster, Scope::AnyNamespace][..],
        ),
        (ROLE_FILE, include_str!("../../deploy/20-role.yaml"), "Role", &[Scope::Lease]),
    ] {
        let granted = granted_by(file, text, kind);
        let once: BTreeSet<Granted> = granted.iter().cloned().collect();
        assert_eq!(once.len(), granted.len(), "{file} grants something twice");
        assert_eq!(once, needed(scopes), "{file}");
    }
}

#[test]
fn the_table_for_operators_is_the_list() {
    let text = include_str!("../../../../docs/operating.md");
    for permission in &PERMISSIONS {
        let Permission { verb, group, resource, scope, used_to } = permission;
        let group = if group.is_empty() { "core" } else { group };
        let place = match scope {
            Scope::Cluster => "cluster",
            Scope::AnyNamespace => "all namespaces",
            Scope::Lease => "the Lease's namespace",
        };
        let row = format!("| {verb} | {resource} | {group} | {place} | {used_to} |");
        assert!(text.contains(&row), "docs/operating.md has no row\n{row}");
    }
    let rows = text.lines().filter(|line| {
        PERMISSIONS.iter().any(|one| line.starts_with(&format!("| {} |", one.verb)))
    });
    assert_eq!(rows.count(), PERMISSIONS.len());
}

#[test]
fn no_permission_stands_in_the_list_twice() {
    let all: BTreeSet<_> =
        PERMISSIONS.iter().map(|one| (one.verb, one.group, one.resource)).collect();
    assert_eq!(all.len(), PERMISSIONS.len());
}

#[test]
fn requests_are_read_as_the_server_reads_them() {
    let read = |request: &str| {
        let (method, url) = request.split_once(' ').unwrap();
        let (path, query) =
            url.split_once('?').map_or((url, None), |(path, query)| (path, Some(query)));
        let place = Permission::of_request(method, path, query)?;
        let Permission { verb, group, resource, .. } = PERMISSIONS[place];
        Some(format!("{verb} {group}/{resource}"))
    };
    for (request, needs) in [
        ("GET /api/v1/persistentvolumeclaims?&limit=500", Some("list /persistentvolumeclaims")),
        (
            "GET /api/v1/persistentvolumeclaims?&watch=true&timeoutSeconds=5",
            Some("watch /persistentvolumeclaims"),
        ),
        (
            "GET /api/v1/namespaces/shop/persistentvolumeclaims/data",
            Some("get /persistentvolumeclaims"),
        ),
        (
            "PATCH /api/v1/namespaces/shop/persistentvolumeclaims/data?",
            Some("patch /persistentvolumeclaims"),
        ),
        ("POST /api/v1/persistentvolumes", Some("create /persistentvolumes")),
        ("DELETE /api/v1/persistentvolumes/pvc-1", Some("delete /persistentvolumes")),
        (
            "GET /apis/storage.k8s.io/v1/storageclasses/hostpath",
            Some("get storage.k8s.io/storageclasses"),
        ),
        ("POST /apis/events.k8s.io/v1/namespaces/shop/events", Some("create events.k8s.io/events")),
        (
            "PUT /apis/coordination.k8s.io/v1/namespaces/ns/leases/l",
            Some("update coordination.k8s.io/leases"),
        ),
        (
            "GET /apis/coordination.k8s.io/v1/namespaces/ns/leases?watch=true&fieldSelector=metadata.name%3Dl",
            Some("watch coordination.k8s.io/leases"),
        ),
        ("GET /proxy/path/api/v1/persistentvolumes", Some("list /persistentvolumes")),
        ("GET /version", None),
        ("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", None),
        ("PATCH /api/v1/persistentvolumes/pvc-1/status", None),
        ("DELETE /api/v1/persistentvolumes", None),
        ("GET /api/v1", None),
        ("GET /api", None),
        ("GET /", None),
    ] {
        assert_eq!(read(request).as_deref(), needs, "{request}");
    }
}
