//! What was found, as text that can be pasted among the conformance cases.

use std::fmt::Write;

use http::Method;
use serde_json::Value;

use crate::fuzz::call::{Body, Call, Request, What};
use crate::fuzz::play::Disagreement;

/// The disagreement, and the case that holds the embedded server to what the real one does.
pub(super) fn case(seed: u64, calls: &[Call], found: &Disagreement) -> String {
    let mut out =
        format!("FUZZ_SEED={seed} disagrees, at the last of these calls:\n  {}\n\n", found.why);
    let mut line = |text: &str| {
        // Writing to a String cannot fail.
        let _ok = writeln!(out, "{text}");
    };
    line("        case(");
    line(&format!("            \"fuzz_{seed}\","));
    line("            \"(the rule, in one sentence).\",");
    line("            async |t| {");
    for (at, call) in calls.iter().enumerate() {
        let last = at + 1 == calls.len();
        match &call.what {
            What::Send(request) => line(&format!(
                "                let a{} = {}.await?;",
                call.id,
                sent(request, calls)
            )),
            What::Watch(request) => {
                line(&format!(
                    "                let mut w{} = t.watch({}).await?;",
                    call.id,
                    path(request, calls)
                ));
            }
            What::Close(_) => {}
        }
        if last && matches!(call.what, What::Send(_)) {
            line(&format!("                // The real server: {:.900}", found.real.trim()));
            line(&format!("                a{}.is(/* code */)?;", call.id));
        }
    }
    line("                Ok(())\n            },\n        ),");
    out
}

fn sent(request: &Request, calls: &[Call]) -> String {
    let body = match &request.body {
        Body::None => "\"\"".to_owned(),
        Body::Raw(text) => format!("{text:?}"),
        // JSON is YAML.
        Body::Json(value) | Body::Yaml(value) => {
            format!("json!({}).to_string()", value_of(value, calls))
        }
    };
    let method = match request.method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "OPTIONS",
    };
    let headers = [("content-type", request.media), ("accept", request.accept)];
    let headers: Vec<_> = headers
        .iter()
        .filter_map(|(name, value)| Some(format!("({name:?}, {:?})", (*value)?)))
        .collect();
    format!("t.send(Method::{method}, {}, &[{}], {body})", path(request, calls), headers.join(", "))
}

fn path(request: &Request, calls: &[Call]) -> String {
    let mut text = format!("{}{}", request.collection, request.rest);
    for (at, (name, value)) in request.query.iter().enumerate() {
        text.push(if at == 0 { '?' } else { '&' });
        text.push_str(&format!("{name}={value}"));
    }
    let (format, arguments) = filled(&text, calls);
    if arguments.is_empty() {
        format!("{format:?}")
    } else {
        format!("&format!({format:?}, {})", arguments.join(", "))
    }
}

/// A text with its places as arguments of `format!`.
fn filled(text: &str, calls: &[Call]) -> (String, Vec<String>) {
    let (mut format, mut arguments) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((place, end)) = after.split_once('}') else { break };
        format.push_str(before);
        format.push_str("{}");
        arguments.push(argument(place, calls));
        rest = end;
    }
    format.push_str(rest);
    (format, arguments)
}

fn argument(place: &str, calls: &[Call]) -> String {
    let mut parts = place.split(':');
    let (kind, key, back) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next());
    // Which answer said it depends on what was answered; the last call about the same object is the
    // best guess.
    let (plural, name) = key.split_once('/').unwrap_or((key, ""));
    let about = |request: &Request| {
        let named = request.rest.trim_start_matches('/').split('/').next() == Some(name)
            || matches!(&request.body, Body::Json(body) | Body::Yaml(body) if body["metadata"]["name"] == *name);
        request.collection.ends_with(plural) && named
    };
    let call = calls
        .iter()
        .rev()
        .skip(1)
        .find(|call| matches!(&call.what, What::Send(request) if about(request)));
    let answer = call.map_or_else(|| "a?".to_owned(), |call| format!("a{}", call.id));
    match kind {
        "ns" => "t.namespace".to_owned(),
        "own" => "t.class".to_owned(),
        "rv" => format!("version(&{answer}.json) /* {} before the last */", back.unwrap_or("0")),
        "uid" => format!("text(&{answer}.json, \"/metadata/uid\")"),
        _ => format!("text(&{answer}.json, \"/metadata/continue\")"),
    }
}

fn value_of(value: &Value, calls: &[Call]) -> String {
    match value {
        Value::String(text) => {
            let (format, arguments) = filled(text, calls);
            if arguments.is_empty() {
                format!("{text:?}")
            } else {
                format!("format!({format:?}, {})", arguments.join(", "))
            }
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(|item| value_of(item, calls)).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, value)| format!("{name:?}: {}", value_of(value, calls)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
