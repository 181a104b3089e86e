//! Every verb with every reason that it can be refused for, as far as no other group has the pair.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::seen::Verb;
use crate::conformance::target::{APPLY, JSON_PATCH, MERGE, STRATEGIC};
use crate::conformance::{Case, Outcome, Target, case};

/// A request of a verb that succeeds on the ConfigMap `a`, and what is to be spoilt about it.
struct Plain {
    method: Method,
    path: String,
    media: &'static str,
    accept: &'static str,
    body: String,
    /// One more header.
    more: (&'static str, &'static str),
}

impl Plain {
    fn of(t: &Target, verb: Verb) -> Self {
        let full = || {
            let mut object = map("a", "v");
            object["apiVersion"] = "v1".into();
            object["kind"] = "ConfigMap".into();
            object
        };
        let (method, rest, media, body) = match verb {
            Verb::Get => (Method::GET, "/a", "", Value::Null),
            Verb::List => (Method::GET, "", "", Value::Null),
            Verb::Watch => (Method::GET, "?watch=true&timeoutSeconds=1", "", Value::Null),
            Verb::Create => (Method::POST, "", "application/json", map("b", "v")),
            Verb::Update => (Method::PUT, "/a", "application/json", full()),
            Verb::MergePatch => (Method::PATCH, "/a", MERGE, json!({ "data": { "k": "w" } })),
            Verb::JsonPatch => (
                Method::PATCH,
                "/a",
                JSON_PATCH,
                json!([{ "op": "add", "path": "/data/l", "value": "w" }]),
            ),
            Verb::StrategicPatch => {
                (Method::PATCH, "/a", STRATEGIC, json!({ "data": { "k": "w" } }))
            }
            Verb::Apply => (Method::PATCH, "/a?fieldManager=m&force=true", APPLY, full()),
            Verb::Delete => (Method::DELETE, "/a", "application/json", json!({})),
            Verb::DeleteCollection => (Method::DELETE, "", "application/json", json!({})),
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        Self {
            method,
            path: t.maps(rest),
            media,
            accept: "application/json",
            body,
            more: ("x-case", "verbs"),
        }
    }

    async fn send(self, t: &Target) -> Result<Answer, String> {
        let headers = [("content-type", self.media), ("accept", self.accept), self.more];
        let headers = if self.media.is_empty() { &headers[1..] } else { &headers[..] };
        t.send(self.method, &self.path, headers, self.body).await
    }
}

/// The pair of a verb and a reason.
async fn refused(t: &Target, verb: Verb, code: u16, reason: &str) -> Outcome {
    t.map("a", "v").await?;
    let mut request = Plain::of(t, verb);
    match code {
        400 => request.body = "{".to_owned(),
        401 => request.more = ("authorization", "Bearer nobody's"),
        403 => request.more = ("impersonate-user", "nobody"),
        404 => request.path = request.path.replace("/configmaps", "/nothings"),
        405 => request.path = t.maps("?fieldManager=m"),
        406 => request.accept = "text/html",
        409 if verb == Verb::DeleteCollection => {
            request.body =
                json!({ "preconditions": { "uid": "00000000-0000-4000-8000-000000000000" } })
                    .to_string();
        }
        409 | 500 => {
            let version = if code == 409 { "1" } else { "x" };
            let operation =
                json!([{ "op": "replace", "path": "/metadata/resourceVersion", "value": version }]);
            if verb == Verb::JsonPatch {
                request.body = operation.to_string();
            } else {
                let mut object: Value =
                    serde_json::from_str(&request.body).map_err(|error| error.to_string())?;
                object["metadata"]["name"] = "a".into();
                object["metadata"]["resourceVersion"] = version.into();
                // Something must change: an equal write is not looked at any further.
                object["data"]["k"] = "other".into();
                request.body = object.to_string();
            }
        }
        413 => request.body = format!("\"{}\"", "x".repeat(3_200_000)),
        415 => request.media = "text/plain",
        422 => request.path = t.maps("/a"),
        other => return Err(format!("nobody knows how to be refused with {other}")),
    }
    let answer =
        if code == 401 { request.send(&t.as_stranger()).await? } else { request.send(t).await? };
    let found = answer.refused(code, reason)?;
    let part = match code {
        401 => "Unauthorized",
        403 => "forbidden: User \"nobody\" cannot ",
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 => {
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        }
        409 => "Operation cannot be fulfilled on ",
        413 => "Request entity too large: limit is 3145728",
        415 => {
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml"
        }
        422 => {
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
        }
        _ => "",
    };
    let message = text(&found, "/message");
    if !message.contains(part) {
        return Err(format!("expected a message with {part:?}, got {message:?}"));
    }
    // Nothing happened.
    let after = t.get(&t.maps("/a")).await?.is(200)?;
    has(&after, json!({ "data": { "k": "v", "l": null } }))
}

macro_rules! pairs {
    ($($name:literal $verb:ident $code:literal $reason:literal $what:literal;)*) => {
        vec![$(case(
            $name,
            concat!($what, " answers ", $code, ", and nothing happens."),
            async |t| refused(t, Verb::$verb, $code, $reason).await,
        )),*]
    };
}

pub(super) fn cases() -> Vec<Case> {
    pairs! {
    "get_401" Get 401 "Unauthorized" "A get with a token that nobody has";
        "list_401" List 401 "Unauthorized" "A list with a token that nobody has";
        "watch_401" Watch 401 "Unauthorized" "A watch with a token that nobody has";
        "create_401" Create 401 "Unauthorized" "A create with a token that nobody has";
        "update_401" Update 401 "Unauthorized" "A PUT with a token that nobody has";
        "merge_patch_401" MergePatch 401 "Unauthorized" "A merge patch with a token that nobody has";
        "json_patch_401" JsonPatch 401 "Unauthorized" "A JSON patch with a token that nobody has";
        "strategic_patch_401" StrategicPatch 401 "Unauthorized" "A strategic patch with a token that nobody has";
        "apply_401" Apply 401 "Unauthorized" "An apply with a token that nobody has";
        "delete_401" Delete 401 "Unauthorized" "A delete with a token that nobody has";
        "deletecollection_401" DeleteCollection 401 "Unauthorized" "A deletecollection with a token that nobody has";
        "get_403" Get 403 "Forbidden" "A get by a user without a role that grants it";
        "list_403" List 403 "Forbidden" "A list by a user without a role that grants it";
        "watch_403" Watch 403 "Forbidden" "A watch by a user without a role that grants it";
        "create_403" Create 403 "Forbidden" "A create by a user without a role that grants it";
        "update_403" Update 403 "Forbidden" "A PUT by a user without a role that grants it";
        "merge_patch_403" MergePatch 403 "Forbidden" "A merge patch by a user without a role that grants it";
        "json_patch_403" JsonPatch 403 "Forbidden" "A JSON patch by a user without a role that grants it";
        "strategic_patch_403" StrategicPatch 403 "Forbidden" "A strategic patch by a user without a role that grants it";
        "apply_403" Apply 403 "Forbidden" "An apply by a user without a role that grants it";
        "delete_403" Delete 403 "Forbidden" "A delete by a user without a role that grants it";
        "deletecollection_403" DeleteCollection 403 "Forbidden" "A deletecollection by a user without a role that grants it";
        "strategic_patch_400" StrategicPatch 400 "BadRequest" "A strategic patch that cannot be read";
        "apply_400" Apply 400 "BadRequest" "An applied object that cannot be read";
        "watch_404" Watch 404 "NotFound" "A watch of a resource that nobody knows";
        "strategic_patch_404" StrategicPatch 404 "NotFound" "A strategic patch of a resource that nobody knows";
        "apply_404" Apply 404 "NotFound" "An apply to a resource that nobody knows";
        "deletecollection_404" DeleteCollection 404 "NotFound" "A deletecollection of a resource that nobody knows";
        "json_patch_405" JsonPatch 405 "MethodNotAllowed" "A JSON patch of a collection";
        "strategic_patch_405" StrategicPatch 405 "MethodNotAllowed" "A strategic patch of a collection";
        "apply_405" Apply 405 "MethodNotAllowed" "An apply to a collection";
        "list_406" List 406 "NotAcceptable" "A list in a form that is not served";
        "watch_406" Watch 406 "NotAcceptable" "A watch in a form that is not served";
        "create_406" Create 406 "NotAcceptable" "A create whose answer is wanted in a form that is not served";
        "update_406" Update 406 "NotAcceptable" "A PUT whose answer is wanted in a form that is not served";
        "merge_patch_406" MergePatch 406 "NotAcceptable" "A merge patch whose answer is wanted in a form that is not served";
        "json_patch_406" JsonPatch 406 "NotAcceptable" "A JSON patch whose answer is wanted in a form that is not served";
        "strategic_patch_406" StrategicPatch 406 "NotAcceptable" "A strategic patch whose answer is wanted in a form that is not served";
        "apply_406" Apply 406 "NotAcceptable" "An apply whose answer is wanted in a form that is not served";
        "delete_406" Delete 406 "NotAcceptable" "A delete whose answer is wanted in a form that is not served";
        "deletecollection_406" DeleteCollection 406 "NotAcceptable" "A deletecollection whose answer is wanted in a form that is not served";
        "strategic_patch_409" StrategicPatch 409 "Conflict" "A strategic patch with a stale resourceVersion";
        "apply_409" Apply 409 "Conflict" "An apply with a stale resourceVersion";
        "deletecollection_409" DeleteCollection 409 "Conflict" "A deletecollection whose uid is none of the objects'";
        "update_413" Update 413 "RequestEntityTooLarge" "A PUT of more than 3 MiB";
        "merge_patch_413" MergePatch 413 "RequestEntityTooLarge" "A merge patch of more than 3 MiB";
        "json_patch_413" JsonPatch 413 "RequestEntityTooLarge" "A JSON patch of more than 3 MiB";
        "strategic_patch_413" StrategicPatch 413 "RequestEntityTooLarge" "A strategic patch of more than 3 MiB";
        "apply_413" Apply 413 "RequestEntityTooLarge" "An apply of more than 3 MiB";
        "delete_413" Delete 413 "RequestEntityTooLarge" "A delete with options of more than 3 MiB";
        "deletecollection_413" DeleteCollection 413 "RequestEntityTooLarge" "A deletecollection with options of more than 3 MiB";
        "update_415" Update 415 "UnsupportedMediaType" "A PUT of a media type that is not served";
        "deletecollection_415" DeleteCollection 415 "UnsupportedMediaType" "A deletecollection with options of a media type that is not served";
        "apply_422" Apply 422 "Invalid" "An apply without a field manager";
        "merge_patch_500" MergePatch 500 "" "A merge patch with a resourceVersion that is no number";
        "json_patch_500" JsonPatch 500 "" "A JSON patch with a resourceVersion that is no number";
        "strategic_patch_500" StrategicPatch 500 "" "A strategic patch with a resourceVersion that is no number";
        "apply_500" Apply 500 "" "An apply with a resourceVersion that is no number";
    }
}
