//! Reviews: SubjectAccessReview, SelfSubjectReview, TokenReview and their kin. They are answered
//! and never stored.

use std::sync::Arc;

use api_front::{Body, User};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use k8s_openapi::api::authentication::v1::{
    SelfSubjectReviewStatus, TokenReviewSpec, TokenReviewStatus,
};
use k8s_openapi::api::authorization::v1::{
    SelfSubjectAccessReviewSpec, SelfSubjectRulesReviewSpec, SubjectAccessReviewSpec,
    SubjectAccessReviewStatus, SubjectRulesReviewStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::access::{Attributes, ISSUER, Rule, user_of};
use crate::admission::review::user_info;
use crate::api::clock;
use crate::api::media;
use crate::api::query::{FieldValidation, Query};
use crate::api::response::with_warnings;
use crate::api::status::{FieldError, FieldErrors, Status, json_response};
use crate::rest::decode::{json as decode_json, unknown_fields};
use crate::rest::route::Target;
use crate::rest::state::ApiState;
use crate::strategy::resource::ServedResource;

/// Answers a review with a JSON body.
pub(crate) fn answer(
    api: &ApiState,
    target: &Target,
    query: &Query,
    mut request: Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let kind = &target.kind;
    query.dry_run("CreateOptions")?;
    let validation = query.field_validation("CreateOptions")?;
    let user = user_of(&mut request);
    media::require_json(request.headers())?;
    let (asked, warnings) =
        Asked::read(kind, target.namespace.as_deref(), request.body(), validation)?;
    let parts = match kind.kind() {
        "SelfSubjectReview" => who_am_i(&user, &clock::seconds(api.clock.now())),
        "TokenReview" => asked.token(api)?,
        "SelfSubjectRulesReview" => asked.rules(api, &user)?,
        "SelfSubjectAccessReview" => asked.access(api, Some(&user))?,
        _ => asked.access(api, None)?,
    };
    let mut answer = Map::new();
    answer.insert("kind".to_owned(), kind.kind().into());
    answer.insert("apiVersion".to_owned(), kind.api_version().into());
    answer.extend(parts);
    Ok(with_warnings(
        json_response(StatusCode::CREATED, Value::Object(answer).to_string()),
        &warnings,
    ))
}

/// A review with checked types.
struct Asked<'a> {
    kind: &'a ServedResource,
    /// The namespace of the path.
    namespace: Option<&'a str>,
    metadata: ObjectMeta,
    spec: Value,
}

/// All members of an answer but kind and apiVersion.
type Parts = Map<String, Value>;

fn parts(metadata: Value, spec: Option<Value>, status: Value) -> Parts {
    let all = [("metadata", Some(metadata)), ("spec", spec), ("status", Some(status))];
    all.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part?))).collect()
}

