//! Ingresses, their classes, NetworkPolicies, addresses and ranges: what they fill in, refuse and
//! keep.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::refused_members::refused;
use crate::conformance::{Case, Target, case};

const VERSION: &str = "networking.k8s.io/v1";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn ingresses(t: &Target, rest: &str) -> String {
    t.of_group(VERSION, "ingresses", rest)
}

fn policies(t: &Target, rest: &str) -> String {
    t.of_group(VERSION, "networkpolicies", rest)
}

fn of_cluster(plural: &str, rest: &str) -> String {
    format!("/apis/{VERSION}/{plural}{rest}")
}

fn ingress(name: &str) -> Value {
    let service = json!({ "name": "s", "port": { "number": 80 } });
    let path = json!({ "path": "/", "pathType": "Prefix", "backend": { "service": service } });
    json!({ "metadata": { "name": name }, "spec": {
        "ingressClassName": "c", "rules": [{ "host": "h.example.com", "http": { "paths": [path] } }],
    } })
}

fn class(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "controller": "example.com/c" } })
}

fn policy(spec: Value) -> Value {
    let mut object = json!({ "metadata": { "name": "a" }, "spec": { "podSelector": {} } });
    for (member, value) in spec.as_object().into_iter().flatten() {
        object["spec"][member] = value.clone();
    }
    object
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_ingress_is_made_without_addresses",
            "A new Ingress has generation 1 and an empty status; a table shows its class, hosts and ports.",
            async |t| {
                let mut object = ingress("a");
                object["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] } });
                let made = t.make(&ingresses(t, ""), object).await?;
                same("status", made["status"].clone(), json!({ "loadBalancer": {} }))?;
                has(&made, json!({ "metadata": { "generation": 1 } }))?;
                let status =
                    json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] } } });
                t.merge(&ingresses(t, "/a/status"), status).await?.is(200)?;
                let table = t.get_as(&ingresses(t, "/a"), TABLE).await?.is(200)?;
                let cells = &table["rows"][0]["cells"];
                same(
                    "cells",
                    json!([cells[1], cells[2], cells[3], cells[4]]),
                    json!(["c", "h.example.com", "1.2.3.4", "80"]),
                )
            },
        ),
        case(
            "an_ingress_has_rules_with_paths",
            "An Ingress needs rules or a default backend, and each path a type, an absolute path and one backend.",
            async |t| {
                let at = "/spec/rules/0/http/paths/0";
                let field = "spec.rules[0].http.paths[0]";
                let pointer = |member: &str| format!("{at}/{member}");
                let cause = |reason: &str, member: &str| format!("{reason} {field}.{member}");
                refused(
                    t,
                    &ingresses(t, "?dryRun=All"),
                    &ingress("a"),
                    &[
                        ("/spec/rules", json!([]), &["FieldValueInvalid spec"]),
                        (
                            "/spec/rules/0/host",
                            json!("1.2.3.4"),
                            &["FieldValueInvalid spec.rules[0].host"],
                        ),
                        (
                            "/spec/rules/0/host",
                            json!("*"),
                            &["FieldValueInvalid spec.rules[0].host"],
                        ),
                        (
                            "/spec/rules/0/http/paths",
                            json!([]),
                            &["FieldValueRequired spec.rules[0].http.paths"],
                        ),
                        (
                            &pointer("pathType"),
                            Value::Null,
                            &[&cause("FieldValueRequired", "pathType")],
                        ),
                        (
                            &pointer("pathType"),
                            json!("Odd"),
                            &[&cause("FieldValueNotSupported", "pathType")],
                        ),
                        (&pointer("path"), json!("a"), &[&cause("FieldValueInvalid", "path")]),
                        (&pointer("path"), json!("/a//b"), &[&cause("FieldValueInvalid", "path")]),
                        (&pointer("backend"), json!({}), &[&cause("FieldValueInvalid", "backend")]),
                        (
                            &pointer("backend/service/port"),
                            json!({}),
                            &[&cause("FieldValueRequired", "backend")],
                        ),
                        (
                            &pointer("backend/service/name"),
                            json!(""),
                            &[&cause("FieldValueRequired", "backend.service.name")],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "the_old_annotation_of_a_class_warns",
            "An Ingress with the class in an annotation answers a warning; another class in its spec answers 422.",
            async |t| {
                let mut object = ingress("a");
                object["metadata"]["annotations"] =
                    json!({ "kubernetes.io/ingress.class": "other" });
                let field = "FieldValueInvalid annotations.kubernetes.io/ingress.class";
                t.post(&ingresses(t, ""), &object).await?.invalid(&[field])?;
                object["spec"]["ingressClassName"] = Value::Null;
                let answer = t.post(&ingresses(t, "?dryRun=All"), &object).await?;
                let warned = answer
                    .header("warning")
                    .contains("is deprecated, please use 'spec.ingressClassName'");
                answer.is(201)?;
                holds("it warns", warned)
            },
        ),
        case(
            "the_controller_of_a_class_stays",
            "An IngressClass names its controller by a domain and a path, which no update changes.",
            async |t| {
                let name = t.own("a");
                let object = class(&name);
                t.make(&of_cluster("ingressclasses", ""), object.clone()).await?;
                let patch = json!({ "spec": { "controller": "example.com/d" } });
                t.merge(&of_cluster("ingressclasses", &format!("/{name}")), patch)
                    .await?
                    .invalid(&["FieldValueInvalid spec.controller"])?;
                let scoped = |scope: &str| json!({ "kind": "K", "name": "n", "scope": scope });
                refused(
                    t,
                    &of_cluster("ingressclasses", "?dryRun=All"),
                    &class(&t.own("b")),
                    &[
                        ("/spec/controller", json!("x"), &["FieldValueInvalid spec.controller"]),
                        ("/spec/controller", json!(""), &["FieldValueRequired spec.controller"]),
                        (
                            "/spec/parameters",
                            scoped("Namespace"),
                            &["FieldValueRequired spec.parameters.namespace"],
                        ),
                        (
                            "/spec/parameters",
                            scoped("Odd"),
                            &["FieldValueNotSupported spec.parameters.scope"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_policy_is_about_ingress_unless_it_has_egress",
            "A NetworkPolicy without types is about ingress, and about egress if it has rules of it; ports are of TCP.",
            async |t| {
                let made = t.make(&policies(t, "?dryRun=All"), policy(json!({}))).await?;
                same("types", made["spec"]["policyTypes"].clone(), json!(["Ingress"]))?;
                let spec = json!({ "egress": [{ "ports": [{ "port": 53 }] }] });
                let made = t.make(&policies(t, "?dryRun=All"), policy(spec)).await?;
                same("types", made["spec"]["policyTypes"].clone(), json!(["Ingress", "Egress"]))?;
                has(&made, json!({ "spec": { "egress": [{ "ports": [{ "protocol": "TCP" }] }] } }))
            },
        ),
        case(
            "a_policy_names_peers_and_ports",
            "A peer of a NetworkPolicy is a selector or a range, whose exceptions are within it; an end of ports follows a number.",
            async |t| {
                let from = |peer: Value| json!([{ "from": [peer] }]);
                let ports = |port: Value| json!([{ "ports": [port] }]);
                let block = |cidr: &str, except: &str| json!({ "ipBlock": { "cidr": cidr, "except": [except] } });
                let peer = "spec.ingress[0].from[0]";
                let cidr = format!("FieldValueInvalid {peer}.ipBlock.cidr");
                let except = format!("FieldValueInvalid {peer}.ipBlock.except[0]");
                refused(
                    t,
                    &policies(t, "?dryRun=All"),
                    &policy(json!({})),
                    &[
                        (
                            "/spec/ingress",
                            from(json!({})),
                            &[&format!("FieldValueRequired {peer}")],
                        ),
                        ("/spec/ingress", from(block("10.0.0.1/8", "10.1.0.0/16")), &[&cidr]),
                        ("/spec/ingress", from(block("10.0.0.0/8", "11.0.0.0/16")), &[&except]),
                        (
                            "/spec/ingress",
                            from(json!({ "podSelector": {}, "ipBlock": { "cidr": "10.0.0.0/8" } })),
                            &[&format!("FieldValueForbidden {peer}")],
                        ),
                        (
                            "/spec/ingress",
                            ports(json!({ "port": "http", "endPort": 90 })),
                            &["FieldValueInvalid spec.ingress[0].ports[0].endPort"],
                        ),
                        (
                            "/spec/ingress",
                            ports(json!({ "port": 80, "endPort": 70 })),
                            &["FieldValueInvalid spec.ingress[0].ports[0].endPort"],
                        ),
                        (
                            "/spec/policyTypes",
                            json!(["Odd"]),
                            &["FieldValueNotSupported spec.policyTypes[0]"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "an_address_is_named_by_itself",
            "An IPAddress has its address in canonical form as its name, and a parent.",
            async |t| {
                let object = json!({
                    "metadata": { "name": "2001:db8::7" },
                    "spec": { "parentRef": { "resource": "things", "name": "a" } },
                });
                let path = of_cluster("ipaddresses", "?dryRun=All");
                t.make(&path, object.clone()).await?;
                refused(
                    t,
                    &path,
                    &object,
                    &[
                        (
                            "/metadata/name",
                            json!("2001:DB8::7"),
                            &["FieldValueInvalid metadata.name"],
                        ),
                        ("/metadata/name", json!("a"), &["FieldValueInvalid metadata.name"]),
                        (
                            "/metadata/generateName",
                            json!("a"),
                            &["FieldValueInvalid metadata.generateName"],
                        ),
                        ("/spec/parentRef", Value::Null, &["FieldValueRequired spec.parentRef"]),
                    ],
                )
                .await
            },
        ),
        case(
            "a_range_of_services_stays",
            "A ServiceCIDR has one range of each family in canonical form, and an update may only add the second.",
            async |t| {
                let name = t.own("a");
                let object = |name: &str| json!({ "metadata": { "name": name }, "spec": { "cidrs": ["2001:db8:9::/112"] } });
                t.make(&of_cluster("servicecidrs", ""), object(&name)).await?;
                let path = of_cluster("servicecidrs", &format!("/{name}?dryRun=All"));
                let with = |ranges: Value| json!({ "spec": { "cidrs": ranges } });
                t.merge(&path, with(json!(["2001:db8:8::/112"])))
                    .await?
                    .invalid(&["FieldValueInvalid spec.cidrs[0]"])?;
                t.merge(&path, with(json!([])))
                    .await?
                    .invalid(&["FieldValueInvalid spec.cidrs"])?;
                t.merge(&path, with(json!(["2001:db8:9::/112", "10.9.0.0/24"]))).await?.is(200)?;
                refused(
                    t,
                    &of_cluster("servicecidrs", "?dryRun=All"),
                    &object(&t.own("b")),
                    &[
                        ("/spec/cidrs", json!([]), &["FieldValueRequired spec.cidrs"]),
                        ("/spec/cidrs", json!(["x"]), &["FieldValueInvalid spec.cidrs[0]"]),
                        (
                            "/spec/cidrs",
                            json!(["2001:db8:9::1/112"]),
                            &["FieldValueInvalid spec.cidrs[0]"],
                        ),
                        (
                            "/spec/cidrs",
                            json!(["2001:db8::/64", "2001:db8:1::/64"]),
                            &["FieldValueInvalid spec.cidrs"],
                        ),
                    ],
                )
                .await
            },
        ),
    ]
}
