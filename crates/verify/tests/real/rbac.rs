//! The provisioner with exactly its permissions, and with each of them missing.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use control_plane::ControlPlane;
use futures::future::join_all;
use hostpath_provisioner::{MARKER_FILE, Marker, PERMISSIONS, PROVISIONER, Permission, Scope};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use verify::real;

use crate::provisioner::{
    Provisioner, claim, deploy, make, token, until, until_bound, until_taken_back,
};

/// A short lease, so that what waits for an election does not wait for long.
const FAST: [&str; 4] = ["--lease-duration", "5s", "--retry-period", "1s"];
/// From a grant to readiness and a bound claim. On two cores that do nothing else it is 6 s at
/// most, all of them at once.
const FEW_SECONDS: Duration = Duration::from_secs(20);
/// Every request of the account is logged, by the server's own reading of it.
const AUDIT_POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts:hostpath-provisioner"]}, {"level": "None"}]}"#;

/// What the server saw an account do: verb, group, resource and the answer's status.
fn audited(log: &std::path::Path) -> BTreeSet<(String, String, String, u64)> {
    let text = fs::read_to_string(log).unwrap_or_default();
    // The last line may be half written.
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    entries
        .filter(|entry| entry["objectRef"].is_object())
        .map(|entry| {
            let object = &entry["objectRef"];
            assert!(object["subresource"].is_null(), "{entry}");
            let code = entry["responseStatus"]["code"].as_u64().unwrap_or_default();
            (of(&entry["verb"]), of(&object["apiGroup"]), of(&object["resource"]), code)
        })
        .collect()
}

/// The verbs that the server saw, without the question for them.
fn used(log: &std::path::Path) -> BTreeSet<(String, String, String)> {
    let all = audited(log).into_iter().map(|(verb, group, resource, _)| (verb, group, resource));
    all.filter(|(_, _, resource)| resource != "selfsubjectaccessreviews").collect()
}

