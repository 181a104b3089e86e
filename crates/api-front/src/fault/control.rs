//! The live faults of a server: the plan in force, the users that are cut off, and the watches that
//! can be cut now.

use super::decide::{Decider, Decision};
use super::matching::Match;
use super::plan::FaultPlan;
use super::resources::assert_checked;
use crate::request_info::{RequestInfo, Verb};
use crate::signal::{Follower, Signal};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Handle on the faults of a running server: cheap to clone; every change takes effect at once.
///
/// ```
/// # use api_front::{Fault, FaultPlan, Front, Match, Rule};
/// # let front = Front::builder().build();
/// let faults = front.faults();
/// faults.set_plan(FaultPlan::seeded(7).rule(Rule::new(Match::any(), Fault::Conflict).percent(10)));
/// faults.partition("replica-1");
/// faults.cut_watches(&Match::any().resource("leases"));
/// faults.heal("replica-1");
/// ```
#[derive(Clone)]
pub struct Faults {
    shared: Arc<Shared>,
}

struct Shared {
    decider: Mutex<Decider>,
    partitioned: Signal<BTreeSet<String>>,
    watches: Mutex<LiveWatches>,
}

#[derive(Default)]
struct LiveWatches {
    next: u64,
    live: BTreeMap<u64, LiveWatch>,
}

struct LiveWatch {
    user: Arc<str>,
    request: RequestInfo,
    order: Arc<Signal<Order>>,
}

/// The state that a live watch is in, by order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Flow,
    /// A regular end.
    Cut,
    /// The connection goes.
    Drop,
    /// No byte more.
    Stall,
}

impl Faults {
    /// Faults by this plan.
    pub(crate) fn new(plan: FaultPlan) -> Self {
        let partitioned = Signal::new(plan.partitioned.clone());
        Self {
            shared: Arc::new(Shared {
                decider: Mutex::new(Decider::new(plan)),
                partitioned,
                watches: Mutex::default(),
            }),
        }
    }

    /// Puts another plan in force, with its partitions. Calls are counted from the start. Faults
    /// that are under way stay.
    ///
    /// # Panics
    ///
    /// A rule names a resource that no API server has, and would never fire: see
    /// [`FaultPlan::check`].
    #[track_caller]
    pub fn set_plan(&self, plan: FaultPlan) {
        assert_checked(&plan);
        let partitioned = plan.partitioned.clone();
        let old = std::mem::replace(&mut *self.shared.decider.lock(), Decider::new(plan));
        drop(old);
        self.shared.partitioned.set(partitioned);
    }

    /// Checks that each rule of the plan in force has injected a fault at least once: a rule that
    /// matches nothing would make a test pass without what it is about.
    ///
    /// # Panics
    ///
    /// Some rule never fired. Names these rules, and how many calls each has matched.
    #[track_caller]
    pub fn assert_all_fired(&self) {
        let unfired = self.shared.decider.lock().unfired();
        assert!(
            unfired.is_empty(),
            "these rules of the fault plan never fired:\n{}",
            unfired.join("\n")
        );
    }

    /// No faults from now on.
    pub fn clear(&self) {
        self.set_plan(FaultPlan::none());
    }

    /// The plan in force, with the users that are partitioned now.
    #[must_use]
    pub fn plan(&self) -> FaultPlan {
        let plan = self.shared.decider.lock().plan().clone();
        FaultPlan { partitioned: self.shared.partitioned.read(BTreeSet::clone), ..plan }
    }

    /// Cuts a user off, as a network that loses its packets: requests hang unapplied, answers and
    /// watch events are held back, no connection is closed. After [`heal`](Self::heal) they
    /// go on in the order of their arrival.
    ///
    /// It holds from now on: an event that was written before, and that its watch has not handed
    /// out, is held back too. Bytes that a socket has are on their way.
    pub fn partition(&self, user: impl Into<String>) {
        let user = user.into();
        self.shared.partitioned.change(|users| users.insert(user));
    }

    /// Ends the partition of a user.
    pub fn heal(&self, user: &str) {
        self.shared.partitioned.change(|users| users.remove(user));
    }

    /// Ends the live watches that meet this condition, as a server does that restarts in order: no
    /// event comes after this. Returns how many.
    pub fn cut_watches(&self, which: &Match) -> usize {
        self.order(which, Order::Cut)
    }

