//! Publisher: the requests and the watch that carry out a publication on an API server.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Preconditions, WatchEvent, WatchParams};
use kube::core::ApiResource;
use serde_json::Value;
use tokio::sync::watch;

use super::deed::{Answer, ApiState, Deed};
use super::lease_candidate::{Wanted, seen, write};
use super::publication::Publication;
use crate::clock::{Clock, Moment};
use crate::config::Config;
use crate::error::{StoreError, shown};
use crate::kube_store::{Call, Requests, from_kube};
use crate::standing::{Board, Candidacy};

/// How long the server keeps a watch open.
const WATCH_SECONDS: u32 = 290;

/// A watch that is silent for so long is opened anew: a server sends bookmarks each minute.
const SILENCE: Duration = Duration::from_secs(150);

/// The URL of the API group's versions.
const GROUP: &str = "/apis/coordination.k8s.io";

/// Publishes one LeaseCandidate.
#[derive(Clone)]
pub(crate) struct Publisher {
    requests: Requests,
    /// Of the probe for the API.
    group: Requests,
    /// For the watch.
    api: Api<DynamicObject>,
    resource: ApiResource,
    namespace: String,
    name: String,
    wanted: Wanted,
    /// The period of reads without a watch.
    poll: Duration,
    clock: Arc<dyn Clock>,
    seed: u64,
}

type Events = BoxStream<'static, Result<WatchEvent<DynamicObject>, kube::Error>>;

/// The reason why an idle publisher goes on.
enum Heard {
    Event(Box<WatchEvent<DynamicObject>>),
    /// The watch ended, is silent, or may be dead.
    End,
    Withdraw,
    Time,
}

