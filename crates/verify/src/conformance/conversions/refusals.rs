//! Which conversions a definition may have.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::conversions::hook::{Hook, definition};
use crate::conformance::definitions::DEFINITIONS;
use crate::conformance::webhook_server::Certificate;
use crate::conformance::{Case, Outcome, Target, case};

pub(super) fn cases() -> Vec<Case> {
    [texts(), authorities()].into_iter().flatten().collect()
}

/// A webhook with these members.
fn webhook(members: Value) -> Value {
    let mut webhook = json!({
        "conversionReviewVersions": ["v1"], "clientConfig": { "url": "https://a.example.com/b" },
    });
    if let (Value::Object(webhook), Value::Object(members)) = (&mut webhook, members) {
        webhook.extend(members);
    }
    json!({ "strategy": "Webhook", "webhook": webhook })
}

fn reached_by(client_config: Value) -> Value {
    webhook(json!({ "clientConfig": client_config }))
}

/// A definition with the conversion is refused for these causes: field and message.
async fn refused(t: &Target, conversion: Value, causes: &[(&str, &str)]) -> Outcome {
    let object = definition(&format!("{}.example.com", t.class), conversion);
    let status = t.post(DEFINITIONS, &object).await?.refused(422, "Invalid")?;
    let found: Vec<_> = items(&status, "/details/causes")
        .iter()
        .map(|cause| (text(cause, "/field").to_owned(), text(cause, "/message").to_owned()))
        .collect();
    let expected: Vec<_> = causes
        .iter()
        .map(|(field, message)| (format!("spec.conversion.{field}"), (*message).to_owned()))
        .collect();
    same("the causes", found, expected)
}

const CONFIG: &str = "webhookClientConfig";
const URL: &str = "webhookClientConfig.url";
const FORM: &str = "desired format: https://host[/path]";

fn texts() -> Vec<Case> {
    vec![
        case(
            "a_strategy_is_one_of_two",
            "Another conversion strategy than None and Webhook is refused.",
            async |t| {
                let why = "Unsupported value: \"Other\": supported values: \"None\", \"Webhook\"";
                refused(t, json!({ "strategy": "Other" }), &[("strategy", why)]).await
            },
        ),
        case(
            "a_webhook_has_a_config_and_versions",
            "The strategy Webhook needs a clientConfig and versions of reviews.",
            async |t| {
                let config = "Required value: required when strategy is set to Webhook";
                let versions = ("conversionReviewVersions", "Required value");
                refused(t, json!({ "strategy": "Webhook" }), &[(CONFIG, config), versions]).await?;
                let none = webhook(json!({ "conversionReviewVersions": [] }));
                refused(t, none, &[versions]).await
            },
        ),
        case("no_webhook_without_its_strategy", "The strategy None has no webhook.", async |t| {
            let mut conversion = webhook(json!({}));
            conversion["strategy"] = "None".into();
            let why = "Forbidden: should not be set when strategy is not set to Webhook";
            refused(t, conversion, &[(CONFIG, why), ("conversionReviewVersions", why)]).await
        }),
        case(
            "a_config_has_a_url_or_a_service",
            "A clientConfig has either a url or a service.",
            async |t| {
                let why = "Required value: exactly one of url or service is required";
                let service = json!({ "name": "a", "namespace": "b" });
                let both = json!({ "url": "https://a.example.com", "service": service });
                for config in [json!({}), both] {
                    refused(t, reached_by(config), &[(CONFIG, why)]).await?;
                }
                Ok(())
            },
        ),
        case(
            "a_url_is_https_and_has_a_host",
            "The url of a webhook is https with a host.",
            async |t| {
                let url = |url: &str| reached_by(json!({ "url": url }));
                let scheme = |shown: &str| {
                    format!(
                        "Invalid value: \"{shown}\": 'https' is the only allowed URL scheme; {FORM}"
                    )
                };
                let host = format!("Invalid value: \"\": host must be specified; {FORM}");
                refused(t, url("http://a.example.com"), &[(URL, &scheme("http"))]).await?;
                refused(t, url("https:///path"), &[(URL, &host)]).await?;
                for other in ["a.example.com", ""] {
                    refused(t, url(other), &[(URL, &scheme("")), (URL, &host)]).await?;
                }
                Ok(())
            },
        ),
        case(
            "a_url_has_only_a_path",
            "The url of a webhook has no user, no fragment and no query.",
            async |t| {
                let url = reached_by(json!({ "url": "https://u:p@a.example.com/x?q=1#f" }));
                let user = "Invalid value: \"u:p\": user information is not permitted in the URL";
                let fragment = "Invalid value: \"f\": fragments are not permitted in the URL";
                let query = "Invalid value: \"q=1\": query parameters are not permitted in the URL";
                refused(t, url, &[(URL, user), (URL, fragment), (URL, query)]).await
            },
        ),
        case(
            "a_url_can_be_read",
            "A url of a webhook that cannot be parsed is refused with the reason.",
            async |t| {
                for (url, why) in [
                    (":a", "parse \":a\": missing protocol scheme"),
                    ("https://a:b", "parse \"https://a:b\": invalid port \":b\" after host"),
                ] {
                    let why = format!("Required value: url must be a valid URL: {why}; {FORM}");
                    refused(t, reached_by(json!({ "url": url })), &[(URL, &why)]).await?;
                }
                Ok(())
            },
        ),
        case(
            "a_service_has_a_name_a_port_and_a_path",
            "A service of a webhook has a name, a namespace, a port and a path of DNS names.",
            async |t| {
                let at = |member: &str| format!("webhookClientConfig.service.{member}");
                let service = |service: Value| reached_by(json!({ "service": service }));
                let port =
                    "Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive";
                let path = "Invalid value: \"a//b\": must start with a '/'";
                let empty =
                    |at: usize| format!("Invalid value: \"a//b\": segment[{at}] may not be empty");
                let causes = [
                    (&*at("name"), "Required value"),
                    (&at("namespace"), "Required value"),
                    (&at("port"), port),
                    (&at("path"), path),
                    (&at("path"), &empty(0)),
                    (&at("path"), &empty(1)),
                ];
                let wrong = json!({ "name": "", "namespace": "", "port": 0, "path": "a//b" });
                refused(t, service(wrong), &causes).await?;
                let good = json!({ "name": "a", "namespace": "b" });
                let group = format!("{}.example.com", t.class);
                let definition = definition(&group, service(good));
                let path = format!("{DEFINITIONS}?dryRun=All");
                let made = t.post(&path, &definition).await?.is(201)?;
                let port =
                    &made["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"];
                same("the default port", port, &json!(443))
            },
        ),
        case(
            "a_known_version_of_the_review_is_accepted",
            "The versions of reviews are labels, each once, with one that the server knows.",
            async |t| {
                let versions = webhook(json!({ "conversionReviewVersions": ["v2", "v2", "A"] }));
                let at = "conversionReviewVersions";
                let label = "Invalid value: \"A\": a DNS-1035 label must consist of lower case alphanumeric \
                             characters or '-', start with an alphabetic character, and end with an \
                             alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation \
                             is '[a-z]([-a-z0-9]*[a-z0-9])?')";
                let known = "Invalid value: [\"v2\",\"v2\",\"A\"]: must include at least one of v1, v1beta1";
                let causes = [
                    (&*format!("{at}[1]"), "Invalid value: \"v2\": duplicate version"),
                    (&format!("{at}[2]"), label),
                    (at, known),
                ];
                refused(t, versions, &causes).await
            },
        ),
    ]
}

