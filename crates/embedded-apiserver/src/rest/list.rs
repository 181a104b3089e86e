//! Lists: whole, in pages of one consistent snapshot, and at a revision of the past.

use bytes::{BufMut, BytesMut};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::body::Body;
use crate::query::{ListOptions, Match, Query};
use crate::rest::{parse_version, wait_for};
use crate::route::Target;
use crate::selector::Selector;
use crate::server::Core;
use crate::status::{Status, json_response};
use crate::stored::{Form, Key};

/// Where the next page begins: after a key, in the snapshot of a revision. Opaque to clients, and not tied to a kind,
/// as the real server's.
#[derive(Debug)]
struct Token {
    /// 0: whatever is newest. Handed out with 410 to those who would rather have an inconsistent rest than none.
    revision: u64,
    after: Key,
}

impl Token {
    fn parse(token: &str) -> Result<Self, Status> {
        let read = || {
            let (revision, key) = token.split_once(':')?;
            let (namespace, name) = key.split_once('/')?;
            Some(Self { revision: revision.parse().ok()?, after: Key::new(namespace, name) })
        };
        read().ok_or_else(|| Status::bad_request("continue key is not valid"))
    }

    fn write(&self) -> String {
        format!("{}:{}/{}", self.revision, self.after.namespace, self.after.name)
    }
}

pub(crate) async fn list(
    core: &Core,
    target: &Target,
    query: &Query,
    form: Form,
) -> Result<Response<Body>, Status> {
    let kind = &target.kind;
    let options = ListOptions::parse(query)?;
    options.check_list()?;
    let selector = Selector::parse(kind, &options.labels, &options.fields)?;
    let version = parse_version(&options.version)
        .map_err(|why| Status::bad_request(format!("resourceVersion: {}", why.0)))?;
    wait_for(core, version).await?;
    let token = match options.continuation.as_str() {
        "" => None,
        token => Some(Token::parse(token)?),
    };
    // "Any version will do" is answered from the watch cache, which knows no pages.
    let any = options.version == "0" && token.is_none();
    let limit = options.limit.filter(|_| !any).unwrap_or(usize::MAX);
    let exact = match options.version_match {
        Some(Match::Exact) => true,
        Some(Match::NotOlderThan) => false,
        // Before there was resourceVersionMatch, a page at a version meant exactly that version.
        None => version != 0 && options.limit.is_some(),
    };
    let at = match &token {
        Some(token) => Some(token.revision).filter(|revision| *revision != 0),
        None => exact.then_some(version),
    };
    let after = token.as_ref().map(|token| &token.after);
    let snapshot = core.store.snapshot(&kind.storage, target.namespace.as_deref(), after, at);
    let snapshot = snapshot.map_err(|_| match &token {
        Some(token) => {
            let rest = Token { revision: 0, after: token.after.clone() };
            Status::expired_continue(rest.write())
        }
        None => Status::expired("The resourceVersion for the provided list is too old."),
    })?;
    let everything = selector.is_empty();
    let mut matching = snapshot.objects.iter().filter(|object| everything || selector.matches(object));
    let mut items = BytesMut::new();
    let mut last = None;
    for object in matching.by_ref().take(limit) {
        if last.is_some() {
            items.put_u8(b',');
        }
        object.write_item(kind, form, &mut items);
        last = Some(&object.key);
    }
    let remaining = matching.count();
    let mut metadata = json!({ "resourceVersion": snapshot.revision.to_string() });
    if let Some(last) = last
        && remaining > 0
    {
        let next = Token { revision: snapshot.revision, after: last.clone() };
        metadata["continue"] = next.write().into();
        if everything {
            metadata["remainingItemCount"] = remaining.into();
        }
    }
    let head = match form {
        Form::Full => {
            format!("\"apiVersion\":{},\"kind\":\"{}List\"", Value::from(kind.api_version()), kind.kind())
        }
        Form::Metadata => {
            "\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\"".to_owned()
        }
    };
    let mut body = BytesMut::with_capacity(items.len().saturating_add(256));
    body.put_slice(format!("{{{head},\"metadata\":{metadata},\"items\":[").as_bytes());
    body.put_slice(&items);
    body.put_slice(b"]}");
    Ok(json_response(StatusCode::OK, body.freeze()))
}
