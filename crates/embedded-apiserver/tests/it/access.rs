//! RBAC: users, tokens, impersonation, used grants and refusals.

use embedded_apiserver::{EmbeddedApiServer, Hook, User};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::objects::{code, config_map};
use crate::wire;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const VERSION: &str = "rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";

fn server() -> EmbeddedApiServer {
    EmbeddedApiServer::builder().rbac(true).build()
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

async fn post(server: &EmbeddedApiServer, path: &str, object: &Value) {
    let answer = wire::post(server, path, object).await;
    assert_eq!(answer.code, StatusCode::CREATED, "{}", answer.text);
}

/// A Role in `default` with one rule, bound to the subject.
async fn grant(
    server: &EmbeddedApiServer,
    name: &str,
    verbs: &[&str],
    resources: &[&str],
    subject: Value,
) {
    let rules = json!([{ "apiGroups": [""], "resources": resources, "verbs": verbs }]);
    let role = json!({ "apiVersion": VERSION, "kind": "Role", "metadata": { "name": name }, "rules": rules });
    post(server, &format!("{RBAC}/namespaces/default/roles"), &role).await;
    let binding = json!({
        "apiVersion": VERSION, "kind": "RoleBinding", "metadata": { "name": name }, "subjects": [subject],
        "roleRef": { "apiGroup": GROUP, "kind": "Role", "name": name },
    });
    post(server, &format!("{RBAC}/namespaces/default/rolebindings"), &binding).await;
}

fn user(name: &str) -> Value {
    json!({ "kind": "User", "apiGroup": GROUP, "name": name })
}

#[tokio::test]
async fn a_client_without_a_name_may_do_everything_and_one_with_a_name_what_its_roles_say() {
    let server = server();
    grant(&server, "reader", &["get", "list"], &["configmaps"], user("bob")).await;
    maps(&server.client()).create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let bob = maps(&server.client_as("bob"));
    assert_eq!(bob.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let refused = bob.delete("a", &DeleteParams::default()).await.unwrap_err();
    assert!(
        refused.to_string().contains(
            r#"configmaps "a" is forbidden: User "bob" cannot delete resource "configmaps" in API group "" in the namespace "default""#
        ),
        "{refused}"
    );
    assert_eq!(code(refused), (403, "Forbidden".to_owned()));
    assert_eq!(server.requests().by("bob").answered_with(403), 1);
}

#[tokio::test]
async fn without_rbac_everybody_may_do_everything_and_nothing_is_refused() {
    let server = EmbeddedApiServer::new();
    let bob = maps(&server.client_as("bob"));
    bob.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    assert!(server.access().refused().is_empty());
    assert!(server.access().by("bob").grants().is_empty());
}

#[tokio::test]
async fn groups_and_service_accounts_have_their_roles() {
    let server = server();
    grant(
        &server,
        "of-group",
        &["list"],
        &["configmaps"],
        json!({ "kind": "Group", "name": "dev" }),
    )
    .await;
    grant(
        &server,
        "of-account",
        &["list"],
        &["configmaps"],
        json!({ "kind": "ServiceAccount", "name": "robot" }),
    )
    .await;
    let may =
        async |user: User| maps(&server.client_as(user)).list(&ListParams::default()).await.is_ok();
    assert!(may(User::new("x").group("dev")).await);
    assert!(!may(User::new("x")).await);
    assert!(may(User::service_account("default", "robot")).await);
    assert!(!may(User::service_account("other", "robot")).await);
    assert!(may(User::new("x").group("system:masters")).await);
}

#[tokio::test]
async fn roles_take_effect_with_the_write_that_makes_them() {
    let server = server();
    let bob = maps(&server.client_as("bob"));
    for _ in 0..3 {
        assert!(bob.list(&ListParams::default()).await.is_err());
        grant(&server, "r", &["list"], &["configmaps"], user("bob")).await;
        assert!(bob.list(&ListParams::default()).await.is_ok());
        for plural in ["roles", "rolebindings"] {
            wire::delete(&server, &format!("{RBAC}/namespaces/default/{plural}/r"), &json!({}))
                .await;
        }
        server.compact();
    }
}

#[tokio::test]
async fn the_roles_of_every_cluster_are_there_and_admin_edit_and_view_have_their_parts() {
    let server = server();
    let binding = json!({
        "apiVersion": VERSION, "kind": "RoleBinding", "metadata": { "name": "v" }, "subjects": [user("bob")],
        "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": "view" },
    });
    post(&server, &format!("{RBAC}/namespaces/default/rolebindings"), &binding).await;
    let client = server.client_as("bob");
    assert!(maps(&client).list(&ListParams::default()).await.is_ok());
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::default_namespaced(client.clone());
    assert!(secrets.list(&ListParams::default()).await.is_err());
    assert!(maps(&client).create(&PostParams::default(), &config_map("a", "1")).await.is_err());
    assert!(client.apiserver_version().await.is_ok());
}

#[tokio::test]
async fn a_manifest_can_be_tested_for_exactly_the_verbs_that_it_needs() {
    let server = server();
    let account = "system:serviceaccount:default:controller";
    let subject = json!({ "kind": "ServiceAccount", "name": "controller", "namespace": "default" });
    grant(&server, "controller", &["get", "list", "create"], &["configmaps"], subject).await;
    let controller = maps(&server.client_as(account));
    controller.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    controller.get("a").await.unwrap();
    let access = server.access();
    access.by(account).assert_nothing_refused();

    let unused = access.by(account).unused();
    assert_eq!(unused.len(), 1);
    assert_eq!(
        unused[0].to_string(),
        r#"list configmaps in namespace "default" (Role "controller")"#
    );
    controller.list(&ListParams::default()).await.unwrap();
    access.by(account).assert_nothing_refused().assert_all_used();

    controller.delete("a", &DeleteParams::default()).await.unwrap_err();
    let refused = access.by(account).refused();
    assert_eq!(
        refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [format!(r#"{account}: delete configmaps "a" in namespace "default""#)]
    );
    assert_eq!(refused[0].times, 1);
    access.forget();
    assert!(access.refused().is_empty());
    assert_eq!(access.by(account).unused().len(), 3);
}

#[tokio::test]
#[should_panic(expected = "did not need:\n  list configmaps in namespace \"default\" (Role \"c\")")]
async fn what_is_not_needed_is_listed_by_the_assertion() {
    let server = server();
    grant(&server, "c", &["get", "list"], &["configmaps"], user("bob")).await;
    let _ = maps(&server.client_as("bob")).get("a").await;
    server.access().by("bob").assert_all_used();
}

#[tokio::test]
#[should_panic(expected = "bob was refused:\n  bob: get configmaps \"a\" in namespace \"default\"")]
async fn what_was_refused_is_listed_by_the_assertion() {
    let server = server();
    let _ = maps(&server.client_as("bob")).get("a").await;
    server.access().by("bob").assert_nothing_refused();
}

#[tokio::test]
async fn of_two_grants_of_the_same_the_first_counts_so_the_rest_can_all_go() {
    let server = server();
    grant(&server, "a", &["get"], &["configmaps"], user("bob")).await;
    grant(&server, "b", &["get", "*"], &["configmaps", "secrets"], user("bob")).await;
    let _ = maps(&server.client_as("bob")).get("x").await;
    let used: Vec<_> =
        server.access().by("bob").used().into_iter().map(|grant| grant.role).collect();
    assert_eq!(used, ["a"]);
    for plural in ["rolebindings", "roles"] {
        wire::delete(&server, &format!("{RBAC}/namespaces/default/{plural}/b"), &json!({})).await;
    }
    assert_eq!(code(maps(&server.client_as("bob")).get("x").await.unwrap_err()).0, 404);
}

#[tokio::test]
async fn a_question_uses_nothing_and_refuses_nothing() {
    let server = server();
    grant(&server, "r", &["get"], &["configmaps"], user("bob")).await;
    let reviews: Api<SelfSubjectAccessReview> = Api::all(server.client_as("bob"));
    let ask = async |verb: &str| {
        let attributes = ResourceAttributes {
            verb: Some(verb.to_owned()),
            resource: Some("configmaps".to_owned()),
            namespace: Some("default".to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..Default::default()
        };
        let question = SelfSubjectAccessReview { spec, ..Default::default() };
        reviews.create(&PostParams::default(), &question).await.unwrap().status.unwrap().allowed
    };
    assert!(ask("get").await);
    assert!(!ask("list").await);
    assert!(server.access().by("bob").used().is_empty());
    assert!(server.access().refused().is_empty());
}

#[tokio::test]
async fn without_rbac_a_review_allows_everything() {
    let server = EmbeddedApiServer::new();
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let spec = json!({ "resourceAttributes": { "verb": "get", "resource": "pods" } });
    let answer = wire::post(&server, path, &json!({ "spec": spec })).await;
    assert_eq!(
        (answer.code, &answer.json()["status"]),
        (StatusCode::CREATED, &json!({ "allowed": true }))
    );
}

/// A write of a role or a binding by bob.
async fn bob_posts(server: &EmbeddedApiServer, plural: &str, object: Value) -> StatusCode {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("{RBAC}/namespaces/default/{plural}"))
        .header("content-type", "application/json")
        .body(Full::<bytes::Bytes>::from(object.to_string()))
        .unwrap();
    server.service().as_user("bob").oneshot(request).await.unwrap().status()
}

#[tokio::test]
async fn what_is_needed_to_grant_it_is_used_and_what_may_not_be_granted_is_refused() {
    let server = server();
    grant(&server, "holder", &["get", "list"], &["configmaps"], user("bob")).await;
    let rules = json!([{ "apiGroups": [GROUP], "resources": ["roles", "rolebindings"], "verbs": ["create"] }]);
    let role = json!({ "metadata": { "name": "writer" }, "rules": rules });
    post(&server, &format!("{RBAC}/namespaces/default/roles"), &role).await;
    let binding = |name: &str, role: &str| {
        json!({
            "metadata": { "name": name }, "subjects": [user("bob")],
            "roleRef": { "apiGroup": GROUP, "kind": "Role", "name": role },
        })
    };
    post(&server, &format!("{RBAC}/namespaces/default/rolebindings"), &binding("writer", "writer"))
        .await;
    let role = |name: &str, verbs: &[&str]| {
        let rules = json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }]);
        json!({ "metadata": { "name": name }, "rules": rules })
    };
    let bob = server.access().by("bob");
    assert_eq!(
        bob_posts(&server, "roles", role("own", &["get", "get"])).await,
        StatusCode::CREATED
    );
    let used: Vec<_> = bob.used().iter().map(|grant| (grant.verb.clone(), grant.uses)).collect();
    assert_eq!(used, [("create".to_owned(), 1), ("get".to_owned(), 1)]);
    bob.assert_nothing_refused();

    assert_eq!(
        bob_posts(&server, "roles", role("more", &["list", "delete"])).await,
        StatusCode::FORBIDDEN
    );
    let used: Vec<_> = bob.used().into_iter().map(|grant| grant.verb).collect();
    assert_eq!(used, ["create", "get"], "a write that is refused needs nothing");
    post(&server, &format!("{RBAC}/namespaces/default/roles"), &role("strong", &["delete"])).await;
    assert_eq!(
        bob_posts(&server, "rolebindings", binding("b", "strong")).await,
        StatusCode::FORBIDDEN
    );
    let refused: Vec<_> = bob.refused().iter().map(ToString::to_string).collect();
    assert_eq!(
        refused,
        [
            r#"bob: bind roles.rbac.authorization.k8s.io "strong" in namespace "default""#,
            r#"bob: escalate roles.rbac.authorization.k8s.io in namespace "default""#,
        ]
    );
    assert!(bob.refused().iter().all(|refusal| refusal.times == 1));

    let mut to_another = binding("c", "own");
    to_another["subjects"] = json!([user("carol")]);
    assert_eq!(bob_posts(&server, "rolebindings", to_another).await, StatusCode::CREATED);
    assert_eq!(bob_posts(&server, "roles", role("rest", &["list"])).await, StatusCode::CREATED);
    bob.assert_all_used();
}