fn authorities() -> Vec<Case> {
    vec![
        case(
            "a_definition_without_readable_authorities_is_not_established",
            "A definition whose caBundle is no PEM is accepted and not established.",
            async |t| {
                let hook = Hook::with(t, Certificate::Good).await?;
                let mut definition = hook.definition();
                let config = |definition: &mut Value, bundle: &str| {
                    let webhook = &mut definition["spec"]["conversion"]["webhook"];
                    webhook["clientConfig"]["caBundle"] = bundle.into();
                };
                config(&mut definition, "bm90aGluZw==");
                t.make(DEFINITIONS, definition).await?;
                let condition = |found: &Value| {
                    let conditions = items(found, "/status/conditions");
                    let condition = conditions.iter().find(|it| it["type"] == "Established");
                    condition.cloned().unwrap_or_default()
                };
                let refused = |_, found: &Value| condition(found)["reason"] == "InvalidCABundle";
                let found = t.until(&hook.own(), "refused", refused).await?;
                let condition = condition(&found);
                same("the status", &condition["status"], &json!("False"))?;
                let why = "The conversion webhook CABundle is invalid";
                same("the message", text(&condition, "/message"), why)?;
                let bundle = hook.server.ca_bundle();
                t.replace(&hook.own(), |definition| config(definition, &bundle)).await?.is(200)?;
                t.until(&hook.things("v2", ""), "served", |code, _| code == 200).await.map(drop)
            },
        ),
        case(
            "readable_authorities_stay_so",
            "An established definition cannot get a caBundle that is no PEM.",
            async |t| {
                let hook = Hook::served(t).await?;
                let answer = t
                    .replace(&hook.own(), |definition| {
                        let webhook = &mut definition["spec"]["conversion"]["webhook"];
                        webhook["clientConfig"]["caBundle"] = "bm90aGluZw==".into();
                    })
                    .await?;
                let status = answer
                    .invalid(&["FieldValueInvalid spec.conversion.webhookClientConfig.caBundle"])?;
                let why = "Invalid value: \"bm90aGluZw==\": unable to load root certificates: unable to parse \
                           bytes as PEM block";
                same("the message", text(&status, "/details/causes/0/message"), why)
            },
        ),
    ]
}
