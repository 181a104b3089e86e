//! ObjectStore: a record inside one object of an API server, whatever its kind. Requests and answers; where in the object the record stands is the form's.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, DynamicObject, GetParams, PostParams, Request, WatchEvent, WatchParams};
use kube::client::Body;
use kube::core::{ApiResource, Status};
use kube::{Client, Resource};

use super::events::{About, Recorder};
use crate::announcement::Announcement;
use crate::config::Config;
use crate::error::{StoreError, shown};
use crate::record::{Record, StoredLease};
use crate::store::{LeaseEvent, LeaseEvents};
use crate::version::Version;

/// How a record stands in an object. Reading trusts nothing and fails on nothing; writing leaves all else alone.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) read: fn(&DynamicObject) -> Record,
    pub(super) write: fn(&mut DynamicObject, &Record),
}

#[derive(Clone)]
pub(super) struct ObjectStore {
    form: Form,
    client: Client,
    /// For the watch; the other calls are made by hand, because kube keeps no headers.
    api: Api<DynamicObject>,
    resource: ApiResource,
    namespace: String,
    name: String,
    request_timeout: Duration,
    events: Option<Recorder>,
    /// The last versions seen, newest at the back: a write keeps labels, annotations, owners and unknown fields of the version it replaces.
    seen: Arc<Mutex<VecDeque<DynamicObject>>>,
}

/// Between a version and the write that is conditional on it, the watch may tell a few more.
const REMEMBERED: usize = 4;

/// How long the server keeps a watch open; kube's own default.
const WATCH_SECONDS: u32 = 290;

/// A request about the object.
enum Call<'a> {
    Get,
    Create(&'a DynamicObject),
    Replace(&'a DynamicObject),
}

/// Why a request brought no object, with the server's own words if it is that.
struct Refusal {
    error: StoreError,
    status: Status,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self { error, status: Status::default() }
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        refusal.error
    }
}

impl ObjectStore {
    /// The object of kind `K` that `config` names.
    pub(super) fn new<K: Resource<DynamicType = ()>>(client: Client, config: &Config, form: Form) -> Self {
        let resource = ApiResource::erase::<K>(&());
        Self {
            form,
            api: Api::namespaced_with(client.clone(), config.namespace(), &resource),
            client,
            resource,
            namespace: config.namespace().to_owned(),
            name: config.name().to_owned(),
            request_timeout: config.request_timeout(),
            events: None,
            seen: Arc::default(),
        }
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn kind(&self) -> &str {
        &self.resource.kind
    }

    pub(super) fn record_events(&mut self, client: Client, component: &str) {
        self.events = Some(Recorder::new(client, &self.namespace, component, self.request_timeout));
    }

    pub(super) fn announce(&self, announcement: &Announcement) {
        if let Some(events) = &self.events {
            let about = About {
                api_version: self.resource.api_version.clone(),
                kind: self.resource.kind.clone(),
                namespace: self.namespace.clone(),
                name: self.name.clone(),
            };
            events.record(&about, announcement);
        }
    }

    async fn within<R>(
        &self,
        call: impl Future<Output = Result<R, StoreError>> + Send,
    ) -> Result<R, StoreError> {
        match tokio::time::timeout(self.request_timeout, call).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::unknown("no answer within the request time-out")),
        }
    }

    /// One request, and the object that it is answered with. Nobody repeats it.
    async fn object(&self, call: Call<'_>) -> Result<DynamicObject, Refusal> {
        let to = Request::new(self.api.resource_url());
        let json = |object| serde_json::to_vec(object).map_err(|error| unsent(&error));
        let request = match call {
            Call::Get => to.get(&self.name, &GetParams::default()),
            Call::Create(object) => to.create(&PostParams::default(), json(object)?),
            Call::Replace(object) => to.replace(&self.name, &PostParams::default(), json(object)?),
        };
        let request = request.map_err(|error| unsent(&error))?.map(Body::from);
        let exchange = async {
            let response = self.client.send(request).await.map_err(from_kube)?;
            let asked = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
            let (status, asked) = (response.status(), asked.and_then(seconds));
            let body = response.into_body().collect_bytes().await.map_err(from_kube)?;
            Ok((status, asked, body))
        };
        let (status, asked, body) = self.within(exchange).await?;
        if status.is_client_error() || status.is_server_error() {
            let code = status.as_u16();
            // The answer's own code: who stands in between may wrap what somebody else has said.
            let status = match serde_json::from_slice::<Status>(&body) {
                Ok(status) => status.with_code(code),
                Err(_) => Status::failure(String::from_utf8_lossy(&body).trim(), "").with_code(code),
            };
            return Err(Refusal { error: from_status(&status, asked), status });
        }
        Ok(serde_json::from_slice(&body)
            .map_err(|error| StoreError::unknown(format!("the answer is no object: {error}")))?)
    }

    fn remember(&self, object: DynamicObject) -> Result<StoredLease, StoreError> {
        let lease = decode(&object, self.form)?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|old| old.metadata.resource_version != object.metadata.resource_version);
        while seen.len() >= REMEMBERED {
            seen.pop_front();
        }
        seen.push_back(kept(object));
        Ok(lease)
    }

    fn recall(&self, version: &Version) -> Option<DynamicObject> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().find(|object| is_version(object, version)).cloned()
    }
}

