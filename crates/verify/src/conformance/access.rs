//! Who may do what: refusals, roles and bindings, escalation, impersonation. Other users are
//! impersonated by the admin.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::access::rights::{creating, escalation, impersonation};
use crate::conformance::access::users::{
    GROUP, RBAC, USER, binding, by, get_by, grant, make, message, path, rule, until_known,
    user_subject,
};
use crate::conformance::answer::*;
use crate::conformance::objects::{lease, map, pod};
use crate::conformance::waiting::eventually;
use crate::conformance::{Case, case};

mod rights;
pub(super) mod users;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = refusals();
    cases.extend(roles());
    cases.extend(creating());
    cases.extend(escalation());
    cases.extend(impersonation());
    cases
}

fn refusals() -> Vec<Case> {
    vec![
        case(
            "a_refusal_names_user_verb_resource_and_namespace",
            "A user without rights gets 403 with user, verb, resource, API group and namespace in the message, and name and kind in the details.",
            async |t| {
                let answer = get_by(t, "bob", &t.maps("/x")).await?;
                message(
                    &answer,
                    &format!(
                        "configmaps \"x\" is forbidden: User \"{}\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"{}\"",
                        t.own("bob"),
                        t.namespace
                    ),
                )?;
                same(
                    "the details",
                    &answer.json["details"],
                    &json!({ "name": "x", "kind": "configmaps" }),
                )
            },
        ),
        case(
            "a_refusal_in_a_group_has_the_group_in_the_details",
            "The 403 about a resource of a named group says resource.group in the message and the group in the details.",
            async |t| {
                let answer = by(t, "bob", Method::PUT, &t.leases("/l"), &lease("l", "x")).await?;
                message(
                    &answer,
                    &format!(
                        "leases.coordination.k8s.io \"l\" is forbidden: User \"{}\" cannot update resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"{}\"",
                        t.own("bob"),
                        t.namespace
                    ),
                )?;
                let details =
                    json!({ "name": "l", "group": "coordination.k8s.io", "kind": "leases" });
                same("the details", &answer.json["details"], &details)
            },
        ),
        case(
            "a_refused_list_has_no_name",
            "The 403 of a list has no name in message and details.",
            async |t| {
                let answer = get_by(t, "bob", &t.maps("")).await?;
                let status = answer.says(403, "Forbidden", "configmaps is forbidden: User ")?;
                same("the details", &status["details"], &json!({ "kind": "configmaps" }))
            },
        ),
        case(
            "a_refusal_without_a_namespace_says_cluster_scope",
            "The 403 of a request for all namespaces or a resource of cluster scope ends with `at the cluster scope`.",
            async |t| {
                for path in [
                    "/api/v1/configmaps",
                    "/api/v1/persistentvolumes",
                    "/apis/storage.k8s.io/v1/storageclasses/x",
                ] {
                    get_by(t, "bob", path).await?.says(
                        403,
                        "Forbidden",
                        "\" at the cluster scope",
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_refused_get_of_a_namespace_is_in_that_namespace",
            "A get of a Namespace is refused in the namespace of that name.",
            async |t| {
                let path = format!("/api/v1/namespaces/{}", t.namespace);
                let end = format!("in API group \"\" in the namespace \"{}\"", t.namespace);
                get_by(t, "bob", &path).await?.says(403, "Forbidden", &end)?;
                Ok(())
            },
        ),
        case(
            "each_verb_is_refused_by_its_own_word",
            "A 403 says get, list, watch, create, update, patch, delete or deletecollection, as the request is.",
            async |t| {
                let object = map("x", "v");
                for (method, path, verb) in [
                    (Method::GET, t.maps("/x"), "get"),
                    (Method::HEAD, t.maps("/x"), ""),
                    (Method::GET, t.maps(""), "list"),
                    (Method::GET, t.maps("?watch=1"), "watch"),
                    (Method::POST, t.maps(""), "create"),
                    (Method::PUT, t.maps("/x"), "update"),
                    (Method::PATCH, t.maps("/x"), "patch"),
                    (Method::DELETE, t.maps("/x"), "delete"),
                    (Method::DELETE, t.maps(""), "deletecollection"),
                ] {
                    let body = if method == Method::GET { &Value::Null } else { &object };
                    let answer = by(t, "bob", method, &path, body).await?;
                    if verb.is_empty() {
                        same("the code of HEAD", answer.code, 403)?;
                    } else {
                        answer.says(403, "Forbidden", &format!(" cannot {verb} resource "))?;
                    }
                }
                Ok(())
            },
        ),
        case(
            "a_subresource_is_refused_with_its_name",
            "The 403 of a request to a subresource says resource/subresource, and only the resource in the details.",
            async |t| {
                let answer =
                    by(t, "bob", Method::PATCH, &t.core("pods", "/p/status"), &json!({})).await?;
                answer.says(
                    403,
                    "Forbidden",
                    "cannot patch resource \"pods/status\" in API group",
                )?;
                same("the kind", text(&answer.json, "/details/kind"), "pods")
            },
        ),
        case(
            "a_list_by_name_is_refused_with_that_name",
            "A list or watch with the field selector metadata.name is refused as one of that name.",
            async |t| {
                let path = t.maps("?fieldSelector=metadata.name%3Dx&watch=1");
                get_by(t, "bob", &path).await?.says(
                    403,
                    "Forbidden",
                    "configmaps \"x\" is forbidden: ",
                )?;
                Ok(())
            },
        ),
        case(
            "a_refusal_comes_before_the_object_is_looked_at",
            "A body that is no JSON, a missing namespace and an unknown resource are 403 for who may not do it.",
            async |t| {
                by(t, "bob", Method::POST, &t.maps(""), &json!("no object"))
                    .await?
                    .refused(403, "Forbidden")?;
                get_by(t, "bob", "/api/v1/namespaces/not-there-at-all/configmaps")
                    .await?
                    .refused(403, "Forbidden")?;
                get_by(t, "bob", &t.core("nosuchthings", "")).await?.says(
                    403,
                    "Forbidden",
                    "cannot list resource \"nosuchthings\"",
                )?;
                Ok(())
            },
        ),
        case(
            "a_path_that_is_no_resource_is_refused_by_method_and_path",
            "The 403 about a path that is no resource names the method and the path, and has empty details.",
            async |t| {
                for (method, verb) in
                    [(Method::GET, "get"), (Method::POST, "post"), (Method::DELETE, "delete")]
                {
                    let answer = by(t, "bob", method, "/no/such/path", &json!({})).await?;
                    message(
                        &answer,
                        &format!(
                            "forbidden: User \"{}\" cannot {verb} path \"/no/such/path\"",
                            t.own("bob")
                        ),
                    )?;
                    same("the details", &answer.json["details"], &json!({}))?;
                }
                Ok(())
            },
        ),
        case(
            "everybody_who_is_known_may_look_at_discovery",
            "Any authenticated user may get /version, /healthz, /api, /apis and what is below them.",
            async |t| {
                for path in [
                    "/version",
                    "/healthz",
                    "/livez",
                    "/readyz",
                    "/api",
                    "/api/v1",
                    "/apis",
                    "/apis/coordination.k8s.io/v1",
                ] {
                    get_by(t, "bob", path).await?.is(200)?;
                }
                Ok(())
            },
        ),
        case(
            "nobody_may_look_at_little",
            "An anonymous user may get /version and the health checks, but not /api.",
            async |t| {
                get_by(t, "system:anonymous", "/version").await?.is(200)?;
                get_by(t, "system:anonymous", "/readyz").await?.is(200)?;
                get_by(t, "system:anonymous", "/api").await?.says(
                    403,
                    "Forbidden",
                    "forbidden: User \"system:anonymous\" cannot get path \"/api\"",
                )?;
                Ok(())
            },
        ),
        case(
            "markup_in_a_path_comes_back_harmless",
            "Angle brackets of a path are written as HTML entities in a 403.",
            async |t| {
                get_by(t, "bob", "/api/v1/namespaces/a%3Cb%3E/configmaps").await?.says(
                    403,
                    "Forbidden",
                    "in the namespace \"a&lt;b&gt;\"",
                )?;
                Ok(())
            },
        ),
        case(
            "a_refusal_is_not_sniffed",
            "A 403 has the header X-Content-Type-Options: nosniff.",
            async |t| {
                let answer = get_by(t, "bob", &t.maps("")).await?;
                same("the header", answer.header("x-content-type-options"), "nosniff")
            },
        ),
    ]
}

fn roles() -> Vec<Case> {
    vec![
        case(
            "a_role_allows_its_verbs_and_no_other",
            "A Role that is bound to a user allows exactly its verbs on its resources in its namespace.",
            async |t| {
                t.map("a", "v").await?;
                grant(t, "bob", json!([rule(&["get", "list"], "", &["configmaps"])])).await?;
                get_by(t, "bob", &t.maps("/a")).await?.is(200)?;
                get_by(t, "bob", &t.maps("")).await?.is(200)?;
                get_by(t, "bob", &t.maps("/gone")).await?.refused(404, "NotFound")?;
                get_by(t, "bob", &t.maps("?watch=1&timeoutSeconds=1"))
                    .await?
                    .refused(403, "Forbidden")?;
                by(t, "bob", Method::DELETE, &t.maps("/a"), &Value::Null)
                    .await?
                    .refused(403, "Forbidden")?;
                get_by(t, "bob", &t.core("secrets", "")).await?.refused(403, "Forbidden")?;
                get_by(t, "bob", "/api/v1/namespaces/default/configmaps")
                    .await?
                    .refused(403, "Forbidden")?;
                get_by(t, "alice", &t.maps("/a")).await?.refused(403, "Forbidden")?;
                Ok(())
            },
        ),
        case(
            "a_role_for_names_allows_no_list_and_no_create",
            "With resourceNames only these objects are allowed, a list only by a selector of such a name, a create not at all.",
            async |t| {
                t.map("a", "v").await?;
                let mut named = rule(&["get", "list", "create", "delete"], "", &["configmaps"]);
                named["resourceNames"] = json!(["a"]);
                grant(t, "bob", json!([named])).await?;
                get_by(t, "bob", &t.maps("/a")).await?.is(200)?;
                get_by(t, "bob", &t.maps("/b")).await?.refused(403, "Forbidden")?;
                get_by(t, "bob", &t.maps("")).await?.refused(403, "Forbidden")?;
                get_by(t, "bob", &t.maps("?fieldSelector=metadata.name%3Da")).await?.is(200)?;
                by(t, "bob", Method::POST, &t.maps(""), &map("a", "v"))
                    .await?
                    .refused(403, "Forbidden")?;
                Ok(())
            },
        ),
        case(
            "a_subresource_is_a_resource_of_its_own",
            "A rule for pods does not allow pods/status, and one for pods/status not pods.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                grant(t, "bob", json!([rule(&["get"], "", &["pods/status"])])).await?;
                get_by(t, "bob", &t.core("pods", "/p/status")).await?.is(200)?;
                get_by(t, "bob", &t.core("pods", "/p")).await?.refused(403, "Forbidden")?;
                grant(t, "alice", json!([rule(&["get"], "", &["pods"])])).await?;
                get_by(t, "alice", &t.core("pods", "/p")).await?.is(200)?;
                get_by(t, "alice", &t.core("pods", "/p/status"))
                    .await?
                    .refused(403, "Forbidden")?;
                Ok(())
            },
        ),
        case(
            "a_star_before_a_subresource_is_that_of_every_resource",
            "A rule for */status allows pods/status and not pods.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                make(
                    t,
                    &path(t, "roles", ""),
                    json!({ "metadata": { "name": "star" }, "rules": [rule(&["get"], "*", &["*/status"])] }),
                )
                .await?;
                grant(t, "bob", json!([rule(&["list"], "", &["endpoints"])])).await?;
                let subjects = json!([user_subject(&t.own("bob"))]);
                make(t, &path(t, "rolebindings", ""), binding("star", "Role", "star", subjects))
                    .await?;
                until_known(t, "bob", &rule(&["get"], "", &["pods/status"])).await?;
                get_by(t, "bob", &t.core("pods", "/p/status")).await?.is(200)?;
                get_by(t, "bob", &t.core("pods", "/p")).await?.refused(403, "Forbidden")?;
                Ok(())
            },
        ),
        case(
            "a_role_binding_of_a_cluster_role_holds_in_its_namespace",
            "A RoleBinding to a ClusterRole grants its rules in the namespace of the binding alone.",
            async |t| {
                let name = t.own("reader");
                let rules = json!([rule(&["list"], "", &["configmaps", "persistentvolumes"])]);
                make(
                    t,
                    &format!("{RBAC}/clusterroles"),
                    json!({ "metadata": { "name": name }, "rules": rules }),
                )
                .await?;
                let subjects = json!([user_subject(&t.own("bob"))]);
                make(t, &path(t, "rolebindings", ""), binding("b", "ClusterRole", &name, subjects))
                    .await?;
                until_known(t, "bob", &rule(&["list"], "", &["configmaps"])).await?;
                get_by(t, "bob", &t.maps("")).await?.is(200)?;
                get_by(t, "bob", "/api/v1/configmaps").await?.refused(403, "Forbidden")?;
                get_by(t, "bob", "/api/v1/persistentvolumes").await?.refused(403, "Forbidden")?;
                Ok(())
            },
        ),
        case(
            "a_cluster_role_binding_holds_everywhere",
            "A ClusterRoleBinding grants in all namespaces and at cluster scope.",
            async |t| {
                let name = t.own("reader");
                let rules = json!([
                    rule(&["list"], "", &["configmaps", "persistentvolumes"]),
                    { "verbs": ["get"], "nonResourceURLs": ["/no/such/*"] },
                ]);
                make(
                    t,
                    &format!("{RBAC}/clusterroles"),
                    json!({ "metadata": { "name": name }, "rules": rules }),
                )
                .await?;
                let subjects = json!([user_subject(&t.own("bob"))]);
                make(
                    t,
                    &format!("{RBAC}/clusterrolebindings"),
                    binding(&name, "ClusterRole", &name, subjects),
                )
                .await?;
                until_known(t, "bob", &rule(&["list"], "", &["configmaps"])).await?;
                get_by(t, "bob", &t.maps("")).await?.is(200)?;
                get_by(t, "bob", "/api/v1/configmaps").await?.is(200)?;
                get_by(t, "bob", "/api/v1/persistentvolumes").await?.is(200)?;
                same("an unknown path", get_by(t, "bob", "/no/such/path").await?.code, 404)?;
                get_by(t, "bob", "/no/such").await?.refused(403, "Forbidden")?;
                Ok(())
            },
        ),
        case(
            "groups_and_service_accounts_are_subjects",
            "A binding may name a group, or a service account, by default one of its own namespace.",
            async |t| {
                let rules = json!([rule(&["list"], "", &["configmaps"])]);
                make(
                    t,
                    &path(t, "roles", ""),
                    json!({ "metadata": { "name": "r" }, "rules": rules }),
                )
                .await?;
                let subjects = json!([
                    { "kind": "Group", "apiGroup": GROUP, "name": t.own("dev") },
                    { "kind": "ServiceAccount", "name": "robot", "namespace": t.namespace },
                ]);
                make(t, &path(t, "rolebindings", ""), binding("b", "Role", "r", subjects)).await?;
                let robot = format!("system:serviceaccount:{}:robot", t.namespace);
                until_known(t, &robot, &rules[0]).await?;
                get_by(t, &robot, &t.maps("")).await?.is(200)?;
                get_by(t, "bob", &t.maps("")).await?.refused(403, "Forbidden")?;
                let (user, group) = (t.own("bob"), t.own("dev"));
                let headers = [(USER, user.as_str()), ("impersonate-group", group.as_str())];
                t.send(Method::GET, &t.maps(""), &headers, "").await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_binding_to_a_missing_role_is_named_in_the_refusal",
            "A 403 ends with the roles that bindings of the user name and that do not exist.",
            async |t| {
                grant(t, "bob", json!([rule(&["get"], "", &["configmaps"])])).await?;
                let subjects = json!([user_subject(&t.own("bob"))]);
                make(t, &path(t, "rolebindings", ""), binding("lost", "Role", "gone", subjects))
                    .await?;
                let end = ": RBAC: role.rbac.authorization.k8s.io \"gone\" not found";
                eventually(async || {
                    let answer = get_by(t, "bob", &t.core("secrets", "")).await?;
                    let is_named = text(&answer.json, "/message").ends_with(end);
                    Ok(if is_named {
                        Ok(())
                    } else {
                        Err(format!("no end like {end:?}: {}", answer.text))
                    })
                })
                .await
            },
        ),
        case(
            "what_is_taken_away_is_gone",
            "When the binding is deleted the user is refused again.",
            async |t| {
                grant(t, "bob", json!([rule(&["list"], "", &["configmaps"])])).await?;
                get_by(t, "bob", &t.maps("")).await?.is(200)?;
                t.delete(&path(t, "rolebindings", "/bob")).await?.is(200)?;
                eventually(async || {
                    let is_refused = get_by(t, "bob", &t.maps("")).await?.code == 403;
                    Ok(if is_refused { Ok(()) } else { Err("he may still list".to_owned()) })
                })
                .await
            },
        ),
        case(
            "the_roles_of_every_cluster_are_there",
            "cluster-admin, admin, edit, view, system:discovery, system:basic-user and system:public-info-viewer exist.",
            async |t| {
                for name in [
                    "cluster-admin",
                    "admin",
                    "edit",
                    "view",
                    "system:discovery",
                    "system:basic-user",
                    "system:public-info-viewer",
                ] {
                    let role = t.get(&format!("{RBAC}/clusterroles/{name}")).await?.is(200)?;
                    let label = "/metadata/labels/kubernetes.io~1bootstrapping";
                    same(name, text(&role, label), "rbac-defaults")?;
                }
                let admin =
                    t.get(&format!("{RBAC}/clusterrolebindings/cluster-admin")).await?.is(200)?;
                let subject =
                    json!({ "kind": "Group", "apiGroup": GROUP, "name": "system:masters" });
                same("whom it is for", &admin["subjects"], &json!([subject]))
            },
        ),
    ]
}