/// A request to a service, and its response.
async fn send(
    service: embedded_apiserver::ApiService,
    path: &str,
    headers: &[(&str, &str)],
) -> (StatusCode, Value) {
    let mut request = Request::builder().method(Method::GET).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::<bytes::Bytes>::default()).unwrap();
    let response = service.oneshot(request).await.unwrap();
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_token_has_its_users_groups_and_a_wrong_one_is_401() {
    let server = EmbeddedApiServer::builder()
        .rbac(true)
        .token(User::new("bob").group("dev"), "token-of-bob")
        .build();
    grant(&server, "r", &["list"], &["configmaps"], json!({ "kind": "Group", "name": "dev" }))
        .await;
    let path = "/api/v1/namespaces/default/configmaps";
    let with = async |token: &str| send(server.service(), path, &[("authorization", token)]).await;
    assert_eq!(with("Bearer token-of-bob").await.0, StatusCode::OK);
    let (refused, status) = with("Bearer other").await;
    assert_eq!((refused, &status["reason"]), (StatusCode::UNAUTHORIZED, &json!("Unauthorized")));
    assert_eq!(server.requests().by("bob").counts().requests, 1);
}

#[tokio::test]
async fn impersonation_needs_a_right_which_is_noted() {
    let server = server();
    grant(&server, "r", &["list"], &["configmaps"], user("alice")).await;
    let path = "/api/v1/namespaces/default/configmaps";
    let by_bob =
        async |headers: &[(&str, &str)]| send(server.service().as_user("bob"), path, headers).await;
    let (code, status) = by_bob(&[("impersonate-user", "alice")]).await;
    assert_eq!(code, StatusCode::FORBIDDEN);
    let expected = r#"configmaps is forbidden: User "bob" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "default""#;
    assert_eq!(status["message"], expected);

    let rules = json!([{ "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["alice"] }]);
    let role = json!({ "apiVersion": VERSION, "kind": "ClusterRole", "metadata": { "name": "i" }, "rules": rules });
    post(&server, &format!("{RBAC}/clusterroles"), &role).await;
    let binding = json!({
        "apiVersion": VERSION, "kind": "ClusterRoleBinding", "metadata": { "name": "i" },
        "subjects": [user("bob")], "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": "i" },
    });
    post(&server, &format!("{RBAC}/clusterrolebindings"), &binding).await;
    assert_eq!(by_bob(&[("impersonate-user", "alice")]).await.0, StatusCode::OK);
    assert_eq!(by_bob(&[("impersonate-user", "carol")]).await.0, StatusCode::FORBIDDEN);
    let with_group = [("impersonate-user", "alice"), ("impersonate-group", "system:masters")];
    assert_eq!(by_bob(&with_group).await.0, StatusCode::FORBIDDEN);
    let used: Vec<_> = server.access().by("bob").used().iter().map(ToString::to_string).collect();
    assert_eq!(used, [r#"impersonate users "alice" (ClusterRole "i")"#]);
    assert_eq!(server.access().by("alice").used().len(), 1);
}

#[tokio::test]
async fn a_replica_decides_by_the_newest_roles() {
    let server = server();
    let replica = server.replica().behind(std::time::Duration::from_secs(3600));
    let bob: Api<ConfigMap> = Api::default_namespaced(replica.client_as("bob"));
    assert_eq!(code(bob.list(&ListParams::default()).await.unwrap_err()).0, 403);
    grant(&server, "r", &["list"], &["configmaps"], user("bob")).await;
    assert!(bob.list(&ListParams::default()).await.is_ok());
}

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

/// A PUT or an apply to the Lease `l` by bob.
async fn bob_writes(server: &EmbeddedApiServer, apply: bool) -> (StatusCode, Value) {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l" },
        "spec": { "holderIdentity": "bob" },
    });
    let (method, media) = match apply {
        true => (Method::PATCH, "application/apply-patch+yaml"),
        false => (Method::PUT, "application/json"),
    };
    let old = wire::get(server, &format!("{LEASES}/l")).await;
    let mut lease = lease;
    if old.code == StatusCode::OK && !apply {
        lease["metadata"]["resourceVersion"] = old.json()["metadata"]["resourceVersion"].clone();
    }
    let request = Request::builder()
        .method(method)
        .uri(format!("{LEASES}/l?fieldManager=bob"))
        .header("content-type", media)
        .body(Full::<bytes::Bytes>::from(lease.to_string()))
        .unwrap();
    let response = server.service().as_user("bob").oneshot(request).await.unwrap();
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn grant_leases(server: &EmbeddedApiServer, name: &str, rule: Value) {
    let mut rule = rule;
    rule["apiGroups"] = json!(["coordination.k8s.io"]);
    rule["resources"] = json!(["leases"]);
    let role = json!({ "apiVersion": VERSION, "kind": "Role", "metadata": { "name": name }, "rules": [rule] });
    post(server, &format!("{RBAC}/namespaces/default/roles"), &role).await;
    let binding = json!({
        "apiVersion": VERSION, "kind": "RoleBinding", "metadata": { "name": name }, "subjects": [user("bob")],
        "roleRef": { "apiGroup": GROUP, "kind": "Role", "name": name },
    });
    post(server, &format!("{RBAC}/namespaces/default/rolebindings"), &binding).await;
}

#[tokio::test]
async fn an_update_or_an_apply_that_creates_needs_the_verb_create_too() {
    for (apply, verb) in [(false, "update"), (true, "patch")] {
        let server = server();
        grant_leases(&server, "writer", json!({ "verbs": [verb] })).await;
        let (code, status) = bob_writes(&server, apply).await;
        assert_eq!(code, StatusCode::FORBIDDEN, "{verb}: {status}");
        let refused = r#"leases.coordination.k8s.io "l" is forbidden: User "bob" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default""#;
        assert_eq!(status["message"], refused);
        let details = json!({ "name": "l", "group": "coordination.k8s.io", "kind": "leases" });
        assert_eq!((&status["reason"], &status["details"]), (&json!("Forbidden"), &details));
        assert_eq!(wire::get(&server, &format!("{LEASES}/l")).await.code, StatusCode::NOT_FOUND);
        let bob = server.access().by("bob");
        let refused: Vec<_> = bob.refused().iter().map(ToString::to_string).collect();
        assert_eq!(
            refused,
            [r#"bob: create leases.coordination.k8s.io "l" in namespace "default""#]
        );

        // Unlike in a POST, the name is known: a rule may be restricted to it.
        grant_leases(&server, "other", json!({ "verbs": ["create"], "resourceNames": ["other"] }))
            .await;
        assert_eq!(bob_writes(&server, apply).await.0, StatusCode::FORBIDDEN);
        grant_leases(&server, "creator", json!({ "verbs": ["create"], "resourceNames": ["l"] }))
            .await;
        server.access().forget();
        assert_eq!(bob_writes(&server, apply).await.0, StatusCode::CREATED);
        let used = |of: &str| {
            bob.used().iter().filter(|grant| grant.verb == of).map(|grant| grant.uses).sum::<u64>()
        };
        assert_eq!((used("create"), used(verb)), (1, 1));

        // An update of an existing object needs no `create`.
        let (code, status) = bob_writes(&server, apply).await;
        assert_eq!(code, StatusCode::OK, "{status}");
        assert_eq!((used("create"), used(verb)), (1, 2));
        bob.assert_nothing_refused();
    }
}

#[tokio::test]
async fn a_dry_run_and_a_hook_do_not_get_around_the_verb_create() {
    let server = server();
    grant_leases(&server, "writer", json!({ "verbs": ["update"] })).await;
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let hook = {
        let asked = std::sync::Arc::clone(&asked);
        Hook::validating("h.example.com", move |_| {
            asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        })
    };
    server.admission().add(hook.resource("leases"));
    let (code, _) = bob_writes(&server, false).await;
    assert_eq!(code, StatusCode::FORBIDDEN);
    // A refused create reaches no validating hook, and counts as one refusal.
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 0);
    assert_eq!(server.access().by("bob").refused()[0].times, 1);
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l" }, "spec": {},
    });
    let request = Request::builder()
        .method(Method::PUT)
        .uri(format!("{LEASES}/l?dryRun=All"))
        .header("content-type", "application/json")
        .body(Full::<bytes::Bytes>::from(lease.to_string()))
        .unwrap();
    let response = server.service().as_user("bob").oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}