fn listed() -> BTreeSet<(String, String, String)> {
    let all = PERMISSIONS.iter();
    all.map(|one| (one.verb.to_owned(), one.group.to_owned(), one.resource.to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_life_uses_every_verb_that_is_granted_and_no_other() {
    const NAME: &str = "hostpath-provisioner";
    let folder = tempfile::tempdir().unwrap();
    let (policy, log) = (folder.path().join("policy.json"), folder.path().join("audit.log"));
    fs::write(&policy, AUDIT_POLICY).unwrap();
    let builder = ControlPlane::builder()
        .controller_manager(true)
        .api_server_flag(format!("--audit-policy-file={}", policy.display()))
        .api_server_flag(format!("--audit-log-path={}", log.display()));
    let Some(plane) = tokio::task::block_in_place(|| real::own(builder)) else { return };
    let admin = real::client(&plane, "admin").await;
    let applied = plane.kubectl().unwrap().args(["apply", "-f"]).arg(deploy()).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
    let token = token(&admin, NAME, NAME).await;
    let flags = [&["--storage-class", "hostpath", "--lease-namespace", NAME], &FAST[..]].concat();
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(admin.clone(), NAME);

    // A claim lives and dies; another waits for something it cannot have, twice for the same
    // reason.
    let first = Provisioner::start(&plane, &token, &flags);
    first.until_ready_says("it is ready", |code, _| code == 200).await;
    let volume = until_bound(&claims, "sample", || first.log()).await;
    let mut odd = claim("odd", "hostpath");
    odd["spec"]["selector"] = json!({"matchLabels": {"no": "such"}});
    make(&claims, odd).await;
    let noted = async |times: i32| {
        let events: Api<Event> = Api::namespaced(admin.clone(), NAME);
        let events = events.list(&ListParams::default()).await.unwrap();
        let of_odd = events.items.into_iter().filter(|event| {
            event.reason.as_deref() == Some("ProvisioningFailed")
                && event.regarding.as_ref().and_then(|about| about.name.as_deref()) == Some("odd")
        });
        of_odd.map(|event| event.series.map_or(1, |series| series.count)).max() >= Some(times)
    };
    until("the Event is there", &|| first.log(), async || noted(1).await).await;
    let again = Patch::Merge(json!({"metadata": {"annotations": {"please": "again"}}}));
    claims.patch("odd", &PatchParams::default(), &again).await.unwrap();
    until("the Event is counted", &|| first.log(), async || noted(2).await).await;
    // The directory of a leader that crashed before it had made the volume, for a claim that is
    // gone.
    let marker = first.root.join(&volume).join(MARKER_FILE);
    let mut orphan = Marker::parse(&fs::read(marker).unwrap()).unwrap();
    claims.delete("sample", &DeleteParams::default()).await.unwrap();
    until_taken_back(&admin, &first.root, &volume, || first.log()).await;
    let stopped = first.stop().await;
    assert_eq!(stopped.0.code(), Some(0));
    orphan.claim_uid = "00000000-0000-4000-8000-000000000000".to_owned();
    orphan.claim_name = "gone".to_owned();
    orphan.volume = format!("pvc-{}", orphan.claim_uid);
    let left = stopped.2.join(&orphan.volume);
    fs::create_dir(&left).unwrap();
    fs::write(left.join(MARKER_FILE), orphan.to_bytes()).unwrap();

    // The next leader asks for the claim, and takes the directory back.
    let second = Provisioner::again(&plane, &token, &flags, stopped);
    until("the directory of nobody is gone", &|| second.log(), async || !left.exists()).await;
    until("every verb was used", &|| format!("{:?}", used(&log)), async || {
        used(&log).len() >= PERMISSIONS.len()
    })
    .await;
    let missing = |fields: &Value| {
        fields["message"].as_str().is_some_and(|text| text.contains("missing permission"))
    };
    assert_eq!(second.logged("WARN", missing), 0, "{}", second.log());
    second.stop().await;
    assert_eq!(used(&log), listed());
    let refused: Vec<_> = audited(&log).into_iter().filter(|(.., code)| *code == 403).collect();
    assert!(refused.is_empty(), "{refused:?}");
    let lease: Api<Lease> = Api::namespaced(admin.clone(), NAME);
    let holder = lease.get(NAME).await.unwrap().spec.unwrap().holder_identity;
    assert!(
        holder.as_deref().unwrap_or_default().is_empty(),
        "the lease was not given back: {holder:?}"
    );
}

/// Everything of one provisioner, under one name, with roles that lack one permission.
struct Deployment<'a> {
    admin: &'a Client,
    name: String,
    lacks: &'static Permission,
}

impl Deployment<'_> {
    /// The rules of a role for these scopes; with `all`, also what is to be granted later.
    fn rules(&self, of_lease: bool, all: bool) -> Vec<PolicyRule> {
        let granted = PERMISSIONS.iter().filter(|one| (one.scope == Scope::Lease) == of_lease);
        let granted = granted.filter(|one| all || *one != self.lacks);
        let rule = |one: &Permission| PolicyRule {
            api_groups: Some(vec![one.group.to_owned()]),
            resources: Some(vec![one.resource.to_owned()]),
            verbs: vec![one.verb.to_owned()],
            resource_names: (of_lease && one.verb != "create").then(|| vec![self.name.clone()]),
            ..PolicyRule::default()
        };
        granted.map(rule).collect()
    }

    async fn make(&self) {
        let Self { admin, name, .. } = self;
        let client = || Client::clone(admin);
        let meta = json!({"name": name});
        let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": name}]);
        let bound = |kind: &str| {
            json!({
                "metadata": meta, "subjects": subjects,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            })
        };
        make::<Namespace>(&Api::all(client()), json!({"metadata": meta})).await;
        make::<ServiceAccount>(&Api::namespaced(client(), name), json!({"metadata": meta})).await;
        let class = json!({"metadata": meta, "provisioner": PROVISIONER});
        make::<StorageClass>(&Api::all(client()), class).await;
        let cluster = json!({"metadata": meta, "rules": self.rules(false, false)});
        make::<ClusterRole>(&Api::all(client()), cluster).await;
        make::<ClusterRoleBinding>(&Api::all(client()), bound("ClusterRole")).await;
        let namespaced = json!({"metadata": meta, "rules": self.rules(true, false)});
        make::<Role>(&Api::namespaced(client(), name), namespaced).await;
        make::<RoleBinding>(&Api::namespaced(client(), name), bound("Role")).await;
    }

    async fn grant(&self) {
        let of_lease = self.lacks.scope == Scope::Lease;
        let rules = Patch::Merge(json!({"rules": self.rules(of_lease, true)}));
        let (admin, params) = (Client::clone(self.admin), PatchParams::default());
        if of_lease {
            let roles: Api<Role> = Api::namespaced(admin, &self.name);
            roles.patch(&self.name, &params, &rules).await.unwrap();
        } else {
            let roles: Api<ClusterRole> = Api::all(admin);
            roles.patch(&self.name, &params, &rules).await.unwrap();
        }
    }

    /// What would be in the way of others that use the same cluster.
    async fn remove(&self) {
        let (name, params) = (&self.name, DeleteParams::default());
        let client = || Client::clone(self.admin);
        Api::<ClusterRole>::all(client()).delete(name, &params).await.unwrap();
        Api::<ClusterRoleBinding>::all(client()).delete(name, &params).await.unwrap();
        Api::<StorageClass>::all(client()).delete(name, &params).await.unwrap();
        Api::<Namespace>::all(client()).delete(name, &params).await.unwrap();
    }
}

/// Starts, tells what is missing, is granted it, serves a claim. Returns how long it took from the
/// grant to readiness and to a bound claim.
async fn lives_through_lacking(
    plane: &ControlPlane,
    admin: &Client,
    lacks: &'static Permission,
) -> (&'static Permission, Duration, Duration) {
    let Permission { verb, group, resource, .. } = lacks;
    let deployment = Deployment { admin, name: format!("without-{verb}-{resource}"), lacks };
    deployment.make().await;
    let name = deployment.name.as_str();
    let token = token(admin, name, name).await;
    let flags = ["--storage-class", name, "--lease-namespace", name, "--lease-name", name];
    let provisioner = Provisioner::start(plane, &token, &[&flags[..], &FAST].concat());
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(admin.clone(), name);
    make(&claims, claim("data", name)).await;

    let named = format!("missing permission: {lacks}");
    provisioner
        .until_ready_says(&named, |code, text| {
            code == 503 && text.matches("missing permission").count() == 1 && text.contains(&named)
        })
        .await;
    let is_it = |fields: &Value| {
        (&fields["verb"], &fields["group"], &fields["resource"])
            == (&json!(verb), &json!(group), &json!(resource))
    };
    let warned = provisioner.logged("WARN", |fields| {
        is_it(fields) && fields["message"].as_str().is_some_and(|text| text.contains(&named))
    });
    assert_eq!(warned, 1, "{}", provisioner.log());
    let gauge = format!(
        "hostpath_provisioner_permission_missing{{verb=\"{verb}\",group=\"{group}\",resource=\"{resource}\"}}"
    );
    let shown = async || {
        let (_, text) = provisioner.get("/metrics").await.expect("metrics");
        let gauges = text
            .lines()
            .filter(|line| line.starts_with("hostpath_provisioner_permission_missing{"));
        let missing = gauges
            .filter(|line| line.ends_with(" 1"))
            .map(|line| line.trim_end_matches(" 1").to_owned());
        missing.collect::<Vec<_>>()
    };
    assert_eq!(shown().await, [gauge]);

    deployment.grant().await;
    let granted = tokio::time::Instant::now();
    let ready = provisioner.until_ready_says("it is ready again", |code, _| code == 200).await;
    let volume = until_bound(&claims, "data", || provisioner.log()).await;
    let bound = granted.elapsed();
    assert!(bound < FEW_SECONDS, "{lacks}: {bound:?}; its log:\n{}", provisioner.log());
    assert_eq!(provisioner.logged("INFO", |fields| is_it(fields)), 1, "{}", provisioner.log());
    assert!(shown().await.is_empty());
    claims.delete("data", &DeleteParams::default()).await.unwrap();
    until_taken_back(admin, &provisioner.root, &volume, || provisioner.log()).await;
    let (ended, ..) = provisioner.stop().await;
    assert_eq!(ended.code(), Some(0));
    deployment.remove().await;
    (lacks, ready, bound)
}

#[tokio::test(flavor = "multi_thread")]
#[expect(
    clippy::print_stderr,
    reason = "how long it takes is worth knowing, beyond that it is not too long"
)]
async fn every_permission_that_is_missing_is_named_and_its_grant_is_noticed_within_seconds() {
    let Some(plane) = tokio::task::block_in_place(real::shared) else { return };
    let admin = real::client(plane, "admin").await;
    let begun = tokio::time::Instant::now();
    let lived =
        join_all(PERMISSIONS.iter().map(|lacks| lives_through_lacking(plane, &admin, lacks))).await;
    for (lacks, ready, bound) in &lived {
        eprintln!("{lacks}: ready {ready:.1?} after the grant, its claim bound after {bound:.1?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}