    /// Drops the connections of the live watches that meet this condition. Returns how many.
    pub fn drop_watches(&self, which: &Match) -> usize {
        self.order(which, Order::Drop)
    }

    /// Silences the live watches that meet this condition: no events, no bookmarks and no end until
    /// they are cut or dropped. Returns how many.
    pub fn stall_watches(&self, which: &Match) -> usize {
        self.order(which, Order::Stall)
    }

    /// How many watches meet this condition now.
    #[must_use]
    pub fn live_watches(&self, which: &Match) -> usize {
        let watches = self.shared.watches.lock();
        watches.live.values().filter(|live| which.admits(&live.user, &live.request)).count()
    }

    fn order(&self, which: &Match, order: Order) -> usize {
        let told: Vec<_> = {
            let watches = self.shared.watches.lock();
            let met = watches.live.values().filter(|live| which.admits(&live.user, &live.request));
            met.map(|live| Arc::clone(&live.order)).collect()
        };
        // Outside the lock: sending wakes the watches.
        for live in &told {
            live.set(order);
        }
        told.len()
    }

    /// Decides about a request. `resumes` as in [`Fault::fits`](super::Fault::fits); `body`: a
    /// create has its name there.
    pub(crate) fn decide(
        &self,
        user: &str,
        request: &RequestInfo,
        resumes: bool,
        body: &[u8],
    ) -> Decision {
        let nameless = request.verb == Verb::Create && request.name.is_none();
        if !(nameless && self.shared.decider.lock().plan().names_objects()) {
            return self.shared.decider.lock().decide(user, request, resumes);
        }
        // Outside of the lock: a body may be long.
        let named = RequestInfo { name: name_in(body), ..request.clone() };
        self.shared.decider.lock().decide(user, &named, resumes)
    }

    /// Waits while `user` is cut off. Requests go on in FIFO order.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub(crate) async fn connected(&self, user: &str) {
        let is_reached = |users: &BTreeSet<String>| !users.contains(user);
        if self.shared.partitioned.read(is_reached) {
            return;
        }
        // An error would mean that the signal is gone, and `self` holds it.
        let _ = self.shared.partitioned.follow().until(is_reached).await;
    }

    /// Notes a live watch until the guard is dropped.
    pub(super) fn register(&self, user: &Arc<str>, request: RequestInfo) -> WatchRegistration {
        let order = Arc::new(Signal::new(Order::Flow));
        let orders = order.follow();
        let mut watches = self.shared.watches.lock();
        let id = watches.next;
        watches.next += 1;
        watches.live.insert(id, LiveWatch { user: Arc::clone(user), request, order });
        drop(watches);
        let partitioned = self.shared.partitioned.follow();
        WatchRegistration { faults: self.clone(), id, user: Arc::clone(user), orders, partitioned }
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("plan", &self.plan()).finish_non_exhaustive()
    }
}

/// The name in an object's metadata; none if the body is no JSON, or the server generates it.
fn name_in(body: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        metadata: Metadata,
    }
    #[derive(serde::Deserialize)]
    struct Metadata {
        name: String,
    }
    serde_json::from_slice::<Named>(body).ok().map(|named| named.metadata.name)
}

/// The entry of a live watch, until it is dropped.
pub(super) struct WatchRegistration {
    faults: Faults,
    id: u64,
    user: Arc<str>,
    orders: Follower<Order>,
    partitioned: Follower<BTreeSet<String>>,
}

impl WatchRegistration {
    pub(super) fn order(&self) -> Order {
        self.orders.read(|order| *order)
    }

    pub(super) fn is_partitioned(&self) -> bool {
        self.partitioned.read(|users| users.contains(&*self.user))
    }

    /// Counts the order and the partitions as looked at, as they are now.
    pub(super) fn see(&mut self) {
        self.orders.see();
        self.partitioned.see();
    }

    /// Whether the order or the partitions are others than were looked at.
    pub(super) fn has_changed(&self) -> bool {
        self.orders.has_changed() || self.partitioned.has_changed()
    }

    /// Waits until the order or the partitions change; forever if they never do.
    pub(super) async fn changed(&mut self) {
        let gone = tokio::select! {
            biased;
            changed = self.orders.changed() => changed.is_err(),
            changed = self.partitioned.changed() => changed.is_err(),
        };
        if gone {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for WatchRegistration {
    fn drop(&mut self) {
        let gone = self.faults.shared.watches.lock().live.remove(&self.id);
        drop(gone);
    }
}