/// What the next write needs of an object: all of it but who wrote which field. That takes more memory than the rest, and a write
/// without it leaves it to the server.
pub(super) fn kept(mut object: DynamicObject) -> DynamicObject {
    object.metadata.managed_fields = None;
    object
}

fn is_version(object: &DynamicObject, version: &Version) -> bool {
    object.metadata.uid.as_deref() == Some(&version.uid)
        && object.metadata.resource_version.as_deref() == Some(&version.resource_version)
}

impl ObjectStore {
    pub(super) async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        match self.object(Call::Get).await.map_err(StoreError::from) {
            Ok(object) => self.remember(object).map(Some),
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        let mut object = DynamicObject::new(&self.name, &self.resource).within(&self.namespace);
        (self.form.write)(&mut object, record);
        match self.object(Call::Create(&object)).await {
            Ok(object) => self.remember(object),
            // A quota that is used up is a conflict too: it does not mean that another has made the Lease.
            Err(Refusal { error: StoreError::Conflict, status }) if status.reason != "AlreadyExists" => {
                Err(StoreError::Rejected { code: 409, message: shown(&status.message) })
            }
            Err(Refusal { error: StoreError::NotFound, .. }) => {
                Err(StoreError::Rejected { code: 404, message: format!("no namespace {}", self.namespace) })
            }
            Err(refusal) => Err(refusal.error),
        }
    }

    pub(super) async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        let known = match self.recall(version) {
            Some(object) => object,
            None => {
                let object = self.object(Call::Get).await?;
                if !is_version(&object, version) {
                    return Err(StoreError::Conflict);
                }
                object
            }
        };
        // With the uid in it: a PUT of a missing Lease would otherwise make a new one, whatever its resourceVersion says.
        let mut object = known;
        (self.form.write)(&mut object, record);
        let object = self.object(Call::Replace(&object)).await?;
        self.remember(object)
    }

    pub(super) async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        let params = WatchParams {
            field_selector: Some(format!("metadata.name={}", self.name)),
            timeout: Some(WATCH_SECONDS),
            ..WatchParams::default()
        };
        let from = from.map_or("", |version| version.resource_version.as_str());
        let opening = async { self.api.watch(&params, from).await.map_err(from_kube) };
        let events = self.within(opening).await?;
        let store = self.clone();
        Ok(events.map(move |event| store.tell(event)).boxed())
    }
}

impl ObjectStore {
    fn tell(&self, event: Result<WatchEvent<DynamicObject>, kube::Error>) -> Result<LeaseEvent, StoreError> {
        match event.map_err(from_kube)? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                if object.metadata.name.as_deref() != Some(&self.name) {
                    return Ok(LeaseEvent::Alive);
                }
                self.remember(object).map(LeaseEvent::Changed)
            }
            WatchEvent::Deleted(object) => {
                if object.metadata.name.as_deref() != Some(&self.name) {
                    return Ok(LeaseEvent::Alive);
                }
                Ok(LeaseEvent::Deleted(decode(&object, self.form).ok()))
            }
            WatchEvent::Bookmark(_) => Ok(LeaseEvent::Alive),
            WatchEvent::Error(status) => Err(from_status(&status, None)),
        }
    }
}

pub(super) fn decode(object: &DynamicObject, form: Form) -> Result<StoredLease, StoreError> {
    let part = |name: &str, value: &Option<String>| match value.as_deref() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(StoreError::unknown(format!("the server sent a lease without {name}"))),
    };
    Ok(StoredLease {
        version: Version {
            uid: part("uid", &object.metadata.uid)?,
            resource_version: part("resourceVersion", &object.metadata.resource_version)?,
        },
        record: (form.read)(object),
    })
}

pub(crate) fn from_kube(error: kube::Error) -> StoreError {
    match error {
        kube::Error::Api(status) => from_status(&status, None),
        kube::Error::BuildRequest(error) => unsent(&error),
        // Anything else may have happened after the request was sent.
        other => StoreError::unknown(shown(&other.to_string())),
    }
}

/// A `Retry-After` in seconds; one that is a date is not followed, because it is of another's clock.
fn seconds(text: &str) -> Option<Duration> {
    text.trim().parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// A request that could not be made.
fn unsent(error: &dyn std::error::Error) -> StoreError {
    StoreError::Rejected { code: 0, message: shown(&error.to_string()) }
}

/// `asked`: what the header of the answer says. A server that has no time for more refuses in plain text (API Priority and Fairness does), and then
/// the header alone says for how long.
pub(super) fn from_status(status: &Status, asked: Option<Duration>) -> StoreError {
    match status.code {
        404 => StoreError::NotFound,
        409 => StoreError::Conflict,
        410 => StoreError::Expired,
        429 => {
            let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            let told = (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)));
            StoreError::TooManyRequests { retry_after: told.max(asked) }
        }
        code @ 400..=499 if code != 408 => StoreError::Rejected { code, message: shown(&status.message) },
        code => StoreError::unknown(format!("status {code}: {}", shown(&status.message))),
    }
}
