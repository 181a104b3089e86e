//! The keeper: asks the server what this account may do, says in log, readiness and metrics what is
//! missing, and has what waited for a permission try again when it is granted.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::ledger::{Changes, Ledger};
use super::review::{Review, TheLease, review};
use super::{PERMISSIONS, Permission, Scope};

/// How often the server is asked while something is missing.
const UNEASY: Duration = Duration::from_secs(3);
/// How often it is asked about everything, whether something was refused or not: a standby is
/// refused little.
const EASY: Duration = Duration::from_secs(30);
/// How often a server is asked that does not know the question.
const UNABLE: Duration = Duration::from_secs(120);
/// The longest pause before questions without an answer are asked again; the first is `UNEASY`, and
/// it doubles.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Between two reviews that refusals ask for, at first; doubled by each that explains nothing.
const GAP: Duration = Duration::from_secs(1);
const GAP_MAX: Duration = Duration::from_secs(30);
/// When those that waited are told, after a permission was granted. More than once: of several API
/// servers some hear of a changed role later.
const TOLD_AFTER: [Duration; 3] = [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(10)];
/// How often they try on their own, where the server cannot be asked.
const BLIND: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
}

/// What may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mended {
    /// Watches: they were refused, and are not any more.
    Watches,
    /// Everything that waits.
    Everything,
}

type OnMended = Arc<dyn Fn(Mended) + Send + Sync>;

/// The permissions of one program: what is missing now, and who is told. Cheap to clone.
#[derive(Clone)]
pub struct Permissions {
    shared: Arc<Shared>,
}

struct Shared {
    lease: TheLease,
    ledger: Mutex<Ledger>,
    /// A refusal that is worth a review.
    news: Notify,
    gauges: Family<Labels, Gauge<i64, AtomicI64>>,
    on_mended: Mutex<Option<OnMended>>,
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permissions").field("missing", &self.missing()).finish_non_exhaustive()
    }
}

impl Permissions {
    /// Of a program that campaigns for this Lease. Nothing is known to be missing yet.
    #[must_use]
    pub fn new(lease_namespace: &str, lease_name: &str) -> Self {
        let gauges = Family::default();
        for permission in &PERMISSIONS {
            // Present from the start, so that an alert has something to look at.
            let gauge: &Gauge<i64, AtomicI64> = &gauges.get_or_create(&labels(permission));
            gauge.set(0);
        }
        let lease = TheLease { namespace: lease_namespace.to_owned(), name: lease_name.to_owned() };
        let (ledger, news, on_mended) = Default::default();
        Self { shared: Arc::new(Shared { lease, ledger, news, gauges, on_mended }) }
    }

