//! Reads lists and watches with kube, in two modes.
//!
//! The strict mode asks kube for the kind itself. After an answer that did not decode, the tolerant
//! mode decodes object by object, so that a faulty object hides only itself. It costs a second pass
//! over the JSON.

use std::borrow::Cow;
use std::fmt;

use futures::stream::{BoxStream, StreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::{DynamicResourceScope, ObjectList, Resource};
use serde::{Deserialize, Deserializer};

use crate::Kind;

/// An object, or the readable parts of an object that does not decode.
pub(crate) type Decoded<K> = Result<K, Undecodable>;

/// The readable parts of an object that does not decode.
#[derive(Debug, Clone)]
pub(crate) struct Undecodable {
    pub(crate) meta: Box<ObjectMeta>,
    pub(crate) error: String,
}

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page<K> {
    pub(crate) objects: Vec<Decoded<K>>,
    pub(crate) token: Option<String>,
    pub(crate) version: Option<String>,
}

/// One event of a watch.
#[derive(Debug)]
pub(crate) enum WatchStep<K> {
    Applied(Decoded<K>),
    Deleted(Decoded<K>),
    Bookmark(String),
    Refused(Box<kube::core::Status>),
}

pub(crate) type Steps<K> = BoxStream<'static, kube::Result<WatchStep<K>>>;

/// The two modes of reading a kind.
pub(crate) struct Reader<K> {
    strict: Api<K>,
    tolerant: Api<Tolerant<K>>,
}

impl<K> fmt::Debug for Reader<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl<K: Kind> Reader<K> {
    pub(crate) fn new(api: Api<K>) -> Self {
        let url = api.resource_url().to_owned();
        let tolerant = Api::all_with(api.clone().into_client(), &url);
        Self { strict: api, tolerant }
    }

    pub(crate) async fn list(&self, tolerant: bool, params: &ListParams) -> kube::Result<Page<K>> {
        if tolerant {
            return Ok(page(self.tolerant.list(params).await?, |object| object.0));
        }
        Ok(page(self.strict.list(params).await?, Ok))
    }

    pub(crate) async fn watch(
        &self,
        tolerant: bool,
        params: &WatchParams,
        version: &str,
    ) -> kube::Result<Steps<K>> {
        if tolerant {
            let events = self.tolerant.watch(params, version).await?;
            return Ok(events
                .map(|event| event.map(|event| step(event, |object| object.0)))
                .boxed());
        }
        let events = self.strict.watch(params, version).await?;
        Ok(events.map(|event| event.map(|event| step(event, Ok))).boxed())
    }
}

fn page<T: Clone, K>(list: ObjectList<T>, decoded: impl Fn(T) -> Decoded<K>) -> Page<K> {
    Page {
        objects: list.items.into_iter().map(decoded).collect(),
        token: list.metadata.continue_.filter(|token| !token.is_empty()),
        version: list.metadata.resource_version.filter(|version| !version.is_empty()),
    }
}

fn step<T, K>(event: WatchEvent<T>, decoded: impl Fn(T) -> Decoded<K>) -> WatchStep<K> {
    match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => {
            WatchStep::Applied(decoded(object))
        }
        WatchEvent::Deleted(object) => WatchStep::Deleted(decoded(object)),
        WatchEvent::Bookmark(bookmark) => WatchStep::Bookmark(bookmark.metadata.resource_version),
        WatchEvent::Error(status) => WatchStep::Refused(status),
    }
}

/// An object of a kind, decoded or not. Decoding this from a JSON object never fails.
#[derive(Debug, Clone)]
pub(crate) struct Tolerant<K>(Decoded<K>);

impl<'de, K: Kind> Deserialize<'de> for Tolerant<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(K::deserialize(&value).map_err(|error| Undecodable {
            meta: Box::new(metadata(value.get("metadata"))),
            error: error.to_string(),
        })))
    }
}

/// The metadata, or only its names and versions if the rest does not decode either.
fn metadata(value: Option<&serde_json::Value>) -> ObjectMeta {
    let Some(value) = value else { return ObjectMeta::default() };
    ObjectMeta::deserialize(value).unwrap_or_else(|_| {
        let text = |field| value.get(field).and_then(serde_json::Value::as_str).map(str::to_owned);
        ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        }
    })
}

/// kube needs only the path, which is the dynamic type, and whether to request metadata alone.
impl<K: Kind> Resource for Tolerant<K> {
    type DynamicType = String;
    type Scope = DynamicResourceScope;

    fn kind(_: &String) -> Cow<'_, str> {
        "".into()
    }

    fn group(_: &String) -> Cow<'_, str> {
        "".into()
    }

    fn version(_: &String) -> Cow<'_, str> {
        "".into()
    }

    fn plural(_: &String) -> Cow<'_, str> {
        "".into()
    }

    fn metadata_api() -> bool {
        K::metadata_api()
    }

    fn url_path(url: &String, _namespace: Option<&str>) -> String {
        url.clone()
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => object.meta(),
            Err(undecodable) => &undecodable.meta,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => object.meta_mut(),
            Err(undecodable) => &mut undecodable.meta,
        }
    }
}
