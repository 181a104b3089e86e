//! A call that any server can be sent: what comes from earlier answers is named by its place, as
//! `{rv:configmaps/a:0}`.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use crate::conformance::text;

/// One call of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Its place in the sequence as it was drawn.
    pub(super) id: usize,
    /// What it does.
    pub(super) what: What,
}

/// What a call does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// A request whose whole answer is compared.
    Send(Request),
    /// A watch that stays open.
    Watch(Request),
    /// The events of the watch that the call of this id opened are compared so far, and it is
    /// closed.
    Close(usize),
}

/// A request, with places to be filled in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) client: usize,
    pub(super) method: Method,
    /// The path of the kind, with `{ns}`.
    pub(super) collection: String,
    /// What follows it: `/name`, `/name/status`, or nothing. With `{own}`.
    pub(super) rest: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) media: Option<&'static str>,
    pub(super) accept: Option<&'static str>,
    pub(super) body: Body,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    None,
    Json(Value),
    /// The same, as YAML.
    Yaml(Value),
    /// As it is, whatever it is.
    Raw(&'static str),
}

/// Names of clients, by their number.
pub(super) const CLIENTS: [&str; 3] = ["ada", "bob", "cid"];

/// A request as one server is sent it.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Request {
    /// Fills the places in; nothing if one of them is of something that was never seen.
    pub(super) fn fill(&self, memory: &Memory) -> Option<Filled> {
        let mut path = memory.fill(&self.collection)?;
        path.push_str(&memory.fill(&self.rest)?);
        for (at, (name, value)) in self.query.iter().enumerate() {
            path.push(if at == 0 { '?' } else { '&' });
            path.push_str(name);
            path.push('=');
            path.push_str(&escaped(&memory.fill(value)?));
        }
        let mut headers =
            vec![("user-agent", format!("{}/1.0", CLIENTS[self.client % CLIENTS.len()]))];
        headers.extend(self.media.map(|media| ("content-type", media.to_owned())));
        headers.extend(self.accept.map(|accept| ("accept", accept.to_owned())));
        let body = match &self.body {
            Body::None => String::new(),
            Body::Raw(text) => (*text).to_owned(),
            Body::Json(value) => memory.fill_all(value)?.to_string(),
            Body::Yaml(value) => yaml(&memory.fill_all(value)?),
        };
        Some(Filled { method: self.method.clone(), path, headers, body })
    }
}

/// A value of a query, as it is on the wire.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let escaped =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escaped).collect()
}

/// A block of the outermost members, in which everything is JSON, as YAML allows.
fn yaml(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
        }
        other => other.to_string(),
    }
}

/// What one server has said so far of what can be named.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) namespace: String,
    /// By `plural/name`, and `plural` for lists: versions in the order in which they were seen,
    /// and by which call.
    pub(super) versions: BTreeMap<String, Vec<(String, usize)>>,
    pub(super) uids: BTreeMap<String, (String, usize)>,
    pub(super) tokens: BTreeMap<String, (String, usize)>,
}

impl Memory {
    /// Remembers what an answer says.
    pub(super) fn learn(&mut self, id: usize, request: &Request, answer: &Value) {
        let plural = request.collection.rsplit('/').next().unwrap_or_default().to_owned();
        let metadata = &answer["metadata"];
        let version = text(metadata, "/resourceVersion");
        if answer["kind"] == "Status" || version.is_empty() {
            return;
        }
        let name = text(metadata, "/name").replace(&self.namespace, "{own}");
        let key = if name.is_empty() { plural } else { format!("{plural}/{name}") };
        let known = self.versions.entry(key.clone()).or_default();
        // Whether two lists are of one version depends on who else writes, on each server in his
        // own time.
        if name.is_empty() || known.last().is_none_or(|(last, _)| last != version) {
            known.push((version.to_owned(), id));
        }
        for (member, place) in [("/uid", &mut self.uids), ("/continue", &mut self.tokens)] {
            let found = text(metadata, member);
            if !found.is_empty() {
                place.insert(key.clone(), (found.to_owned(), id));
            }
        }
    }

    /// Fills the places of a text.
    pub(super) fn fill(&self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (place, end) = after.split_once('}')?;
            out.push_str(before);
            out.push_str(&self.place(place)?);
            rest = end;
        }
        out.push_str(rest);
        Some(out)
    }

    fn place(&self, place: &str) -> Option<String> {
        Some(match place {
            "ns" | "own" => self.namespace.clone(),
            _ => self.source(place)?.0.clone(),
        })
    }

    /// What a place stands for, and the call whose answer said it.
    pub(super) fn source(&self, place: &str) -> Option<&(String, usize)> {
        let mut parts = place.split(':');
        let (kind, key) = (parts.next()?, parts.next()?);
        match kind {
            "rv" => {
                let back: usize = parts.next()?.parse().ok()?;
                let known = self.versions.get(key)?;
                known.len().checked_sub(back + 1).and_then(|at| known.get(at))
            }
            "uid" => self.uids.get(key),
            "token" => self.tokens.get(key),
            _ => None,
        }
    }

    fn fill_all(&self, value: &Value) -> Option<Value> {
        Some(match value {
            Value::String(text) => self.fill(text)?.into(),
            Value::Array(items) => {
                items.iter().map(|item| self.fill_all(item)).collect::<Option<Vec<_>>>()?.into()
            }
            Value::Object(members) => {
                let filled =
                    members.iter().map(|(name, value)| Some((name.clone(), self.fill_all(value)?)));
                Value::Object(filled.collect::<Option<_>>()?)
            }
            other => other.clone(),
        })
    }
}
