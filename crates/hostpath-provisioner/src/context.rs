//! What both controllers work with: the server, the disk, the caches, and the work that has been
//! begun for claims.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::{Api, Client};
use parking_lot::Mutex;
use reconciler::{Cache, Index, LeaderTask, ObjectKey, Request};
use tokio::time::{timeout, timeout_at};
use tokio_util::task::TaskTracker;

use crate::directory::{DirectoryError, Owner, Root, TermRecord, is_older};
use crate::events::{Events, Told};
use crate::fence::{Term, TermOver};
use crate::location::Location;
use crate::marker::Fence;
use crate::metrics::Metrics;
use crate::outcome::{Problem, Reason};
use crate::pause::{Pause, PauseNews};
use crate::us::Us;

/// How long things may take and how often they are tried.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// One request to the API server.
    pub api_timeout: Duration,
    /// One attempt to provision a claim; zero is without end.
    pub provision_timeout: Duration,
    /// One attempt to take a volume back; zero is without end.
    pub delete_timeout: Duration,
    /// Attempts after which a claim is given up until it changes; zero is never.
    pub provision_threshold: u32,
    /// Attempts after which a volume is given up until it changes; zero is never.
    pub delete_threshold: u32,
}

impl Default for Limits {
    /// Upstream's thresholds; its operations have no time-out, ours do.
    fn default() -> Self {
        Self {
            api_timeout: Duration::from_secs(10),
            provision_timeout: Duration::from_secs(120),
            delete_timeout: Duration::from_secs(300),
            provision_threshold: 15,
            delete_threshold: 15,
        }
    }
}

/// Work for a claim that has been begun and has no volume yet: what a cleaner needs to find it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) location: Location,
    pub(crate) claim_namespace: String,
    pub(crate) claim_name: String,
}

impl Begun {
    /// The claim, as far as it is known: what an Event about it refers to.
    pub(crate) fn claim(&self) -> PersistentVolumeClaim {
        PersistentVolumeClaim {
            metadata: ObjectMeta {
                namespace: Some(self.claim_namespace.clone()),
                name: Some(self.claim_name.clone()),
                uid: Some(self.location.claim_uid().to_owned()),
                ..ObjectMeta::default()
            },
            ..PersistentVolumeClaim::default()
        }
    }
}

/// The three caches.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    pub(crate) claims: Cache<PersistentVolumeClaim>,
    pub(crate) claims_by_uid: Index<PersistentVolumeClaim>,
    pub(crate) volumes: Cache<PersistentVolume>,
    pub(crate) classes: Cache<StorageClass>,
}

/// What a context is made of.
pub(crate) struct Parts {
    pub(crate) us: Us,
    pub(crate) owner: Owner,
    pub(crate) identity: String,
    pub(crate) root: Root,
    pub(crate) client: Client,
    pub(crate) caches: Caches,
    pub(crate) api_timeout: Duration,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    pub(crate) pause: Pause,
}

/// Shared by both controllers and the sweep.
pub(crate) struct Context {
    pub(crate) us: Us,
    pub(crate) identity: String,
    pub(crate) root: Root,
    pub(crate) owner: Owner,
    pub(crate) client: Client,
    pub(crate) caches: Caches,
    pub(crate) api_timeout: Duration,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    pub(crate) pause: Pause,
    begun: Mutex<HashMap<String, Begun>>,
    on_disk: Arc<Mutex<HashSet<String>>>,
    /// The term that this process has begun on the root.
    begun_term: Mutex<Option<Fence>>,
    /// Held while the server's revision is compared with the disk's, so that no read revision is
    /// compared with a later note.
    compares: tokio::sync::Mutex<()>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("us", &self.us)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

impl Context {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            us,
            owner,
            identity,
            root,
            client,
            caches,
            api_timeout,
            events,
            metrics,
            pause,
        } = parts;
        let (begun, on_disk, begun_term, compares) = Default::default();
        Self {
            us,
            identity,
            root,
            owner,
            client,
            caches,
            api_timeout,
            events,
            metrics,
            pause,
            begun,
            on_disk,
            begun_term,
            compares,
        }
    }

    pub(crate) fn claim_of(&self, uid: &str) -> Option<Arc<PersistentVolumeClaim>> {
        self.caches.claims.by_index(&self.caches.claims_by_uid, uid).into_iter().next()
    }

    pub(crate) fn class(&self) -> Option<Arc<StorageClass>> {
        self.caches.classes.get(&ObjectKey::cluster(self.us.storage_class.as_str()))
    }

    pub(crate) fn volumes_api(&self) -> Api<PersistentVolume> {
        Api::all(self.client.clone())
    }

    pub(crate) fn claims_api(&self, namespace: &str) -> Api<PersistentVolumeClaim> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub(crate) fn begun(&self, uid: &str) -> Option<Begun> {
        self.begun.lock().get(uid).cloned()
    }

    pub(crate) fn begin(&self, begun: Begun) {
        self.begun.lock().insert(begun.location.claim_uid().to_owned(), begun);
    }

    pub(crate) fn end(&self, uid: &str) {
        self.begun.lock().remove(uid);
    }

    pub(crate) fn all_begun(&self) -> Vec<String> {
        self.begun.lock().keys().cloned().collect()
    }

    /// One request, with its time-out; `what` names it, as in "create the volume".
    pub(crate) async fn ask<T>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Problem> {
        match timeout(self.api_timeout, request).await {
            Ok(answer) => answer.map_err(|error| Problem::of_api(what, error)),
            Err(_) => {
                let message = format!("cannot {what}: no answer within {:?}", self.api_timeout);
                Err(Problem::passing(Reason::ApiFailed, &message))
            }
        }
    }

    /// Work on the disk for one claim, on a thread that may block.
    ///
    /// # Cancel safety
    /// The work goes on when the future is dropped; the lease is not given back before it ended,
    /// and no second work for the same claim begins meanwhile.
    pub(crate) async fn on_disk<K, T: Send + 'static>(
        self: &Arc<Self>,
        request: &Request<K>,
        uid: &str,
        work: impl FnOnce(&Root, &Term) -> Result<T, DirectoryError> + Send + 'static,
    ) -> Result<T, Problem> {
        let Some(busy) = Busy::begin(&self.on_disk, uid) else {
            return Err(Problem::passing(
                Reason::DirectoryFailed,
                "earlier work on the directory has not ended yet",
            ));
        };
        let (context, term) = (Arc::clone(self), term_of(request));
        let work = request.tracker().spawn_blocking(move || {
            let done = begin_term(&context, &term, false).and_then(|()| work(&context.root, &term));
            drop(busy);
            done
        });
        match work.await {
            Ok(done) => done.map_err(Problem::from),
            Err(_) => Err(Problem::passing(
                Reason::DirectoryFailed,
                "the work on the directory broke off",
            )),
        }
    }
}

