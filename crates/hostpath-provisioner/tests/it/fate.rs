//! A replica that dies at a chosen point: between any two of its requests and steps on the disk.
//! From then on nothing it does has any effect, as after SIGKILL.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use embedded_apiserver::{Disconnected, EmbeddedApiServer};
use hostpath_provisioner::{Permissions, Probe};
use http::{Method, Request};
use kube::Client;
use tokio::sync::Notify;
use tower::Layer as _;

use crate::doorman::Doorman;

/// When it dies, and whether it has.
#[derive(Clone)]
pub(crate) struct Fate(Arc<Inner>);

struct Inner {
    at: usize,
    deadly: bool,
    points: AtomicUsize,
    reached: AtomicBool,
    died: Notify,
    log: parking_lot::Mutex<Vec<String>>,
}

impl Fate {
    /// Dies at this point, counted from 0. Each request and each step has two: before it has an
    /// effect, and after.
    pub(crate) fn dies_at(point: usize) -> Self {
        Self::at(point, true)
    }

    /// Only tells that the point was reached, and lives on.
    pub(crate) fn signals_at(point: usize) -> Self {
        Self::at(point, false)
    }

    fn at(point: usize, deadly: bool) -> Self {
        Self(Arc::new(Inner {
            at: point,
            deadly,
            points: AtomicUsize::new(0),
            reached: AtomicBool::new(false),
            died: Notify::new(),
            log: parking_lot::Mutex::default(),
        }))
    }

    pub(crate) fn immortal() -> Self {
        Self::dies_at(usize::MAX)
    }

    /// The last point that was passed, in words.
    pub(crate) fn last_point(&self) -> String {
        self.0.log.lock().last().cloned().unwrap_or_default()
    }

    /// Waits for the point.
    pub(crate) async fn died(&self) {
        loop {
            let notified = self.0.died.notified();
            let mut notified = std::pin::pin!(notified);
            notified.as_mut().enable();
            if self.0.reached.load(Ordering::SeqCst) {
                return;
            }
            notified.await;
        }
    }

    fn is_dead(&self) -> bool {
        self.0.deadly && self.0.reached.load(Ordering::SeqCst)
    }

    /// Passes a point; false when it is dead by then.
    fn pass(&self, what: impl FnOnce() -> String) -> bool {
        if self.is_dead() {
            return false;
        }
        self.0.log.lock().push(what());
        if self.0.points.fetch_add(1, Ordering::SeqCst) != self.0.at {
            return true;
        }
        self.0.reached.store(true, Ordering::SeqCst);
        self.0.died.notify_waiters();
        !self.0.deadly
    }

    /// For the root.
    pub(crate) fn probe(&self) -> Probe {
        let fate = self.clone();
        Box::new(move |step, moment| {
            let lives = fate.pass(|| format!("{moment:?} {step}"));
            if lives { Ok(()) } else { Err(io::Error::other("dead")) }
        })
    }

    /// A client whose requests end with the replica. The watches and lists of caches are no points,
    /// nor, with `counted` false, is anything else.
    pub(crate) fn client(
        &self,
        server: &EmbeddedApiServer,
        user: &str,
        counted: bool,
        permissions: &Permissions,
        doorman: &Doorman,
    ) -> Client {
        let (fate, service, doorman) =
            (self.clone(), server.service().as_user(user), doorman.clone());
        let mortal = tower::service_fn(move |request: Request<kube::client::Body>| {
            let (fate, service, doorman) = (fate.clone(), service.clone(), doorman.clone());
            async move {
                let name = format!("{} {}", request.method(), request.uri().path());
                let counted = counted && is_point(&request);
                if fate.is_dead() || counted && !fate.pass(|| format!("Before {name}")) {
                    return std::future::pending().await;
                }
                let answer: Result<_, Disconnected> = doorman.pass(request, service).await;
                if fate.is_dead() || counted && !fate.pass(|| format!("After {name}")) {
                    return std::future::pending().await;
                }
                answer
            }
        });
        Client::new(permissions.layer().layer(mortal), "default")
    }
}

/// A write, or a read of one object.
fn is_point(request: &Request<kube::client::Body>) -> bool {
    let collection =
        ["/persistentvolumes", "/persistentvolumeclaims", "/storageclasses", "/events"];
    request.method() != Method::GET
        || !collection.iter().any(|end| request.uri().path().ends_with(end))
}
