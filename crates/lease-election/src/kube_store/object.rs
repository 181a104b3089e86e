//! ObjectStore: a record inside one object of an API server, whatever its kind.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use kube::api::{Api, DynamicObject, WatchEvent, WatchParams};
use kube::core::ApiResource;
use kube::{Client, Resource};

use super::adornment::Adornment;
use super::events::{About, Recorder};
use super::requests::{Call, Requests, from_kube};
use crate::announcement::Announcement;
use crate::config::Config;
use crate::error::{StoreError, shown};
use crate::record::{Record, StoredLease};
use crate::store::{LeaseEvent, LeaseEvents};
use crate::version::Version;

/// How an object keeps a record. Reading trusts nothing and never fails; writing leaves all else
/// alone.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) read: fn(&DynamicObject) -> Record,
    pub(crate) write: fn(&mut DynamicObject, &Record),
}

#[derive(Clone)]
pub(crate) struct ObjectStore {
    form: Form,
    requests: Requests,
    /// For the watch.
    api: Api<DynamicObject>,
    resource: ApiResource,
    namespace: String,
    events: Option<Recorder>,
    adornment: Arc<Adornment>,
    /// The last versions seen, newest at the back: a write keeps labels, annotations, owners and
    /// unknown fields of the version it replaces.
    seen: Arc<Mutex<VecDeque<Seen>>>,
}

/// An object of the server as JSON: parsed, its maps take several times as much memory.
struct Seen {
    version: Version,
    json: Box<str>,
}

/// How many versions to keep: the watch may tell a few between a version and the write conditional
/// on it.
const REMEMBERED: usize = 4;

/// How long the server keeps a watch open; kube's own default.
const WATCH_SECONDS: u32 = 290;

impl ObjectStore {
    /// The object of kind `K` that `config` names.
    pub(crate) fn new<K: Resource<DynamicType = ()>>(
        client: Client,
        config: &Config,
        form: Form,
    ) -> Self {
        let resource = ApiResource::erase::<K>(&());
        let api: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), config.namespace(), &resource);
        let requests = Requests {
            client,
            url: api.resource_url().to_owned(),
            name: config.name().to_owned(),
            timeout: config.request_timeout(),
        };
        Self {
            form,
            requests,
            api,
            resource,
            namespace: config.namespace().to_owned(),
            events: None,
            adornment: Arc::default(),
            seen: Arc::default(),
        }
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn name(&self) -> &str {
        &self.requests.name
    }

    #[cfg(feature = "legacy-locks")]
    pub(crate) fn kind(&self) -> &str {
        &self.resource.kind
    }

    pub(crate) fn record_events(&mut self, client: Client, component: &str) {
        self.events =
            Some(Recorder::new(client, &self.namespace, component, self.requests.timeout));
    }

    pub(super) fn adorn(&mut self, change: impl FnOnce(&mut Adornment)) {
        change(Arc::make_mut(&mut self.adornment));
    }

    pub(crate) fn announce(&self, announcement: &Announcement) {
        if let Some(events) = &self.events {
            let about = About {
                api_version: self.resource.api_version.clone(),
                kind: self.resource.kind.clone(),
                namespace: self.namespace.clone(),
                name: self.requests.name.clone(),
            };
            events.record(&about, announcement);
        }
    }

    fn remember(&self, object: DynamicObject) -> Result<StoredLease, StoreError> {
        let lease = decode(&object, self.form)?;
        let json = serde_json::to_string(&kept(object)).map_err(|error| {
            StoreError::unknown(format!("the server sent what cannot be written: {error}"))
        })?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|old| old.version != lease.version);
        while seen.len() >= REMEMBERED {
            seen.pop_front();
        }
        seen.push_back(Seen { version: lease.version.clone(), json: json.into_boxed_str() });
        Ok(lease)
    }

    fn recall(&self, version: &Version) -> Option<DynamicObject> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.iter().find(|known| known.version == *version)?;
        serde_json::from_str(&known.json).ok()
    }
}

/// What the next write needs of an object: all but the managed fields. They take more memory than
/// the rest, and the server keeps them for a write without them.
pub(crate) fn kept(mut object: DynamicObject) -> DynamicObject {
    object.metadata.managed_fields = None;
    object
}

fn is_version(object: &DynamicObject, version: &Version) -> bool {
    object.metadata.uid.as_deref() == Some(&version.uid)
        && object.metadata.resource_version.as_deref() == Some(&version.resource_version)
}

impl ObjectStore {
    pub(crate) async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        match self.requests.send_about(Call::Get).await {
            Ok(object) => self.remember(object).map(Some),
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        let mut object =
            DynamicObject::new(&self.requests.name, &self.resource).within(&self.namespace);
        self.adornment.furnish(&mut object);
        (self.form.write)(&mut object, record);
        self.remember(self.requests.create(&object).await?)
    }

    pub(crate) async fn update(
        &self,
        version: &Version,
        record: &Record,
    ) -> Result<StoredLease, StoreError> {
        let known = match self.recall(version) {
            Some(object) => object,
            None => {
                let object = self.requests.send_about::<DynamicObject>(Call::Get).await?;
                if !is_version(&object, version) {
                    return Err(StoreError::Conflict);
                }
                object
            }
        };
        // The object carries its uid: without it a PUT of a missing Lease makes a new one, whatever
        // its resourceVersion says.
        let mut object = known;
        self.adornment.restore(&mut object);
        (self.form.write)(&mut object, record);
        let object = self.requests.send_about(Call::Replace(&object)).await?;
        self.remember(object)
    }

    pub(crate) async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        let params = WatchParams {
            field_selector: Some(format!("metadata.name={}", self.requests.name)),
            timeout: Some(WATCH_SECONDS),
            ..WatchParams::default()
        };
        let from = from.map_or("", |version| version.resource_version.as_str());
        let opening = async { self.api.watch(&params, from).await.map_err(of_watch) };
        let events = self.requests.within(opening).await?;
        let store = self.clone();
        Ok(events.map(move |event| store.tell(event)).boxed())
    }
}

impl ObjectStore {
    fn tell(
        &self,
        event: Result<WatchEvent<DynamicObject>, kube::Error>,
    ) -> Result<LeaseEvent, StoreError> {
        match event.map_err(of_watch)? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                if object.metadata.name.as_deref() != Some(&self.requests.name) {
                    return Ok(LeaseEvent::Alive);
                }
                self.remember(object).map(LeaseEvent::Changed)
            }
            WatchEvent::Deleted(object) => {
                if object.metadata.name.as_deref() != Some(&self.requests.name) {
                    return Ok(LeaseEvent::Alive);
                }
                Ok(LeaseEvent::Deleted(decode(&object, self.form).ok()))
            }
            WatchEvent::Bookmark(_) => Ok(LeaseEvent::Alive),
            WatchEvent::Error(status) => Err(of_watch(kube::Error::Api(status))),
        }
    }
}

/// A 404 to a watch means that the server does not serve it: the watched object may be missing.
fn of_watch(error: kube::Error) -> StoreError {
    match error {
        kube::Error::Api(status) if status.code == 404 => StoreError::Rejected {
            code: 404,
            message: format!("nobody serves the watch: {}", shown(&status.message)),
        },
        error => from_kube(error),
    }
}

pub(crate) fn decode(object: &DynamicObject, form: Form) -> Result<StoredLease, StoreError> {
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