impl Context {
    /// Compares the server's revision with the greatest that the root has seen. Comes before each
    /// removal.
    pub(crate) async fn compare(
        self: &Arc<Self>,
        term: &Term,
        tracker: &TaskTracker,
    ) -> Result<(), Problem> {
        let _alone = self.compares.lock().await;
        self.compare_revision(term, tracker).await
    }

    async fn compare_revision(
        self: &Arc<Self>,
        term: &Term,
        tracker: &TaskTracker,
    ) -> Result<(), Problem> {
        // A list says which revision the server is at, however short it is.
        let (volumes, one) = (self.volumes_api(), ListParams::default().limit(1));
        let listed = self.ask("list the PersistentVolumes", volumes.list(&one)).await?;
        let revision =
            listed.metadata.resource_version.and_then(|version| version.parse::<u64>().ok());
        let (context, term) = (Arc::clone(self), term.clone());
        let work = tracker.spawn_blocking(move || {
            begin_term(&context, &term, false)?;
            if let Some(revision) = revision {
                context.root.compare_revision(revision, &term)?;
            }
            look_for_pause(&context)
        });
        match work.await {
            Ok(done) => Ok(done?),
            Err(_) => {
                Err(Problem::passing(Reason::DirectoryFailed, "the work on the disk broke off"))
            }
        }
    }
}

/// Takes over from the disk whether removals are paused.
fn look_for_pause(context: &Context) -> Result<(), DirectoryError> {
    let why = context.root.paused()?;
    if context.pause.set(why.as_deref()) == PauseNews::Begins
        && let (Some(class), Some(why)) = (context.class(), &why)
    {
        context.events.tell(&*class, Told::RemovalsPaused, why);
    }
    Ok(())
}

/// Makes this term the root's, before the first effect of the term; `again` also if it was done
/// already, in case the record got lost.
pub(crate) fn begin_term(
    context: &Context,
    term: &Term,
    again: bool,
) -> Result<(), DirectoryError> {
    let mut begun = context.begun_term.lock();
    if begun.as_ref() == Some(term.fence()) {
        // A later one has begun since, if so, and the next step finds that out. An earlier one may
        // have written last.
        let is_over = |record: TermRecord| is_older(term.fence(), &record.fence);
        if !again || context.root.read_term()?.is_some_and(is_over) {
            return Ok(());
        }
    }
    context.root.begin_term(&context.owner, term)?;
    *begun = Some(term.fence().clone());
    drop(begun);
    look_for_pause(context)
}

/// The term of leadership that a run belongs to.
pub(crate) fn term_of<K>(request: &Request<K>) -> Term {
    request.leadership().map_or_else(Term::unfenced, term_of_leadership)
}

/// The term of leadership that a leader's task belongs to.
pub(crate) fn term_of_task(task: &LeaderTask) -> Term {
    task.leadership().map_or_else(Term::unfenced, term_of_leadership)
}

fn term_of_leadership(leadership: &lease_election::Leadership) -> Term {
    let token = leadership.fence();
    let fence = Fence {
        uid: token.uid,
        resource_version: token.resource_version,
        transitions: token.transitions,
    };
    let leadership = leadership.clone();
    Term::new(fence, move || leadership.is_valid())
}

impl From<TermOver> for Problem {
    fn from(over: TermOver) -> Self {
        Self::passing(Reason::LeaseLost, &over.to_string())
    }
}

/// Ends an operation at the deadline of its run, which then has a moment left to tell it. `limit`
/// names the flag.
pub(crate) async fn within<K, T>(
    request: &Request<K>,
    limit: &str,
    operation: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let Some(deadline) = request.deadline() else { return operation.await };
    timeout_at(deadline, operation).await.unwrap_or_else(|_| {
        Err(Problem::passing(Reason::TimedOut, &format!("it took longer than {limit}")))
    })
}

/// Marks a claim as being worked on on the disk, for as long as it lives.
struct Busy {
    all: Arc<Mutex<HashSet<String>>>,
    uid: String,
}

impl Busy {
    fn begin(all: &Arc<Mutex<HashSet<String>>>, uid: &str) -> Option<Self> {
        all.lock()
            .insert(uid.to_owned())
            .then(|| Self { all: Arc::clone(all), uid: uid.to_owned() })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.all.lock().remove(&self.uid);
    }
}
