//! Services, Endpoints and EndpointSlices: addresses, ports, what they refuse, and what of them may
//! change.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

fn with_spec(spec: Value) -> Value {
    json!({ "metadata": { "name": "a" }, "spec": spec })
}

/// What a Service with this spec is refused for.
async fn refused(t: &Target, spec: Value) -> Result<Vec<String>, String> {
    let answer = t.post(&t.core("services", "?dryRun=All"), &with_spec(spec)).await?;
    let status = answer.refused(422, "Invalid")?;
    Ok(items(&status, "/details/causes")
        .iter()
        .map(|cause| {
            format!(
                "{} {}: {}",
                text(cause, "/reason"),
                text(cause, "/field"),
                text(cause, "/message")
            )
        })
        .collect())
}

fn slice(endpoints: Value, ports: Value) -> Value {
    json!({ "metadata": { "name": "a" }, "addressType": "IPv4", "endpoints": endpoints, "ports": ports })
}

fn slices(t: &Target, rest: &str) -> String {
    t.of_group("discovery.k8s.io/v1", "endpointslices", rest)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "addresses_are_of_one_service_each",
            "Two Services get different addresses.",
            async |t| {
                let one = t.make(&t.core("services", ""), service("a")).await?;
                let other = t.make(&t.core("services", ""), service("b")).await?;
                holds("they differ", one["spec"]["clusterIP"] != other["spec"]["clusterIP"])
            },
        ),
        case(
            "an_address_is_free_again",
            "The address of a deleted Service can be asked for by another one; one that is taken answers 422.",
            async |t| {
                let made = t.make(&t.core("services", ""), service("a")).await?;
                let wanted = with_spec(
                    json!({ "ports": [{ "port": 80 }], "clusterIP": made["spec"]["clusterIP"] }),
                );
                let mut other = wanted.clone();
                other["metadata"]["name"] = "b".into();
                let status = t
                    .post(&t.core("services", ""), &other)
                    .await?
                    .invalid(&["FieldValueInvalid spec.clusterIPs"])?;
                holds(
                    "it is said why",
                    text(&status, "/message").contains("provided IP is already allocated"),
                )?;
                t.delete(&t.core("services", "/a")).await?.is(200)?;
                let again = t.make(&t.core("services", ""), other).await?;
                same(
                    "address",
                    again["spec"]["clusterIPs"].clone(),
                    json!([made["spec"]["clusterIP"]]),
                )
            },
        ),
        case(
            "an_address_of_elsewhere_is_refused",
            "A clusterIP outside of the range answers 422, one that is no address too.",
            async |t| {
                let found =
                    refused(t, json!({ "ports": [{ "port": 80 }], "clusterIP": "192.0.2.1" }))
                        .await?;
                holds(
                    &format!("{found:?}"),
                    found.iter().any(|cause| {
                        cause.contains("the provided IP (192.0.2.1) is not in the valid range")
                    }),
                )?;
                let found =
                    refused(t, json!({ "ports": [{ "port": 80 }], "clusterIP": "x" })).await?;
                same(
                    "causes",
                    found,
                    vec![
                        "FieldValueInvalid spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                    ],
                )
            },
        ),
        case(
            "a_headless_service_has_none",
            "A headless Service has None as its address, and needs no ports.",
            async |t| {
                let object = with_spec(json!({ "clusterIP": "None", "selector": { "a": "b" } }));
                let made = t.make(&t.core("services", "?dryRun=All"), object).await?;
                has(
                    &made,
                    json!({ "spec": { "clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack" } }),
                )
            },
        ),
        case(
            "a_headless_service_without_selector_is_of_both_families",
            "A headless Service that selects nothing may have endpoints of both families.",
            async |t| {
                let made = t
                    .make(
                        &t.core("services", "?dryRun=All"),
                        with_spec(json!({ "clusterIP": "None" })),
                    )
                    .await?;
                has(
                    &made,
                    json!({ "spec": { "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack" } }),
                )
            },
        ),
        case(
            "an_external_name_has_no_address",
            "A Service of type ExternalName gets neither address nor families nor policies, and needs its name.",
            async |t| {
                let made = t
                    .make(
                        &t.core("services", "?dryRun=All"),
                        with_spec(
                            json!({ "type": "ExternalName", "externalName": "a.example.com" }),
                        ),
                    )
                    .await?;
                has(
                    &made["spec"],
                    json!({ "clusterIP": null, "ipFamilies": null, "ipFamilyPolicy": null, "internalTrafficPolicy": null, "sessionAffinity": "None" }),
                )?;
                let found = refused(t, json!({ "type": "ExternalName" })).await?;
                same(
                    "causes",
                    found,
                    vec!["FieldValueRequired spec.externalName: Required value"],
                )?;
                let found = refused(
                    t,
                    json!({ "type": "ExternalName", "externalName": "a_b", "clusterIP": "10.0.0.9" }),
                )
                .await?;
                same("causes", found.len(), 2)
            },
        ),
        case(
            "a_node_port_is_given",
            "A Service of type NodePort is given a port of the range for each of its own, and a traffic policy.",
            async |t| {
                let object = with_spec(
                    json!({ "type": "NodePort", "ports": [{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }] }),
                );
                let made = t.make(&t.core("services", ""), object).await?;
                let ports: Vec<_> = items(&made, "/spec/ports")
                    .iter()
                    .filter_map(|port| port["nodePort"].as_u64())
                    .collect();
                holds(
                    &format!("{ports:?} are two of the range"),
                    ports.len() == 2
                        && ports[0] != ports[1]
                        && ports.iter().all(|port| (30000..=32767).contains(port)),
                )?;
                has(
                    &made,
                    json!({ "spec": { "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster" } }),
                )
            },
        ),
        case(
            "a_node_port_of_elsewhere_is_refused",
            "A nodePort outside of the range answers 422; of a ClusterIP Service any does.",
            async |t| {
                let object = with_spec(
                    json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 5 }] }),
                );
                let status = t
                    .post(&t.core("services", ""), &object)
                    .await?
                    .invalid(&["FieldValueInvalid spec.ports[0].nodePort"])?;
                holds(
                    "it is said why",
                    text(&status, "/message").contains(
                        "provided port is not in the valid range. The range of valid ports is 30000-32767",
                    ),
                )?;
                let found =
                    refused(t, json!({ "ports": [{ "port": 80, "nodePort": 30001 }] })).await?;
                same(
                    "causes",
                    found,
                    vec![
                        "FieldValueForbidden spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
                    ],
                )
            },
        ),
        case(
            "a_load_balancer_has_node_ports_too",
            "A LoadBalancer gets node ports, a traffic policy and an empty status.",
            async |t| {
                let made = t
                    .make(
                        &t.core("services", ""),
                        with_spec(json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })),
                    )
                    .await?;
                has(
                    &made,
                    json!({ "spec": { "allocateLoadBalancerNodePorts": true, "externalTrafficPolicy": "Cluster" }, "status": { "loadBalancer": {} } }),
                )?;
                holds("it has a node port", made["spec"]["ports"][0]["nodePort"].is_u64())
            },
        ),
        case(
            "sticky_sessions_last_three_hours",
            "Session affinity by client gets its time-out; without affinity a configuration is dropped.",
            async |t| {
                let made = t
                    .make(
                        &t.core("services", "?dryRun=All"),
                        with_spec(
                            json!({ "sessionAffinity": "ClientIP", "ports": [{ "port": 80 }] }),
                        ),
                    )
                    .await?;
                has(
                    &made,
                    json!({ "spec": { "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 10800 } } } }),
                )?;
                let made = t.make(&t.core("services", "?dryRun=All"), with_spec(json!({ "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 5 } }, "ports": [{ "port": 80 }] }))).await?;
                has(&made, json!({ "spec": { "sessionAffinityConfig": null } }))
            },
        ),
        case(
            "a_services_mistakes_are_all_said",
            "Wrong ports, names, protocols and targets of a Service are said, each by its path.",
            async |t| {
                let ports = json!([{ "port": 0 }, { "name": "A", "port": 70000, "protocol": "x", "targetPort": "x--y" }]);
                let answer = t
                    .post(&t.core("services", "?dryRun=All"), &with_spec(json!({ "ports": ports })))
                    .await?;
                answer.invalid(&[
                    "FieldValueRequired spec.ports[0].name",
                    "FieldValueInvalid spec.ports[0].port",
                    "FieldValueInvalid spec.ports[0].targetPort",
                    "FieldValueInvalid spec.ports[1].name",
                    "FieldValueInvalid spec.ports[1].port",
                    "FieldValueNotSupported spec.ports[1].protocol",
                    "FieldValueInvalid spec.ports[1].targetPort",
                ])?;
                Ok(())
            },
        ),
        case(
            "a_port_comes_once",
            "Two ports of one number and protocol are refused, in Go's own words.",
            async |t| {
                let found = refused(
                    t,
                    json!({ "ports": [{ "name": "a", "port": 80 }, { "name": "b", "port": 80 }] }),
                )
                .await?;
                same(
                    "causes",
                    found,
                    vec![
                        r#"FieldValueDuplicate spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}"#,
                    ],
                )?;
                t.make(&t.core("services", "?dryRun=All"), with_spec(json!({ "ports": [{ "name": "a", "port": 80 }, { "name": "b", "port": 80, "protocol": "UDP" }] }))).await?;
                Ok(())
            },
        ),
        case(
            "types_and_policies_are_of_a_few_words",
            "Another type, affinity or policy than there are is refused, and the words are said.",
            async |t| {
                let ports = json!([{ "port": 80 }]);
                for (member, value, part) in [
                    (
                        "type",
                        "X",
                        "\"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
                    ),
                    ("sessionAffinity", "x", "\"ClientIP\", \"None\""),
                    ("internalTrafficPolicy", "x", "\"Cluster\", \"Local\""),
                ] {
                    let found = refused(t, json!({ "ports": ports, member: value })).await?;
                    holds(
                        &format!("{member}: {found:?}"),
                        found.len() == 1 && found[0].contains(part),
                    )?;
                }
                let found =
                    refused(t, json!({ "ports": ports, "externalTrafficPolicy": "Local" })).await?;
                same(
                    "causes",
                    found,
                    vec![
                        "FieldValueInvalid spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services",
                    ],
                )
            },
        ),
        case(
            "there_is_one_family",
            "IPv6 and dual stack are refused where they are not configured.",
            async |t| {
                let ports = json!([{ "port": 80 }]);
                let found = refused(t, json!({ "ports": ports, "ipFamilies": ["IPv6"] })).await?;
                same(
                    "family",
                    found,
                    vec![
                        "FieldValueInvalid spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
                    ],
                )?;
                let found =
                    refused(t, json!({ "ports": ports, "ipFamilyPolicy": "RequireDualStack" }))
                        .await?;
                same(
                    "policy",
                    found,
                    vec![
                        "FieldValueInvalid spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services",
                    ],
                )
            },
        ),
        case(
            "a_replace_keeps_the_address",
            "A PUT that does not say the address keeps it, with families and node ports.",
            async |t| {
                let made = t
                    .make(
                        &t.core("services", ""),
                        with_spec(json!({ "type": "NodePort", "ports": [{ "port": 80 }] })),
                    )
                    .await?;
                let put = t
                    .put(
                        &t.core("services", "/a"),
                        &with_spec(json!({ "type": "NodePort", "ports": [{ "port": 81 }] })),
                    )
                    .await?
                    .is(200)?;
                for member in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                    same(member, put["spec"][member].clone(), made["spec"][member].clone())?;
                }
                same(
                    "nodePort",
                    put["spec"]["ports"][0]["nodePort"].clone(),
                    made["spec"]["ports"][0]["nodePort"].clone(),
                )
            },
        ),
        case("an_address_stays", "A change of a Service's address answers 422.", async |t| {
            t.make(&t.core("services", ""), service("a")).await?;
            let patch = json!({ "spec": { "clusterIP": "None", "clusterIPs": ["None"] } });
            let status = t
                .merge(&t.core("services", "/a"), patch)
                .await?
                .invalid(&["FieldValueInvalid spec.clusterIPs[0]"])?;
            holds("it is said why", text(&status, "/message").contains("may not change once set"))
        }),
        case(
            "a_type_can_be_changed",
            "A Service that becomes a NodePort is given a port; back again it loses it, and keeps its address.",
            async |t| {
                let made = t.make(&t.core("services", ""), service("a")).await?;
                let open = t
                    .merge(&t.core("services", "/a"), json!({ "spec": { "type": "NodePort" } }))
                    .await?
                    .is(200)?;
                holds("it has a port", open["spec"]["ports"][0]["nodePort"].is_u64())?;
                let closed = t
                    .merge(&t.core("services", "/a"), json!({ "spec": { "type": "ClusterIP" } }))
                    .await?
                    .is(200)?;
                has(&closed["spec"]["ports"][0], json!({ "nodePort": null }))?;
                has(
                    &closed["spec"],
                    json!({ "externalTrafficPolicy": null, "clusterIP": made["spec"]["clusterIP"] }),
                )?;
                let named = t
                    .merge(
                        &t.core("services", "/a"),
                        json!({ "spec": { "type": "ExternalName", "externalName": "a.example.com" } }),
                    )
                    .await?
                    .is(200)?;
                has(
                    &named["spec"],
                    json!({ "clusterIP": null, "clusterIPs": null, "ipFamilies": null }),
                )
            },
        ),
        case(
            "ignored_members_of_a_service_are_warned_of",
            "An externalName on a Service of another type, and an old annotation, are warned of.",
            async |t| {
                let object = with_spec(json!({ "externalName": "a.b", "ports": [{ "port": 80 }] }));
                let answer = t.post(&t.core("services", "?dryRun=All"), &object).await?;
                answer.is(201)?;
                holds(
                    "it is warned of",
                    answer.warnings().iter().any(|warning| {
                        warning.contains("spec.externalName is ignored when spec.type is not")
                    }),
                )
            },
        ),
        case(
            "a_slice_has_defaults",
            "An EndpointSlice's ports are TCP and have a name, be it empty; its generation counts.",
            async |t| {
                let endpoints = json!([{ "addresses": ["192.0.2.1"] }]);
                let made =
                    t.make(&slices(t, ""), slice(endpoints, json!([{ "port": 80 }]))).await?;
                has(
                    &made,
                    json!({ "ports": [{ "name": "", "protocol": "TCP", "port": 80 }], "endpoints": [{ "conditions": {} }], "metadata": { "generation": 1 } }),
                )?;
                let changed = t
                    .merge(&slices(t, "/a"), json!({ "ports": [{ "port": 81 }] }))
                    .await?
                    .is(200)?;
                same("content", changed["metadata"]["generation"].clone(), json!(2))?;
                let changed = t
                    .merge(&slices(t, "/a"), json!({ "metadata": { "labels": { "l": "1" } } }))
                    .await?
                    .is(200)?;
                same("labels", changed["metadata"]["generation"].clone(), json!(3))?;
                let changed = t
                    .merge(&slices(t, "/a"), json!({ "metadata": { "annotations": { "n": "1" } } }))
                    .await?
                    .is(200)?;
                same("annotations", changed["metadata"]["generation"].clone(), json!(3))
            },
        ),
        case(
            "lists_that_go_always_writes_are_null",
            "An EndpointSlice without endpoints and ports says null for both.",
            async |t| {
                let made = t
                    .make(
                        &slices(t, ""),
                        json!({ "metadata": { "name": "a" }, "addressType": "IPv4", "endpoints": [] }),
                    )
                    .await?;
                holds("endpoints is null", made.get("endpoints").is_some_and(Value::is_null))?;
                holds("ports is null", made.get("ports").is_some_and(Value::is_null))
            },
        ),
        case(
            "a_slices_addresses_are_of_its_type",
            "An EndpointSlice with addresses of another type, with none, or of loopback is refused.",
            async |t| {
                for (addresses, cause) in [
                    (json!(["2001:db8::1"]), "FieldValueInvalid endpoints[0].addresses"),
                    (json!(["x"]), "FieldValueInvalid endpoints[0].addresses[0]"),
                    (json!(["127.0.0.1"]), "FieldValueInvalid endpoints[0].addresses[0]"),
                    (json!([]), "FieldValueRequired endpoints[0].addresses"),
                ] {
                    let object = slice(json!([{ "addresses": addresses }]), json!([]));
                    t.post(&slices(t, "?dryRun=All"), &object).await?.invalid(&[cause])?;
                }
                Ok(())
            },
        ),
        case(
            "the_type_of_a_slice_is_immutable",
            "An EndpointSlice needs one of three types, and keeps it.",
            async |t| {
                t.post(&slices(t, "?dryRun=All"), &named("a"))
                    .await?
                    .invalid(&["FieldValueRequired addressType"])?;
                t.make(&slices(t, ""), slice(json!([]), json!([]))).await?;
                t.merge(&slices(t, "/a"), json!({ "addressType": "IPv6" }))
                    .await?
                    .invalid(&["FieldValueInvalid addressType"])?;
                Ok(())
            },
        ),
        case(
            "ports_of_a_slice_have_names_of_their_own",
            "Two ports of an EndpointSlice without a name are refused.",
            async |t| {
                let object = slice(json!([]), json!([{ "port": 1 }, { "port": 2 }]));
                t.post(&slices(t, "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueDuplicate ports[1].name"])?;
                Ok(())
            },
        ),
        case(
            "endpoints_need_addresses",
            "Subsets of Endpoints without addresses, and with names missing among several ports, are refused.",
            async |t| {
                let object =
                    |subset: Value| json!({ "metadata": { "name": "a" }, "subsets": [subset] });
                let path = t.core("endpoints", "?dryRun=All");
                t.post(&path, &object(json!({ "ports": [{ "port": 1 }] })))
                    .await?
                    .invalid(&["FieldValueRequired subsets[0]"])?;
                let two = json!({ "addresses": [{ "ip": "192.0.2.1" }], "ports": [{ "port": 1, "name": "a" }, { "port": 2 }] });
                t.post(&path, &object(two))
                    .await?
                    .invalid(&["FieldValueRequired subsets[0].ports[1].name"])?;
                let made = t
                    .make(
                        &path,
                        object(json!({ "addresses": [{ "ip": "192.0.2.1" }], "ports": [{ "port": 1 }] })),
                    )
                    .await?;
                has(&made, json!({ "subsets": [{ "ports": [{ "protocol": "TCP" }] }] }))
            },
        ),
        case(
            "replace_creates_endpoints",
            "A PUT of missing Endpoints creates them: 201.",
            async |t| {
                t.put(&t.core("endpoints", "/a"), &named("a")).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "every_answer_about_endpoints_warns",
            "Lists, watches, 404s and refusals about Endpoints carry the Warning too.",
            async |t| {
                for answer in [
                    t.get(&t.core("endpoints", "")).await?,
                    t.get(&t.core("endpoints", "/none")).await?,
                    t.post(&t.core("endpoints", ""), &named("A_")).await?,
                ] {
                    let expected = "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"";
                    same(&answer.request, answer.warnings(), vec![expected.to_owned()])?;
                }
                Ok(())
            },
        ),
        case(
            "a_table_of_slices",
            "A table of EndpointSlices says type, ports and the first three addresses.",
            async |t| {
                let endpoints = json!([{ "addresses": ["192.0.2.1"] }, { "addresses": ["192.0.2.2"] }, { "addresses": ["192.0.2.3"] }, { "addresses": ["192.0.2.4"] }]);
                t.make(&slices(t, ""), slice(endpoints, json!([{ "port": 80 }]))).await?;
                let table = t
                    .get_as(&slices(t, "/a"), "application/json;as=Table;v=v1;g=meta.k8s.io")
                    .await?
                    .is(200)?;
                has(
                    &table["rows"][0]["cells"],
                    json!(["a", "IPv4", "80", "192.0.2.1,192.0.2.2,192.0.2.3 + 1 more...", "*"]),
                )
            },
        ),
    ]
}
