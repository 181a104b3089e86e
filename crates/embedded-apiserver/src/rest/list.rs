//! Lists: whole, in pages of a snapshot, and at an old revision.

use std::sync::Arc;

use api_front::Body;
use bytes::{BufMut, BytesMut};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::api::media::Form;
use crate::api::query::{ListOptions, Match, Query};
use crate::api::status::{Status, json_response};
use crate::rest::continuation::Token;
use crate::rest::conversion::all_shown_as;
use crate::rest::route::Target;
use crate::rest::selector::Selector;
use crate::rest::state::ApiState;
use crate::rest::version::{parse_version, wait_for};
use crate::store::state::Place;
use crate::store::stored::Stored;
use crate::store::{Page, Rest};
use k8s_value::names;

/// The objects of a list or a deletecollection.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) objects: Vec<Arc<Stored>>,
    revision: u64,
    remaining: usize,
    /// No selector is set. Then the response has a `remainingItemCount`.
    everything: bool,
}

pub(crate) async fn list(
    api: &ApiState,
    target: &Target,
    query: &Query,
    form: Form,
) -> Result<Response<Body>, Status> {
    let listed = select(api, target, &ListOptions::parse(query)?).await?;
    Ok(listed.into_response(target, form))
}

/// Selects objects by the options of a list.
pub(super) async fn select(
    api: &ApiState,
    target: &Target,
    options: &ListOptions,
) -> Result<Listed, Status> {
    // Selectors are checked with the options, before anything else.
    Selector::check(&options.labels, &options.fields)?;
    options.check_list()?;
    let selector = Selector::parse(&target.kind, &options.labels, &options.fields)?;
    // A list of a single name is read as a get: without pages, and at an old revision only on
    // request.
    let in_one_place = target.namespace.is_some() || !target.kind.is_namespaced();
    let name =
        selector.only("metadata.name").filter(|name| !name.is_empty() && !name.contains('/'));
    let single = in_one_place
        && options.continuation.is_empty()
        && name.is_some_and(|name| names::wrong_path_segment(name).is_none());
    let token = match options.continuation.as_str() {
        "" => None,
        token => Some(Token::parse(token)?),
    };
    if token.is_some() && !matches!(options.version.as_str(), "" | "0") {
        return Err(Status::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    let version = parse_version(&options.version).map_err(|why| {
        Status::bad_request(format!("invalid resource version: {}", why.of_option()))
    })?;
    wait_for(api, version).await?;
    // The token of another server may have a newer revision.
    wait_for(api, token.as_ref().and_then(|token| token.revision).unwrap_or(0)).await?;
    // The watch cache answers "any version", without pages.
    let is_cached = target.kind.strategy().has_watch_cache();
    let any = options.version == "0" && token.is_none() && is_cached;
    let limit = options.limit.filter(|_| !any && !single).unwrap_or(usize::MAX);
    let exact = match options.version_match {
        Some(Match::Exact) => version != 0,
        Some(Match::NotOlderThan | Match::Unknown) => false,
        // Without resourceVersionMatch, a page at a version means exactly that version.
        None => version != 0 && options.limit.is_some() && !single,
    };
    let at = match &token {
        Some(token) => token.revision,
        None => exact.then_some(version),
    };
    let from = token.as_ref().map(|token| token.place(target));
    let place = Place { from: from.as_ref(), ..target.place() };
    let everything = selector.is_empty();
    let known = token.as_ref().and_then(|token| token.known_rest(target));
    let rest = match known {
        _ if !everything => Rest::Any,
        Some(known) => Rest::Known(known),
        None => Rest::Count,
    };
    // A webhook may change what a selector selects by.
    let converts_first = target.kind.has_webhook() && !everything;
    let (at_most, limit) = (limit, if converts_first { usize::MAX } else { limit });
    let matches = |object: &Stored| everything || selector.matches(object);
    let accepts = |object: &Stored| converts_first || matches(object);
    let page = api.store.page(&place, at, limit, rest, accepts).map_err(|_| match &token {
        Some(token) => Status::expired_continue(token.inconsistent().write()),
        None => Status::expired("The resourceVersion for the provided list is too old."),
    })?;
    let (revision, Page { objects, mut remaining }) = (page.revision, page.found);
    let mut objects = all_shown_as(api, &target.kind, objects).await?;
    if converts_first {
        objects.retain(|object| matches(object));
        remaining = objects.len().saturating_sub(at_most);
        objects.truncate(at_most);
    }
    Ok(Listed { objects, revision, remaining, everything })
}

impl Listed {
    pub(super) fn into_response(self, target: &Target, form: Form) -> Response<Body> {
        let kind = &target.kind;
        let Self { objects, revision, remaining, everything } = self;
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        // As upstream, lists of custom kinds always have the member.
        if !kind.is_built_in() && form != Form::Metadata {
            metadata["continue"] = "".into();
        }
        if let Some(last) = objects.last()
            && remaining > 0
        {
            let next = Token::after(&last.key, target, revision, everything.then_some(remaining));
            metadata["continue"] = next.write().into();
            if everything {
                metadata["remainingItemCount"] = remaining.into();
            }
        }
        let head = match form {
            Form::Full | Form::Table => {
                format!(
                    "\"apiVersion\":{},\"kind\":\"{}\"",
                    Value::from(kind.api_version()),
                    kind.list_kind()
                )
            }
            Form::Metadata => {
                "\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\""
                    .to_owned()
            }
        };
        /// The size around an object: a comma, a brace, apiVersion and kind.
        const AROUND: usize = 64;
        let size = objects.iter().map(|object| object.size().saturating_add(AROUND)).sum::<usize>();
        let mut body = BytesMut::with_capacity(size.saturating_add(256));
        body.put_slice(format!("{{{head},\"metadata\":{metadata},\"items\":[").as_bytes());
        for (at, object) in objects.iter().enumerate() {
            if at > 0 {
                body.put_u8(b',');
            }
            object.write_item(kind, form, &mut body);
        }
        body.put_slice(b"]}");
        json_response(StatusCode::OK, body.freeze())
    }
}
