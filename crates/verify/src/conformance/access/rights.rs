//! Rights beside that of the request itself: to create what is updated, escalation, impersonation.

use http::Method;
use serde_json::json;

use crate::conformance::access::users::*;
use crate::conformance::answer::*;
use crate::conformance::objects::lease;
use crate::conformance::target::{APPLY, JSON, MERGE};
use crate::conformance::{Case, case};

pub(super) fn creating() -> Vec<Case> {
    vec![case(
        "an_update_or_an_apply_that_creates_needs_the_right_to_create",
        "A PUT or an apply of what is not there answers 403 to who may not create that name.",
        async |t| {
            const LEASES: &str = "coordination.k8s.io";
            grant(t, "bob", json!([rule(&["update", "patch", "get"], LEASES, &["leases"])]))
                .await?;
            let mut named = rule(&["create"], LEASES, &["leases"]);
            named["resourceNames"] = json!(["put", "applied"]);
            let may = json!([named, rule(&["update", "patch"], LEASES, &["leases"])]);
            grant(t, "alice", may).await?;
            for (name, method, media) in
                [("put", Method::PUT, "application/json"), ("applied", Method::PATCH, APPLY)]
            {
                let mut object = lease(name, "x");
                object["apiVersion"] = format!("{LEASES}/v1").into();
                object["kind"] = "Lease".into();
                let path = t.leases(&format!("/{name}?fieldManager=m"));
                let send = async |user: &str| {
                    let headers = [("content-type", media), (USER, &*t.own(user))];
                    t.send(method.clone(), &path, &headers, object.to_string()).await
                };
                let refused = format!(
                    "leases.{LEASES} \"{name}\" is forbidden: User \"{}\" cannot create resource \"leases\" \
                     in API group \"{LEASES}\" in the namespace \"{}\"",
                    t.own("bob"),
                    t.namespace
                );
                message(&send("bob").await?, &refused)?;
                t.get(&t.leases(&format!("/{name}"))).await?.refused(404, "NotFound")?;
                send("alice").await?.is(201)?;
                if media == APPLY {
                    // What is there needs no right to create.
                    send("bob").await?.is(200)?;
                }
            }
            Ok(())
        },
    )]
}