impl Publisher {
    pub(crate) fn new(
        client: Client,
        config: &Config,
        wanted: Wanted,
        clock: Arc<dyn Clock>,
        seed: u64,
    ) -> Self {
        let resource = ApiResource::erase::<LeaseCandidate>(&());
        let api: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), config.namespace(), &resource);
        let (name, timeout) = (config.identity().to_owned(), config.request_timeout());
        let url = api.resource_url().to_owned();
        Self {
            requests: Requests { client: client.clone(), url, name: name.clone(), timeout },
            group: Requests { client, url: GROUP.into(), name: resource.version.clone(), timeout },
            api,
            resource,
            namespace: config.namespace().to_owned(),
            name,
            wanted,
            poll: config.retry_period(),
            clock,
            seed,
        }
    }

    /// Publishes while `want` is true, then withdraws within two request time-outs after the
    /// request under way.
    pub(crate) async fn publish(self, board: Arc<Board>, mut want: watch::Receiver<bool>) {
        board.note(Candidacy::Looking);
        tokio::select! {
            biased;
            _ = want.wait_for(|want| !want) => return,
            () = board.until_lease_is_known() => {}
        }
        let mut publication = Publication::new(self.wanted.clone(), self.poll, self.seed);
        let mut object: Option<DynamicObject> = None;
        let mut events: Option<(Events, Moment)> = None;
        let mut give_up: Option<Moment> = None;
        let mut error: Option<StoreError> = None;
        let mut blind: Option<StoreError> = None;
        loop {
            let now = self.clock.now();
            if give_up.is_none() && !*want.borrow() {
                publication.withdraw();
                events = None;
                give_up = Some(now.after(self.requests.timeout.saturating_mul(2)));
            }
            if give_up.is_some_and(|until| now >= until) {
                let error = error.unwrap_or_else(|| StoreError::unknown("no time was left"));
                tracing::warn!(candidate = self.name, %error, "the LeaseCandidate is left behind; the server forgets it after 30 minutes");
                board.note(Candidacy::LeftBehind(error));
                return;
            }
            let until = match publication.next(now, self.clock.wall()) {
                Deed::Done => {
                    board.note(Candidacy::Withdrawn);
                    return;
                }
                Deed::Wait(until) => until,
                deed => {
                    let answer = self.attempt_until(give_up, &deed, &mut object).await;
                    error = match &answer {
                        Answer::Failed(failure) => {
                            tracing::debug!(candidate = self.name, %failure, ?deed, "a request about the LeaseCandidate failed");
                            Some(failure.clone())
                        }
                        _ => error.filter(|_| matches!(deed, Deed::Probe | Deed::Read)),
                    };
                    publication.done(now, self.clock.now(), &deed, answer);
                    if give_up.is_none() {
                        self.tell(&board, &publication, error.as_ref(), blind.as_ref());
                    }
                    continue;
                }
            };
            if let Some(from) = publication.to_watch(now) {
                match self.watch(from).await {
                    Ok(opened) => {
                        let now = self.clock.now();
                        publication.watching(now);
                        events = Some((opened, now));
                        blind = None;
                    }
                    Err(failure) => {
                        tracing::debug!(candidate = self.name, error = %failure, "the LeaseCandidate is not watched");
                        publication.unwatched(self.clock.now(), Some(&failure));
                        blind = Some(failure)
                            .filter(|failure| matches!(failure, StoreError::Rejected { .. }));
                    }
                }
                self.tell(&board, &publication, None, blind.as_ref());
                continue;
            }
            if give_up.is_some_and(|give_up| until >= give_up) {
                give_up = Some(now);
                continue;
            }
            match self.hear(&board, &mut events, &mut want, until, give_up.is_none()).await {
                Heard::Event(event) => {
                    if let Some((_, heard)) = &mut events {
                        *heard = self.clock.now();
                    }
                    if !self.take_in(*event, &mut publication, &mut object) {
                        publication.unwatched(self.clock.now(), None);
                        events = None;
                    }
                    self.tell(&board, &publication, None, blind.as_ref());
                }
                Heard::End => {
                    publication.unwatched(self.clock.now(), None);
                    events = None;
                }
                Heard::Withdraw | Heard::Time => {}
            }
        }
    }

    async fn hear(
        &self,
        board: &Board,
        events: &mut Option<(Events, Moment)>,
        want: &mut watch::Receiver<bool>,
        until: Moment,
        standing: bool,
    ) -> Heard {
        let is_watching = events.is_some();
        let silent = events.as_ref().map(|(_, heard)| heard.after(SILENCE));
        let next = async {
            match events {
                Some((events, _)) => match events.next().await {
                    Some(Ok(event)) => Heard::Event(Box::new(event)),
                    _ => Heard::End,
                },
                None => std::future::pending().await,
            }
        };
        let withdraw = async {
            if standing {
                let _ = want.wait_for(|want| !want).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        let quiet = async {
            match silent {
                Some(silent) => self.clock.sleep_until(silent).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = withdraw => Heard::Withdraw,
            heard = next => heard,
            () = quiet => Heard::End,
            // Events that came before the doubt are heard first.
            () = board.connection_is_doubted(), if is_watching => Heard::End,
            () = self.clock.sleep_until(until) => Heard::Time,
        }
    }

    /// Takes in an event; false if the watch cannot be relied on from here.
    fn take_in(
        &self,
        event: WatchEvent<DynamicObject>,
        publication: &mut Publication,
        object: &mut Option<DynamicObject>,
    ) -> bool {
        let is_ours = |told: &DynamicObject| told.metadata.name.as_deref() == Some(&self.name);
        match event {
            WatchEvent::Added(told) | WatchEvent::Modified(told) if is_ours(&told) => {
                let Some(seen) = seen(&told) else { return false };
                publication.changed(seen);
                *object = Some(told);
            }
            WatchEvent::Deleted(told) if is_ours(&told) => {
                let Some(last) = seen(&told) else { return false };
                publication.deleted(&last);
            }
            WatchEvent::Error(_) => return false,
            _ => {}
        }
        true
    }

    /// `error`: of the last request. `blind`: the refusal of the watch.
    fn tell(
        &self,
        board: &Board,
        publication: &Publication,
        error: Option<&StoreError>,
        blind: Option<&StoreError>,
    ) {
        let before = board.candidacy();
        let after = match (publication.api(), error) {
            (ApiState::Absent, _) => Candidacy::ApiAbsent,
            _ if publication.taken_by().is_some() => Candidacy::NameTaken {
                lease: publication.taken_by().unwrap_or_default().to_owned(),
            },
            (_, Some(error))
                if !publication.stands()
                    && !publication.is_in_doubt()
                    && *error != StoreError::Conflict =>
            {
                Candidacy::Refused(error.clone())
            }
            _ if !publication.stands() => return,
            // The elector finds out whether a controller elects.
            _ if before == Candidacy::NobodyElects => return,
            _ => blind.map_or(Candidacy::Standing, |error| Candidacy::Unwatched(error.clone())),
        };
        if after != before {
            match &after {
                Candidacy::ApiAbsent => tracing::warn!(
                    candidate = self.name,
                    version = self.resource.api_version,
                    "the API server has no LeaseCandidates; it is asked again each minute"
                ),
                Candidacy::Refused(error) => {
                    tracing::warn!(candidate = self.name, %error, "the LeaseCandidate is not published")
                }
                Candidacy::NameTaken { lease } => tracing::warn!(
                    candidate = self.name,
                    lease = shown(lease),
                    "a candidate for another Lease has this name: give each elector in a namespace an identity of its own, or none"
                ),
                Candidacy::Unwatched(error) => {
                    tracing::warn!(candidate = self.name, %error, "the LeaseCandidate may not be watched: it is polled");
                }
                _ => {}
            }
            board.note(after);
        }
    }

    async fn watch(&self, from: &str) -> Result<Events, StoreError> {
        let params = WatchParams {
            field_selector: Some(format!("metadata.name={}", self.name)),
            timeout: Some(WATCH_SECONDS),
            ..WatchParams::default()
        };
        let opening = async { self.api.watch(&params, from).await.map_err(from_kube) };
        Ok(self.requests.within(opening).await?.boxed())
    }

    /// Fails at `end`, if there is one.
    async fn attempt_until(
        &self,
        end: Option<Moment>,
        deed: &Deed,
        object: &mut Option<DynamicObject>,
    ) -> Answer {
        let end = async {
            match end {
                Some(end) => self.clock.sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = self.attempt(deed, object) => answer,
            () = end => Answer::Failed(StoreError::unknown("no answer in time")),
        }
    }

    async fn attempt(&self, deed: &Deed, object: &mut Option<DynamicObject>) -> Answer {
        let answer = match deed {
            Deed::Read => match self.requests.send_about_any(Call::Get).await {
                Ok(found) => Ok(Some(found)),
                Err(StoreError::NotFound) => Ok(None),
                Err(error) => Err(error),
            },
            Deed::Create(renew) => {
                let mut made =
                    DynamicObject::new(&self.name, &self.resource).within(&self.namespace);
                write(&mut made, &self.wanted, *renew);
                self.requests.create(&made).await.map(Some)
            }
            Deed::Update(renew) => {
                let Some(mut written) = object.clone() else {
                    return Answer::Failed(StoreError::Conflict);
                };
                write(&mut written, &self.wanted, *renew);
                self.requests.send_about_any(Call::Replace(&written)).await.map(Some)
            }
            Deed::Delete(uid) => {
                let only = Preconditions { uid: Some(uid.clone()), ..Preconditions::default() };
                let params = DeleteParams { preconditions: Some(only), ..DeleteParams::default() };
                return match self.requests.send_about_any::<Value>(Call::Delete(&params)).await {
                    Ok(_) => Answer::Deleted,
                    Err(error) => Answer::Failed(error),
                };
            }
            Deed::Probe => {
                return match self.group.send::<APIResourceList>(Call::Get).await {
                    Ok(list) if list.group_version != self.resource.api_version => {
                        Answer::Failed(StoreError::unknown("the answer is about another version"))
                    }
                    Ok(list) => Answer::Api(
                        list.resources.iter().any(|resource| resource.name == self.resource.plural),
                    ),
                    Err(refusal) if refusal.is_of_no_resource() => Answer::Api(false),
                    // A proxy that refuses the probe counts as a server that does not answer it.
                    Err(refusal) => Answer::Failed(refusal.not_allowed()),
                };
            }
            Deed::Wait(_) | Deed::Done => return Answer::Failed(StoreError::Conflict),
        };
        match answer {
            Ok(found) => {
                let said = found.as_ref().map(seen);
                *object = found;
                match said {
                    None => Answer::Found(None),
                    Some(Some(seen)) => Answer::Found(Some(seen)),
                    Some(None) => Answer::Failed(StoreError::unknown(
                        "a LeaseCandidate without uid or resourceVersion",
                    )),
                }
            }
            Err(error) => Answer::Failed(error),
        }
    }
}
