//! `/embedded/...`: the request log and the faults for other processes. Opt-in; not logged, not
//! faulted.
//!
//! | path | answers |
//! | --- | --- |
//! | `GET /embedded/healthz` | `ok`, without a token |
//! | `GET /embedded/requests` | counters; with `since_unix_us`, `from` or `newest` also entries |
//! | `GET /embedded/faults` | the plan in force |
//! | `PUT /embedded/faults` | takes a plan, puts it in force |
//!
//! Parameters of `requests`, each repeatable where it makes sense: `user`, `verb`, `resource`,
//! `except` (resource), `kind=writes|reads`, `since_unix_us=N` (wall time), `from=SEQ`, `newest=N`,
//! `limit=N` (the first N entries).

use crate::body::Body;
use crate::fault::{FaultPlan, Faults};
use crate::request_info::Verb;
use crate::request_log::{Entry, Forgotten, Outcome, RequestLog, Selection};
use crate::status::{failure_response, json_response};
use bytes::Bytes;
use http::{Method, Request, Response};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

pub(crate) const PREFIX: &str = "/embedded/";
pub(crate) const HEALTH: &str = "/embedded/healthz";

pub(crate) fn healthy() -> Response<Body> {
    Response::new(Body::full("ok"))
}

pub(crate) fn answer(
    log: &RequestLog,
    faults: &Faults,
    request: &Request<Bytes>,
) -> Response<Body> {
    let path = request.uri().path().strip_prefix(PREFIX).unwrap_or_default();
    match (request.method(), path) {
        (&Method::GET, "requests") => {
            let query = request.uri().query().unwrap_or_default();
            match requests(log, query) {
                Ok(answer) => json_response(200, answer.to_string()),
                Err((code, why)) => refused(code, &why),
            }
        }
        (&Method::GET, "faults") => match serde_json::to_vec(&faults.plan()) {
            Ok(plan) => json_response(200, plan),
            Err(error) => refused(500, &error.to_string()),
        },
        (&Method::PUT, "faults") => match plan(request.body()) {
            Ok(plan) => {
                faults.set_plan(plan);
                json_response(200, "{}")
            }
            Err(why) => refused(400, &format!("the fault plan is refused: {why}")),
        },
        (_, "requests" | "faults") => {
            refused(405, "requests answers GET, faults answers GET and PUT")
        }
        _ => refused(404, "there are /embedded/healthz, /embedded/requests and /embedded/faults"),
    }
}

fn plan(body: &[u8]) -> Result<FaultPlan, String> {
    let plan: FaultPlan = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    plan.check().map_err(|unknown| unknown.to_string())?;
    Ok(plan)
}

fn refused(code: u16, why: &str) -> Response<Body> {
    failure_response(code, "", why)
}

/// The entries that a request asks for.
enum Wanted {
    None,
    Since(SystemTime),
    From(u64),
    Newest(usize),
}

fn requests(log: &RequestLog, query: &str) -> Result<Value, (u16, String)> {
    let mut selection = log.all();
    let mut wanted = Wanted::None;
    let mut limit = usize::MAX;
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| (400, format!("{key} is {value:?}; it must be a whole number")))
        };
        match &*key {
            "user" => selection = selection.by(value),
            "resource" => selection = selection.resource(value),
            "except" => selection = selection.except_resource(value),
            "verb" => selection = selection.verb(verb(&value)?),
            "kind" => selection = kind(selection, &value)?,
            "since_unix_us" => wanted = Wanted::Since(wall(number()?)?),
            "from" => wanted = Wanted::From(number()?),
            "newest" => wanted = Wanted::Newest(usize::try_from(number()?).unwrap_or(usize::MAX)),
            "limit" => limit = usize::try_from(number()?).unwrap_or(usize::MAX),
            _ => return Err((400, format!("unknown parameter {key:?}"))),
        }
    }
    let mut answer = json!({ "now_unix_us": unix_us(log.now()) });
    let gone = |forgotten: Forgotten| (410, forgotten.to_string());
    let entries = match wanted {
        Wanted::None => None,
        Wanted::Since(since) => Some(selection.entries_since_wall(since).map_err(gone)?),
        Wanted::From(seq) => {
            let (entries, next) = selection.entries_from(seq).map_err(gone)?;
            answer["next"] = next.into();
            Some(entries)
        }
        Wanted::Newest(count) => {
            let mut entries = selection.entries();
            entries.drain(..entries.len().saturating_sub(count));
            Some(entries)
        }
    };
    if let Some(entries) = entries {
        answer["entries"] = entries.iter().take(limit).map(entry).collect();
    }
    answer["counts"] = selection
        .rows()
        .into_iter()
        .map(|(series, counts)| {
            let mut row = json!(series);
            if let (Value::Object(row), Value::Object(counts)) = (&mut row, json!(counts)) {
                row.extend(counts);
            }
            row
        })
        .collect();
    Ok(answer)
}

fn verb(word: &str) -> Result<Verb, (u16, String)> {
    Verb::ALL.into_iter().find(|verb| verb.as_str() == word).ok_or_else(|| {
        let words = Verb::ALL.map(Verb::as_str).join(", ");
        (400, format!("verb is {word:?}; it must be one of {words}"))
    })
}

fn kind(selection: Selection, word: &str) -> Result<Selection, (u16, String)> {
    match word {
        "writes" => Ok(selection.writes()),
        "reads" => Ok(selection.reads()),
        _ => Err((400, format!("kind is {word:?}; it must be writes or reads"))),
    }
}

fn entry(entry: &Entry) -> Value {
    let request = &entry.request;
    json!({
        "seq": entry.seq,
        "wall_unix_us": unix_us(entry.wall),
        "user": entry.user,
        "verb": request.verb,
        "group": request.group,
        "resource": request.resource,
        "subresource": request.subresource,
        "namespace": request.namespace,
        "name": request.name,
        "path": request.path,
        "status": entry.status(),
        "outcome": match entry.outcome {
            Outcome::Pending => "pending",
            Outcome::Answered(_) => "answered",
            Outcome::Disconnected => "disconnected",
            Outcome::Abandoned => "abandoned",
        },
        "took_us": entry.took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
        "fault": entry.fault,
    })
}

fn unix_us(wall: SystemTime) -> u64 {
    let since = wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn wall(unix_us: u64) -> Result<SystemTime, (u16, String)> {
    let too_late = || (400, format!("since_unix_us is {unix_us}; the system's clock ends before"));
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(unix_us)).ok_or_else(too_late)
}