pub(super) fn escalation() -> Vec<Case> {
    vec![
        case(
            "nobody_grants_what_he_does_not_have",
            "Who may create Roles, but does not hold their rules, gets 403 that lists the missing rights.",
            async |t| {
                let rules = json!([
                    rule(&["create", "update"], GROUP, &["roles"]),
                    rule(&["get"], "", &["configmaps"])
                ]);
                grant(t, "bob", rules).await?;
                let roles = path(t, "roles", "");
                let more = json!({
                    "metadata": { "name": "more" },
                    "rules": [rule(&["get", "list"], "", &["configmaps", "secrets"])],
                });
                let answer = by(t, "bob", Method::POST, &roles, &more).await?;
                message(
                    &answer,
                    &format!(
                        "roles.{GROUP} \"more\" is forbidden: user \"{}\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
                         {{APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"list\"]}}\n\
                         {{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}}",
                        t.own("bob")
                    ),
                )?;
                let held = json!({ "metadata": { "name": "held" }, "rules": [rule(&["get"], "", &["configmaps"])] });
                by(t, "bob", Method::POST, &roles, &held).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "a_missing_namespace_comes_before_what_is_granted",
            "Who would grant more than he has in a namespace that is not there gets 404 about the namespace.",
            async |t| {
                const MISSING: &str = "conformance-missing";
                let (name, create) = (t.own("creator"), rule(&["create"], GROUP, &["roles"]));
                let role = json!({ "metadata": { "name": name }, "rules": [create] });
                make(t, &format!("{RBAC}/clusterroles"), role).await?;
                let bob = json!([user_subject(&own_user(t, "bob"))]);
                let bound = binding(&name, "ClusterRole", &name, bob);
                make(t, &format!("{RBAC}/clusterrolebindings"), bound).await?;
                until_known(t, "bob", &create).await?;
                let more = json!({ "metadata": { "name": "more" }, "rules": [rule(&["get"], "", &["secrets"])] });
                let path = format!("/apis/{GROUP}/v1/namespaces/{MISSING}/roles");
                let answer = by(t, "bob", Method::POST, &path, &more).await?;
                answer.says(404, "NotFound", "namespaces \"conformance-missing\" not found")?;
                Ok(())
            },
        ),
        case(
            "an_update_of_a_role_is_checked_too",
            "A Role cannot be changed to grant more than its writer holds, but its labels may not be either where it already does.",
            async |t| {
                grant(t, "bob", json!([rule(&["get", "update", "patch"], GROUP, &["roles"])]))
                    .await?;
                let strong = json!({ "metadata": { "name": "strong" }, "rules": [rule(&["get"], "", &["secrets"])] });
                make(t, &path(t, "roles", ""), strong).await?;
                let headers = [("content-type", MERGE), (USER, &*t.own("bob"))];
                let label = json!({ "metadata": { "labels": { "a": "b" } } }).to_string();
                let refused =
                    t.send(Method::PATCH, &path(t, "roles", "/strong"), &headers, label).await?;
                refused.says(
                    403,
                    "Forbidden",
                    "is attempting to grant RBAC permissions not currently held",
                )?;
                let owners =
                    json!({ "metadata": { "finalizers": ["example.com/held"] } }).to_string();
                t.send(Method::PATCH, &path(t, "roles", "/strong"), &headers, owners)
                    .await?
                    .is(200)?;
                Ok(())
            },
        ),
        case(
            "escalate_lifts_the_check_of_roles",
            "Who may escalate roles may write any rules into them.",
            async |t| {
                grant(t, "bob", json!([rule(&["create", "escalate"], GROUP, &["roles"])])).await?;
                let any =
                    json!({ "metadata": { "name": "any" }, "rules": [rule(&["*"], "*", &["*"])] });
                by(t, "bob", Method::POST, &path(t, "roles", ""), &any).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "nobody_binds_a_role_that_he_does_not_hold",
            "Who may create RoleBindings, but neither holds the role's rules nor may bind it, gets 403.",
            async |t| {
                grant(t, "bob", json!([rule(&["create"], GROUP, &["rolebindings"])])).await?;
                let subjects = json!([user_subject("anybody")]);
                let bindings = path(t, "rolebindings", "");
                let to_admin = binding("b", "ClusterRole", "cluster-admin", subjects.clone());
                by(t, "bob", Method::POST, &bindings, &to_admin).await?.says(
                    403,
                    "Forbidden",
                    "not currently held:\n{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}",
                )?;
                // His own role, which he holds.
                by(t, "bob", Method::POST, &bindings, &binding("own", "Role", "bob", subjects))
                    .await?
                    .is(201)?;
                Ok(())
            },
        ),
        case(
            "bind_lifts_the_check_of_bindings",
            "Who may bind a role may give it to anybody.",
            async |t| {
                let mut bind = rule(&["bind"], GROUP, &["clusterroles"]);
                bind["resourceNames"] = json!(["cluster-admin"]);
                grant(t, "bob", json!([rule(&["create"], GROUP, &["rolebindings"]), bind.clone()]))
                    .await?;
                until_known(t, "bob", &bind).await?;
                let subjects = json!([user_subject("anybody")]);
                let bindings = path(t, "rolebindings", "");
                let to_admin = binding("b", "ClusterRole", "cluster-admin", subjects.clone());
                by(t, "bob", Method::POST, &bindings, &to_admin).await?.is(201)?;
                let to_edit = binding("c", "ClusterRole", "system:monitoring", subjects);
                by(t, "bob", Method::POST, &bindings, &to_edit).await?.refused(403, "Forbidden")?;
                Ok(())
            },
        ),
        case(
            "a_binding_to_a_missing_role_is_404_for_who_may_not_bind",
            "Who may not bind everything gets 404 for a binding to a role that does not exist; an administrator may make it.",
            async |t| {
                grant(t, "bob", json!([rule(&["create"], GROUP, &["rolebindings"])])).await?;
                let lost = binding(
                    "lost",
                    "ClusterRole",
                    "not-there-at-all",
                    json!([user_subject("anybody")]),
                );
                let bindings = path(t, "rolebindings", "");
                by(t, "bob", Method::POST, &bindings, &lost).await?.says(
                    404,
                    "NotFound",
                    "rolebindings.rbac.authorization.k8s.io \"not-there-at-all\" not found",
                )?;
                make(t, &bindings, lost).await?;
                Ok(())
            },
        ),
    ]
}

pub(super) fn impersonation() -> Vec<Case> {
    let review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    vec![
        case(
            "of_two_users_the_first_is_impersonated",
            "Of two Impersonate-User headers the first one counts, and the user it names impersonates nobody.",
            async |t| {
                grant(t, "bob", json!([rule(&["list"], "", &["configmaps"])])).await?;
                let users = [(USER, &*t.own("bob")), (USER, &*t.own("alice"))];
                t.send(Method::GET, &t.maps(""), &users, "").await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_group_alone_cannot_be_impersonated",
            "Impersonate-Group, -Uid or -Extra without Impersonate-User answers 400.",
            async |t| {
                for (name, said) in [
                    (
                        "impersonate-group",
                        "Groups:[]string{\"x\"}, Extra:map[string][]string(nil)}",
                    ),
                    ("impersonate-uid", "UID:\"x\", Groups:[]string(nil)"),
                    ("impersonate-extra-a", "Extra:map[string][]string{\"a\":[]string{\"x\"}}}"),
                ] {
                    let answer = t.send(Method::GET, "/version", &[(name, "x")], "").await?;
                    let status = answer.says(400, "BadRequest", said)?;
                    let message = text(&status, "/message");
                    holds(
                        "it says what is missing",
                        message.ends_with(" without impersonating a user name"),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "an_impersonated_user_has_the_groups_that_are_asked_for_and_the_one_of_all",
            "Groups, uid and extra are those of the headers, with system:authenticated behind.",
            async move |t| {
                let headers = [
                    JSON,
                    (USER, "bob"),
                    ("impersonate-group", "b"),
                    ("impersonate-group", "a"),
                    ("impersonate-uid", "7"),
                    ("impersonate-extra-scopes", "x"),
                ];
                let said = t.send(Method::POST, review, &headers, "{}").await?.is(201)?;
                let info = json!({
                    "username": "bob", "uid": "7", "groups": ["b", "a", "system:authenticated"],
                    "extra": { "scopes": ["x"] },
                });
                same("who it is", &said["status"]["userInfo"], &info)
            },
        ),
        case(
            "an_impersonated_service_account_has_its_groups",
            "A service account has the groups of all service accounts and of those of its namespace.",
            async move |t| {
                let headers = [JSON, (USER, "system:serviceaccount:ns:sa")];
                let said = t.send(Method::POST, review, &headers, "{}").await?.is(201)?;
                let groups = json!([
                    "system:serviceaccounts",
                    "system:serviceaccounts:ns",
                    "system:authenticated"
                ]);
                same("its groups", &said["status"]["userInfo"]["groups"], &groups)
            },
        ),
        case(
            "an_impersonated_nobody_is_not_authenticated",
            "system:anonymous is in system:unauthenticated, and may not even ask who it is.",
            async move |t| {
                let headers = [JSON, (USER, "system:anonymous")];
                t.send(Method::POST, review, &headers, "{}").await?.says(
                    403,
                    "Forbidden",
                    "User \"system:anonymous\" cannot create resource \"selfsubjectreviews\"",
                )?;
                Ok(())
            },
        ),
    ]
}
