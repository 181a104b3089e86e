//! Reads lists and watches with kube, in three modes.
//!
//! Two modes ask kube for the kind itself, with managed fields or without. After an answer that did
//! not decode, the third decodes object by object, so that a faulty object hides only itself. It
//! costs a second pass over the JSON.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::stream::{BoxStream, StreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::{DynamicResourceScope, ObjectList, Resource};
use kube::{Api, Client};
use serde::{Deserialize, Deserializer};

use super::managed_fields;
use crate::Kind;
use crate::hostile::let_go;

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
    /// The bookmark that ends the initial events of a streaming list.
    ListEnd(String),
    Refused(Box<kube::core::Status>),
}

pub(crate) type Steps<K> = BoxStream<'static, kube::Result<WatchStep<K>>>;

/// Reads one kind.
pub(crate) struct Reader<K> {
    client: Client,
    url: String,
    keeps_managed_fields: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K> fmt::Debug for Reader<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("url", &self.url).finish_non_exhaustive()
    }
}

impl<K: Kind> Reader<K> {
    pub(crate) fn new(client: Client, url: String, keeps_managed_fields: bool) -> Self {
        Self { client, url, keeps_managed_fields, kind: PhantomData }
    }

    pub(crate) async fn list(&self, tolerant: bool, params: &ListParams) -> kube::Result<Page<K>> {
        if tolerant {
            return self.list_as::<Tolerant>(params).await;
        }
        if self.keeps_managed_fields {
            return self.list_as::<Whole>(params).await;
        }
        self.list_as::<Unmanaged>(params).await
    }

    pub(crate) async fn watch(
        &self,
        tolerant: bool,
        params: &WatchParams,
        version: &str,
    ) -> kube::Result<Steps<K>> {
        if tolerant {
            return self.watch_as::<Tolerant>(params, version).await;
        }
        if self.keeps_managed_fields {
            return self.watch_as::<Whole>(params, version).await;
        }
        self.watch_as::<Unmanaged>(params, version).await
    }

    fn api<M: Mode>(&self) -> Api<Item<K, M>> {
        Api::all_with(self.client.clone(), &self.url)
    }

    async fn list_as<M: Mode>(&self, params: &ListParams) -> kube::Result<Page<K>> {
        let list: ObjectList<Item<K, M>> = self.api().list(params).await?;
        Ok(Page {
            objects: list.items.into_iter().map(|item| item.object).collect(),
            token: list.metadata.continue_.filter(|token| !token.is_empty()),
            version: list.metadata.resource_version.filter(|version| !version.is_empty()),
        })
    }

    async fn watch_as<M: Mode>(
        &self,
        params: &WatchParams,
        version: &str,
    ) -> kube::Result<Steps<K>> {
        let events = self.api::<M>().watch(params, version).await?;
        Ok(events.map(|event| event.map(step)).boxed())
    }
}

fn step<K, M>(event: WatchEvent<Item<K, M>>) -> WatchStep<K> {
    match event {
        WatchEvent::Added(item) | WatchEvent::Modified(item) => WatchStep::Applied(item.object),
        WatchEvent::Deleted(item) => WatchStep::Deleted(item.object),
        WatchEvent::Bookmark(bookmark) => {
            let (version, notes) =
                (bookmark.metadata.resource_version, bookmark.metadata.annotations);
            match notes.get("k8s.io/initial-events-end").map(String::as_str) {
                Some("true") if !version.is_empty() => WatchStep::ListEnd(version),
                _ => WatchStep::Bookmark(version),
            }
        }
        WatchEvent::Error(status) => WatchStep::Refused(status),
    }
}

/// How an object is decoded.
trait Mode: Clone + fmt::Debug + Send + Sync + 'static {
    fn decode<'de, K: Kind, D: Deserializer<'de>>(object: D) -> Result<Decoded<K>, D::Error>;
}

/// With all fields.
#[derive(Debug, Clone)]
struct Whole;

impl Mode for Whole {
    fn decode<'de, K: Kind, D: Deserializer<'de>>(object: D) -> Result<Decoded<K>, D::Error> {
        K::deserialize(object).map(Ok)
    }
}

/// Without managed fields.
#[derive(Debug, Clone)]
struct Unmanaged;

impl Mode for Unmanaged {
    fn decode<'de, K: Kind, D: Deserializer<'de>>(object: D) -> Result<Decoded<K>, D::Error> {
        managed_fields::skipped(object).map(Ok)
    }
}

/// As far as it decodes: never fails for a JSON object.
#[derive(Debug, Clone)]
struct Tolerant;

impl Mode for Tolerant {
    fn decode<'de, K: Kind, D: Deserializer<'de>>(object: D) -> Result<Decoded<K>, D::Error> {
        let value = serde_json::Value::deserialize(object)?;
        // The kind's own code may panic.
        let decoded = catch_unwind(AssertUnwindSafe(|| K::deserialize(&value)));
        let error = match decoded {
            Ok(Ok(object)) => return Ok(Ok(object)),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => {
                let_go(panic);
                "its Deserialize panicked".to_owned()
            }
        };
        Ok(Err(Undecodable { meta: Box::new(metadata(value.get("metadata"))), error }))
    }
}

/// An object as kube reads it in a mode.
#[derive(Debug, Clone)]
struct Item<K, M> {
    object: Decoded<K>,
    mode: PhantomData<M>,
}

impl<'de, K: Kind, M: Mode> Deserialize<'de> for Item<K, M> {
    fn deserialize<D: Deserializer<'de>>(object: D) -> Result<Self, D::Error> {
        Ok(Self { object: M::decode(object)?, mode: PhantomData })
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
impl<K: Kind, M: Mode> Resource for Item<K, M> {
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
        match &self.object {
            Ok(object) => object.meta(),
            Err(undecodable) => &undecodable.meta,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.object {
            Ok(object) => object.meta_mut(),
            Err(undecodable) => &mut undecodable.meta,
        }
    }
}