impl<'a> Asked<'a> {
    /// Reads a review. Unknown members become warnings.
    fn read(
        kind: &'a ServedResource,
        namespace: Option<&'a str>,
        body: &[u8],
        validation: FieldValidation,
    ) -> Result<(Self, Vec<String>), Status> {
        let (api_version, name) = (kind.api_version(), kind.kind());
        let wrong = |said: &str, why: &str| {
            let version = kind.version();
            Status::bad_request(format!(
                "{said} in version {version:?} cannot be handled as a {name}: {why}"
            ))
        };
        let sent = decode_json(kind, body)?;
        let typed: Option<Sent> = Deserialize::deserialize(&sent)
            .map_err(|error: serde_json::Error| wrong(name, &error.to_string()))?;
        let typed = typed.unwrap_or_default();
        let (version, said) =
            (typed.api_version.unwrap_or_default(), typed.kind.unwrap_or_default());
        if !version.is_empty() && version != api_version {
            return Err(Status::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({api_version})"
            )));
        }
        if !said.is_empty() && said != name {
            let group = kind.group().split('.').next().unwrap_or_default();
            return Err(wrong(
                &said,
                &format!("converting (v1.{said}) to ({group}.{name}): unknown conversion"),
            ));
        }
        let (metadata, spec) =
            (typed.metadata.unwrap_or_default(), typed.spec.unwrap_or_else(|| json!({})));
        let mut asked = Self { kind, namespace, metadata, spec };
        if let Some(namespace) = namespace {
            let said = asked.metadata.namespace.get_or_insert_default();
            if said.is_empty() {
                namespace.clone_into(said);
            }
            if said != namespace {
                return Err(Status::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
        }
        // Reading each part by its type drops unknown members and finds wrong types.
        let (spec, status) = (asked.spec, typed.status.unwrap_or_else(|| json!({})));
        let (spec, status) = match name {
            "SelfSubjectReview" => (Ok(json!({})), known::<SelfSubjectReviewStatus>(status)),
            "TokenReview" => (known::<TokenReviewSpec>(spec), known::<TokenReviewStatus>(status)),
            "SelfSubjectRulesReview" => (
                known::<SelfSubjectRulesReviewSpec>(spec),
                known::<SubjectRulesReviewStatus>(status),
            ),
            "SelfSubjectAccessReview" => (
                known::<SelfSubjectAccessReviewSpec>(spec),
                known::<SubjectAccessReviewStatus>(status),
            ),
            _ => {
                (known::<SubjectAccessReviewSpec>(spec), known::<SubjectAccessReviewStatus>(status))
            }
        };
        let of_type = |part: Result<Value, serde_json::Error>| {
            part.map_err(|error| wrong(name, &error.to_string()))
        };
        asked.spec = of_type(spec)?;
        // A sent status is checked and ignored.
        let status = of_type(status)?;
        let known = json!({
            "apiVersion": api_version, "kind": name, "metadata": asked.metadata, "spec": asked.spec, "status": status,
        });
        let unknown = unknown_fields(&sent, &known);
        let warnings = match validation {
            FieldValidation::Strict if !unknown.is_empty() => {
                return Err(wrong(name, &format!("strict decoding error: {}", unknown.join(", "))));
            }
            FieldValidation::Ignore => Vec::new(),
            FieldValidation::Warn | FieldValidation::Strict => unknown,
        };
        Ok((asked, warnings))
    }

    fn shown_metadata(&self) -> Value {
        let mut metadata = serde_json::to_value(&self.metadata).unwrap_or_default();
        if metadata.is_null() {
            metadata = json!({});
        }
        metadata
    }

    fn at(&self, pointer: &str) -> &str {
        self.spec.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn has(&self, member: &str) -> bool {
        self.spec.get(member).is_some_and(|value| !value.is_null())
    }

    /// `user`: that of the request, for a review of its own access. `None`: the review names the
    /// user.
    fn access(&self, api: &ApiState, user: Option<&User>) -> Result<Parts, Status> {
        self.check_access(user.is_none())?;
        let attributes = if self.has("resourceAttributes") {
            let part =
                |name: &str| self.at(&format!("/resourceAttributes/{name}")).to_owned().into();
            Attributes::Resource {
                verb: part("verb"),
                group: part("group"),
                resource: part("resource"),
                subresource: part("subresource"),
                namespace: part("namespace"),
                name: part("name"),
            }
        } else {
            let part =
                |name: &str| self.at(&format!("/nonResourceAttributes/{name}")).to_owned().into();
            Attributes::Path { verb: part("verb"), path: part("path") }
        };
        let subject = match user {
            Some(user) => user.clone(),
            None => self.subject(),
        };
        let decision = api.access.decide(&subject, &attributes);
        let mut status = json!({ "allowed": decision.is_allowed() });
        if !decision.reason().is_empty() {
            status["reason"] = decision.reason().into();
        }
        Ok(parts(self.shown_metadata(), Some(self.spec.clone()), status))
    }

    /// The user of the review, with exactly its groups.
    fn subject(&self) -> User {
        let groups = self.spec.get("groups").and_then(Value::as_array);
        let groups = groups.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        User::with_groups(self.at("/user"), groups.collect())
    }

    /// k8s.io/kubernetes/pkg/apis/authorization/validation.
    fn check_access(&self, names_user: bool) -> Result<(), Status> {
        let mut causes = FieldErrors::default();
        let (resource, path) = (self.has("resourceAttributes"), self.has("nonResourceAttributes"));
        // Upstream reports the Go names of these members.
        let of_path = || {
            let part = |name: &str| self.at(&format!("/nonResourceAttributes/{name}"));
            json!({ "Path": part("path"), "Verb": part("verb") })
        };
        if resource && path {
            let why = "cannot be specified in combination with resourceAttributes";
            causes.push(FieldError::invalid_json("spec.nonResourceAttributes", &of_path(), why));
        }
        if !resource && !path {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            causes.push(FieldError::invalid_json("spec.resourceAttributes", &Value::Null, why));
        }
        let groups = self
            .spec
            .get("groups")
            .and_then(Value::as_array)
            .is_some_and(|groups| !groups.is_empty());
        if names_user && self.at("/user").is_empty() && !groups {
            let why = "at least one of user or group must be specified";
            causes.push(FieldError::invalid("spec.user", "", why));
        }
        let bare = ObjectMeta {
            managed_fields: self.metadata.managed_fields.clone(),
            namespace: self.namespace.and_then(|_| self.metadata.namespace.clone()),
            ..ObjectMeta::default()
        };
        if self.metadata != bare {
            let why = if self.namespace.is_some() {
                "must be empty except for namespace"
            } else {
                "must be empty"
            };
            causes.push(FieldError::invalid_json("metadata", &self.shown_metadata(), why));
        }
        if let Some(namespace) = self.namespace {
            let said = self.at("/resourceAttributes/namespace");
            if resource && said != namespace {
                let field = "spec.resourceAttributes.namespace";
                causes.push(FieldError::invalid(field, said, "must match metadata.namespace"));
            }
            if path {
                let why = "disallowed on this kind of request";
                causes.push(FieldError::invalid_json(
                    "spec.nonResourceAttributes",
                    &of_path(),
                    why,
                ));
            }
        }
        if causes.is_empty() {
            Ok(())
        } else {
            Err(Status::invalid_review(self.kind.group(), &causes))
        }
    }

    fn rules(&self, api: &ApiState, user: &User) -> Result<Parts, Status> {
        let namespace = self.at("/namespace");
        if namespace.is_empty() {
            return Err(Status::bad_request("no namespace on request"));
        }
        let held = match api.access.is_enabled() {
            true => api.access.held(user, namespace),
            false => Vec::new(),
        };
        let all = held.iter().flat_map(|held| held.rules.iter());
        let mut resources: Vec<_> =
            all.clone().filter(|rule| !rule.resources.is_empty()).map(resource_rule).collect();
        let mut paths: Vec<_> = all.filter(|rule| !rule.paths.is_empty()).map(path_rule).collect();
        if !api.access.is_enabled() {
            // The rules of the authorizer AlwaysAllow.
            resources.push(json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }));
            paths.push(json!({ "verbs": ["*"], "nonResourceURLs": ["*"] }));
        }
        let status =
            json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false });
        Ok(parts(json!({}), Some(json!({})), status))
    }

    fn token(&self, api: &ApiState) -> Result<Parts, Status> {
        let token = self.at("/token");
        if token.is_empty() {
            return Err(Status::bad_request("token is required for TokenReview in authentication"));
        }
        let asked = self.spec.get("audiences").and_then(Value::as_array);
        let mut audiences: Vec<&str> =
            asked.into_iter().flatten().filter_map(Value::as_str).collect();
        if audiences.is_empty() {
            audiences.push(ISSUER);
        }
        let given = api.front.user_of(token).filter(|_| audiences.contains(&ISSUER));
        let found = match given {
            Some(user) => Ok(Some((user.clone(), vec![ISSUER.to_owned()]))),
            None => api
                .tokens
                .authenticate(token, &audiences, api.clock.now())
                .map(|found| found.map(|found| (found.user, found.audiences))),
        };
        let unknown = "invalid bearer token";
        let status = match found {
            Ok(Some((user, audiences))) => json!({
                "authenticated": true, "user": user_info(&user), "audiences": audiences,
            }),
            Ok(None) => json!({ "user": {}, "error": unknown }),
            Err(why) => json!({ "user": {}, "error": format!("[{unknown}, {why}]") }),
        };
        Ok(parts(self.shown_metadata(), Some(self.spec.clone()), status))
    }
}

fn who_am_i(user: &User, now: &str) -> Parts {
    parts(json!({ "creationTimestamp": now }), None, json!({ "userInfo": user_info(user) }))
}

fn texts(set: &[Arc<str>]) -> Value {
    set.iter().map(|text| Value::from(&**text)).collect()
}

fn resource_rule(rule: &Rule) -> Value {
    let mut shown = json!({
        "verbs": texts(&rule.verbs),
        "apiGroups": texts(&rule.groups),
        "resources": texts(&rule.resources),
    });
    if !rule.names.is_empty() {
        shown["resourceNames"] = texts(&rule.names);
    }
    shown
}

fn path_rule(rule: &Rule) -> Value {
    json!({ "verbs": texts(&rule.verbs), "nonResourceURLs": texts(&rule.paths) })
}

/// Any review, as sent.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Sent {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<ObjectMeta>,
    spec: Option<Value>,
    status: Option<Value>,
}

/// The part, without unknown members.
fn known<T: DeserializeOwned + Serialize>(part: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(part)?)
}