    /// Registers `hostpath_provisioner_permission_missing`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "hostpath_provisioner_permission_missing",
            "Whether the API server does not grant a permission that the program needs",
            self.shared.gauges.clone(),
        );
    }

    /// What is known to be missing, in the order of [`PERMISSIONS`].
    #[must_use]
    pub fn missing(&self) -> Vec<&'static Permission> {
        let missing = self.shared.ledger.lock().missing();
        missing.into_iter().filter_map(|place| PERMISSIONS.get(place)).collect()
    }

    /// Whether nothing is known to be missing.
    ///
    /// # Errors
    /// With the words of the log, for every permission that is missing.
    pub fn readiness(&self) -> Result<(), String> {
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        let told: Vec<String> =
            missing.into_iter().map(|permission| self.sentence(permission)).collect();
        Err(told.join("; "))
    }

    /// Asks the server at the start, when something was refused, and every few seconds while
    /// something is missing; says what changed.
    ///
    /// A server that does not know the question (`selfsubjectaccessreviews`), or has no answer, is
    /// asked again ever more rarely; until it has one, what it refused in the last minute
    /// counts as missing, and what it lets through does not. `longest`: what one question may take.
    ///
    /// # Cancel safety
    /// Dropping the future ends it; what is known stays.
    pub async fn keep(&self, client: Client, longest: Duration) -> Infallible {
        let mut rounds = Rounds::begin(Instant::now());
        loop {
            self.round(&mut rounds, &client, longest).await;
            loop {
                let wake = rounds.wake(self.shared.ledger.lock().is_uneasy());
                if timeout_at(wake, self.shared.news.notified()).await.is_err() {
                    break;
                }
                rounds.news = true;
            }
        }
    }

    async fn round(&self, rounds: &mut Rounds, client: &Client, longest: Duration) {
        let places = rounds
            .places(Instant::now(), |refused_too| self.shared.ledger.lock().questions(refused_too));
        let review = if places.is_empty() {
            None
        } else {
            Some(review(client, &self.shared.lease, &places, longest).await)
        };
        let now = Instant::now();
        let changes = {
            let mut ledger = self.shared.ledger.lock();
            let mut changes = match &review {
                Some(Review::Answered(answers, _)) => ledger.reviewed(answers),
                Some(Review::NotPossible(_)) => {
                    ledger.unreviewed();
                    Changes::default()
                }
                None => Changes::default(),
            };
            ledger.settle(now, &mut changes);
            changes
        };
        let was_blind = rounds.blind;
        rounds.reviewed(now, review.as_ref(), &changes);
        match &review {
            Some(Review::Answered(_, Some(why)) | Review::NotPossible(why)) if !was_blind => {
                tracing::warn!(
                    "cannot ask for permissions: {why}; until it can, what the server refuses counts as missing"
                );
            }
            _ if was_blind && !rounds.blind => tracing::warn!("can ask for permissions again"),
            _ => {}
        }
        self.say(&changes);
        let uneasy = self.shared.ledger.lock().is_uneasy();
        if let Some(mended) = rounds.mended(now, uneasy, &changes) {
            let told = self.shared.on_mended.lock().clone();
            if let Some(told) = told {
                told(mended);
            }
        }
    }

    /// Who is told when what was refused may be tried again; one at most.
    pub(crate) fn on_mended(&self, told: impl Fn(Mended) + Send + Sync + 'static) {
        *self.shared.on_mended.lock() = Some(Arc::new(told));
    }

    pub(super) fn refused(&self, place: usize) {
        if self.shared.ledger.lock().refused(place, Instant::now()) {
            self.shared.news.notify_one();
        }
    }

    pub(super) fn passed(&self, place: usize) {
        self.shared.ledger.lock().passed(place);
    }

    fn say(&self, changes: &Changes) {
        for (places, missing) in [(&changes.began, true), (&changes.ended, false)] {
            for permission in places.iter().filter_map(|place| PERMISSIONS.get(*place)) {
                self.shared.gauges.get_or_create(&labels(permission)).set(i64::from(missing));
                let (Permission { verb, resource, group, .. }, namespace) =
                    (permission, self.namespace(permission));
                if missing {
                    let sentence = self.sentence(permission);
                    tracing::warn!(verb, resource, group, namespace, "{sentence}");
                } else {
                    let place = self.place(permission);
                    tracing::info!(
                        verb,
                        resource,
                        group,
                        namespace,
                        "granted: {permission}{place}"
                    );
                }
            }
        }
    }

    fn sentence(&self, permission: &Permission) -> String {
        format!(
            "missing permission: {permission}{}: {}",
            self.place(permission),
            permission.remedy()
        )
    }

    fn place(&self, permission: &Permission) -> String {
        match permission.scope {
            Scope::Cluster => String::new(),
            Scope::AnyNamespace => " in all namespaces".to_owned(),
            Scope::Lease => {
                let TheLease { namespace, name } = &self.shared.lease;
                format!(" in namespace {namespace}, for the Lease {name}")
            }
        }
    }

    fn namespace(&self, permission: &Permission) -> &str {
        match permission.scope {
            Scope::Cluster => "",
            Scope::AnyNamespace => "*",
            Scope::Lease => &self.shared.lease.namespace,
        }
    }
}

fn labels(permission: &Permission) -> Labels {
    let Permission { verb, group, resource, .. } = *permission;
    Labels { verb, group, resource }
}

/// When to ask what, and whom to tell. Pure.
#[derive(Debug)]
struct Rounds {
    /// When all permissions are asked about next.
    all: Instant,
    /// The last round, whether it asked or not.
    last: Instant,
    /// Something was refused that is worth a review.
    news: bool,
    /// The last review that refusals had, and how long the next waits from there.
    explained: Instant,
    gap: Duration,
    /// What this round asks: everything; what was refused.
    asks_all: bool,
    asks_refused: bool,
    /// The server does not know the question, or has no answer to some.
    blind: bool,
    /// Before questions without an answer are asked again.
    pause: Duration,
    blindly_told: Instant,
    /// Since when something is granted, and how often that was told.
    granted: Option<(Instant, usize)>,
}

impl Rounds {
    fn begin(now: Instant) -> Self {
        Self {
            all: now,
            last: now,
            news: false,
            explained: now,
            gap: GAP,
            asks_all: false,
            asks_refused: false,
            blind: false,
            pause: UNEASY,
            blindly_told: now,
            granted: None,
        }
    }

    /// The earliest time for a review that only a refusal asks for.
    fn not_before(&self) -> Instant {
        self.explained + self.gap
    }

    /// The permissions to ask about now. `some`: those that are missing, and if told so, those that
    /// were refused.
    fn places(&mut self, now: Instant, some: impl FnOnce(bool) -> Vec<usize>) -> Vec<usize> {
        let news = self.news && now >= self.not_before();
        self.news &= !news;
        // A server that has no answers is not asked for all of them on every refusal.
        self.asks_all = now >= self.all || (news && !self.blind);
        self.asks_refused = self.asks_all || news;
        if self.asks_all { (0..PERMISSIONS.len()).collect() } else { some(news) }
    }

    fn reviewed(&mut self, now: Instant, review: Option<&Review>, changes: &Changes) {
        self.last = now;
        if self.asks_refused {
            self.explained = now;
            let news = !changes.began.is_empty() || !changes.ended.is_empty();
            self.gap = if news || changes.mended.is_empty() {
                GAP
            } else {
                self.gap.saturating_mul(2).min(GAP_MAX)
            };
        }
        match review {
            Some(Review::NotPossible(_)) => {
                self.blind = true;
                self.all = now + UNABLE;
            }
            Some(Review::Answered(_, Some(_))) => {
                self.blind = true;
                if self.asks_all {
                    self.all = now + self.pause;
                    self.pause = self.pause.saturating_mul(2).min(PAUSE_MAX);
                } else {
                    self.all = self.all.min(now + self.pause);
                }
            }
            Some(Review::Answered(_, None)) if self.asks_all => {
                self.blind = false;
                self.pause = UNEASY;
                self.all = now + EASY;
            }
            _ => {}
        }
    }

    /// When to go on, if nothing is refused before.
    fn wake(&self, uneasy: bool) -> Instant {
        let next = if uneasy { self.all.min(self.last + UNEASY) } else { self.all };
        let next = if self.news { next.min(self.not_before()) } else { next };
        self.granted_told_at().map_or(next, |told| next.min(told))
    }

    fn granted_told_at(&self) -> Option<Instant> {
        let (since, told) = self.granted?;
        TOLD_AFTER.get(told).map(|after| since + *after)
    }

    /// Whether somebody may try again now.
    fn mended(&mut self, now: Instant, uneasy: bool, changes: &Changes) -> Option<Mended> {
        if !changes.ended.is_empty() {
            self.granted = Some((now, 0));
        }
        if self.granted_told_at().is_some_and(|told| told <= now) {
            self.granted = self.granted.map(|(since, told)| (since, told + 1));
            return Some(Mended::Everything);
        }
        if self.blind && uneasy && now.saturating_duration_since(self.blindly_told) >= BLIND {
            self.blindly_told = now;
            return Some(Mended::Everything);
        }
        let watches = |place: &usize| {
            PERMISSIONS
                .get(*place)
                .is_some_and(|permission| matches!(permission.verb, "list" | "watch"))
        };
        changes.mended.iter().any(watches).then_some(Mended::Watches)
    }
}

#[cfg(test)]
mod tests;
