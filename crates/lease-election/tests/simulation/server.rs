//! Server: the lease on an API server in this process, with planned faults and lagging caches. Each
//! node has a front of its own before the same objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Replica, Rule, Verb};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use lease_election::{
    Config, KubeLeaseStore, LeaseStore, Record, SUCCESSOR_ANNOTATION, StoredLease, Version,
    WRITE_ANNOTATION,
};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::applied;
use crate::backend::Kind;
use crate::calamity::EXPIRED;
use crate::connection::{Door, Road};
use crate::coordinated::{Clocks, SEATS};
use crate::judge::{Dice, World};
use crate::node::{Mode, Stage, Still};
use crate::wire::{self, Gate};

const OPERATOR: &str = "operator";

/// Processes use connections in one seed of `CONNECTED.0`, from seed `CONNECTED.1` on.
const CONNECTED: (u64, u64) = (17, 5);

/// Formats a time as a MicroTime.
fn micro(time: Timestamp) -> String {
    format!("{time:.6}")
}

pub(crate) struct Servers {
    server: EmbeddedApiServer,
    fronts: Vec<Replica>,
    operator: KubeLeaseStore,
    leases: Api<Lease>,
    /// Whether each front has LeaseCandidates.
    gates: Vec<Gate>,
    /// How each front treats connections; empty if processes call it directly.
    doors: Vec<Door>,
    candidates: Api<LeaseCandidate>,
    /// The fair plan cuts no watch.
    calm: bool,
    plans: Mutex<u64>,
    backup: Mutex<Option<Lease>>,
    touched: Mutex<u64>,
    /// The last revision that the judge was told.
    told: watch::Receiver<u64>,
}

impl Servers {
    pub(crate) fn new(seed: u64, nodes: u64, start: Instant, world: &Arc<Mutex<World>>) -> Self {
        let (calm, seats) = match Mode::of(Kind::Server, seed) {
            Mode::Coordinated(clocks) => (clocks == Clocks::Ahead, SEATS),
            _ => (false, 0),
        };
        // A fixed day leaves room for every clock that seeds make.
        let day = std::time::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let server = EmbeddedApiServer::builder().seed(seed).start_time(day).build();
        let config = Config::builder("default", "lease").identity(OPERATOR).build().unwrap();
        let operator = KubeLeaseStore::new(server.client_as(OPERATOR), &config);
        let leases = Api::namespaced(server.client_as(OPERATOR), "default");
        let candidates = Api::namespaced(server.client_as(OPERATOR), "default");
        let fronts: Vec<Replica> = (0..nodes + seats).map(|_| server.replica()).collect();
        for (n, front) in fronts.iter().enumerate() {
            front.faults().set_plan(fair(seed.wrapping_add(n as u64), calm));
        }
        let gates = fronts.iter().map(|_| Arc::new(watch::Sender::new(true))).collect();
        let doors = if seed % CONNECTED.0 == CONNECTED.1 {
            fronts.iter().map(|_| Door::new(world)).collect()
        } else {
            Vec::new()
        };
        let (plans, backup, touched) = (Mutex::new(seed), Mutex::default(), Mutex::default());
        let told = applied::follow(&server, seed, start, world);
        Self {
            server,
            fronts,
            operator,
            leases,
            gates,
            doors,
            candidates,
            calm,
            plans,
            backup,
            touched,
            told,
        }
    }

    /// A client of server `n`, as a process reaches it.
    pub(crate) fn wired(&self, stage: &Stage, still: &Still, n: u64, link: &str) -> Client {
        wire::client(stage, still, link, self.road(n, link), &self.gates[n as usize])
    }

    /// The road of this process to server `n`.
    fn road(&self, n: u64, link: &str) -> Road {
        let server = self.fronts[n as usize].service().as_user(link);
        match self.doors.get(n as usize) {
            Some(door) => Road::http2(server, door),
            None => Road::Calls(server),
        }
    }

    pub(crate) fn gate(&self, n: u64) -> bool {
        *self.gates[n as usize].borrow()
    }

    pub(crate) fn set_gate(&self, n: u64, open: bool) {
        self.gates[n as usize].send_replace(open);
    }

    /// Ends watches of LeaseCandidates, silent ones too.
    pub(crate) fn end_silence(&self, n: u64) {
        let watches = Match::any().verb(Verb::Watch).resource("leasecandidates");
        let _ = self.fronts[n as usize].faults().cut_watches(&watches);
    }

    pub(crate) async fn candidates(&self) -> Vec<LeaseCandidate> {
        self.candidates
            .list(&ListParams::default())
            .await
            .expect("nothing befalls the operator")
            .items
    }

    pub(crate) async fn delete_candidate(&self, candidate: &LeaseCandidate) {
        let name = candidate.metadata.name.as_deref().unwrap_or_default();
        let _ = self.candidates.delete(name, &DeleteParams::default()).await;
    }

    pub(crate) fn connect(
        &self,
        n: u64,
        link: &str,
        config: &Config,
        world: &Arc<Mutex<World>>,
    ) -> Arc<dyn LeaseStore> {
        let client = wire::checked(world, link, self.road(n, link));
        Arc::new(KubeLeaseStore::new(client, config))
    }

    /// From now on no request is answered or carried out, and watches are silent; or all is fair.
    pub(crate) fn set_away(&self, away: bool) {
        for front in &self.fronts {
            let seed = self.next_plan();
            front.faults().set_plan(if away {
                FaultPlan::seeded(seed).rule(Rule::new(Match::any(), Fault::NeverAnswer))
            } else {
                fair(seed, self.calm)
            });
            if away {
                let _ = front.faults().stall_watches(&Match::any().verb(Verb::Watch));
            }
        }
    }

    /// Silences the watches of this node.
    pub(crate) fn deafen(&self, n: u64) {
        let _ = self.fronts[n as usize].faults().stall_watches(&Match::any().verb(Verb::Watch));
    }

    fn next_plan(&self) -> u64 {
        let mut plans = self.plans.lock().unwrap();
        *plans = plans.wrapping_add(0x1_0001);
        *plans
    }

    /// Keeps the whole object for a restore.
    pub(crate) async fn back_up(&self) {
        let lease = self.leases.get_opt("lease").await.expect("nothing befalls the operator");
        *self.backup.lock().unwrap() = lease;
    }

    /// Restores the object with its uid and version. Revisions go on: a server issues none twice.
    pub(crate) async fn restore(&self, version: &Version) -> bool {
        let Some(lease) = self.backup.lock().unwrap().take() else { return false };
        if lease.metadata.resource_version.as_deref() != Some(&*version.resource_version) {
            return false;
        }
        let done = self.server.restore(&lease).is_ok();
        // From then on the judge takes the present record for the restored one.
        let (mut told, restored) = (self.told.clone(), self.server.revision());
        let _ = told.wait_for(|revision| !done || *revision >= restored).await;
        done
    }

    /// Writes the record, if the server accepts it.
    pub(crate) async fn scribble(&self, record: &Record) -> bool {
        let written = record.write_id.as_deref().map(|id| (WRITE_ANNOTATION, id));
        let named = Some((SUCCESSOR_ANNOTATION, &*record.successor));
        let marks: BTreeMap<&str, &str> = written.into_iter().chain(named).collect();
        // No server accepts zero or less, and an absent duration counts the same.
        let seconds = Some(record.lease_duration_seconds).filter(|seconds| *seconds != 0);
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let patch = Patch::Merge(json!({
            "metadata": { "annotations": marks },
            "spec": {
                "holderIdentity": record.holder,
                "leaseDurationSeconds": seconds,
                "acquireTime": record.acquire_time.map(micro),
                "renewTime": record.renew_time.map(micro),
                "leaseTransitions": record.leader_transitions,
                "strategy": text(&record.strategy),
                "preferredHolder": text(&record.preferred_holder),
            },
        }));
        self.leases.patch("lease", &PatchParams::default(), &patch).await.is_ok()
    }

    pub(crate) fn set_weather(
        &self,
        world: &mut World,
        n: u64,
        link: &str,
        weather: u64,
        dice: &mut Dice,
    ) {
        let seed = self.next_plan();
        world.weather.insert(link.to_owned(), weather);
        world.lagging.remove(link);
        world.garbled.remove(link);
        match dice.roll(8) {
            0..=1 if weather == 1 => _ = world.lagging.insert(link.to_owned()),
            2 if weather == 1 => _ = world.garbled.insert(link.to_owned()),
            _ => {}
        }
        if let Some(door) = self.doors.get(n as usize) {
            door.set_broken(weather == 1 && dice.roll(3) == 0);
            if dice.roll(2) == 0 {
                door.go_away(Duration::from_millis(dice.roll(4000)));
            }
        }
        let front = &self.fronts[n as usize];
        let lag = if weather == 1 { dice.roll(6000) } else { 0 };
        if lag > 0 {
            world.saw("cache behind");
        }
        front.behind(Duration::from_millis(lag));
        let mut plan = match weather {
            0 | EXPIRED => fair(seed, self.calm),
            1 => foul(seed, dice),
            2 if dice.roll(2) == 0 => {
                world.saw("partition");
                fair(seed, self.calm).partition(link)
            }
            2 => {
                world.saw("black hole");
                black_hole(seed, dice)
            }
            // Answers are lost.
            _ => FaultPlan::seeded(seed)
                .rule(Rule::new(Match::any().writes(), Fault::ApplyNeverAnswer)),
        };
        for dead in world.dead.iter().filter(|dead| dead.starts_with(&format!("n{n}."))) {
            plan = plan.partition(dead);
        }
        front.faults().set_plan(plan);
        if weather == 1 && dice.roll(4) == 0 {
            let watch = Match::any().verb(Verb::Watch);
            let met = match dice.roll(3) {
                0 => front.faults().stall_watches(&watch),
                1 => front.faults().drop_watches(&watch),
                _ => front.faults().cut_watches(&watch),
            };
            if met > 0 {
                world.saw("watch interrupted");
            }
        }
    }

    pub(crate) async fn lease(&self) -> Option<StoredLease> {
        self.operator.get().await.expect("nothing befalls the operator")
    }

    pub(crate) async fn touch(&self) {
        let label = {
            let mut touched = self.touched.lock().unwrap();
            *touched += 1;
            touched.to_string()
        };
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "touched": label } } }));
        // There may be no Lease.
        let _ = self.leases.patch("lease", &PatchParams::default(), &patch).await;
    }

    pub(crate) async fn delete(&self) {
        let _ = self.leases.delete("lease", &DeleteParams::default()).await;
    }

    pub(crate) async fn overwrite(&self, record: Record) {
        while let Some(lease) = self.lease().await {
            if self.operator.update(&lease.version, &record).await.is_ok() {
                return;
            }
        }
    }

    /// Counts the faults that requests met, and adds the servers' own traces.
    pub(crate) fn tell(&self, world: &mut World, start: Instant) {
        world.trace.note(start, format_args!("server {:x}", self.server.requests().trace_hash()));
        for front in &self.fronts {
            let log = front.requests();
            world.trace.note(start, format_args!("front {:x}", log.trace_hash()));
            for entry in log.all().entries() {
                if let Some(fault) = entry.fault {
                    world.saw(fault);
                }
            }
        }
    }
}

fn milliseconds(dice: &mut Dice, below: u64) -> u64 {
    1 + dice.roll(below)
}

/// A few milliseconds, sometimes a spurious conflict and, if not calm, the end of a watch.
fn fair(seed: u64, calm: bool) -> FaultPlan {
    let plan = FaultPlan::seeded(seed)
        .rule(Rule::new(Match::any(), Fault::Latency { min_ms: 0, max_ms: 8 }))
        .rule(Rule::new(Match::any().verb(Verb::Update), Fault::Conflict).percent(2));
    let end = Fault::CutWatch { min_events: 1, max_events: 60, after_ms: None, mid_line: false };
    if calm { plan } else { plan.rule(Rule::new(Match::any().verb(Verb::Watch), end).percent(20)) }
}

/// Any fault.
fn foul(seed: u64, dice: &mut Dice) -> FaultPlan {
    let late = [milliseconds(dice, 1000), milliseconds(dice, 12_000)];
    let retry_after_s = 1 + dice.roll(5) as u32;
    let refused = [
        Fault::TooManyRequests { retry_after_s },
        Fault::Overloaded { retry_after_s: 1 },
        Fault::InternalError,
        Fault::ServerTimeout { retry_after_s: 2 },
        Fault::Unavailable,
        Fault::ShuttingDown,
        Fault::GatewayTimeout,
        Fault::Forbidden,
        Fault::NeverAnswer,
        Fault::ApplyNeverAnswer,
        Fault::DropBefore,
        Fault::DropAfter,
        Fault::DropMidAnswer,
        Fault::StallMidAnswer,
    ];
    let written = [
        Fault::Conflict,
        Fault::ApplyInternalError,
        Fault::ApplyGatewayTimeout,
        Fault::ApplyLate { after_ms: late[0] },
        Fault::ApplyLate { after_ms: late[1] },
    ];
    let (min_events, max_events) = (0, 3);
    let watched = [
        Fault::CutWatch { min_events, max_events, after_ms: Some(2000), mid_line: false },
        Fault::CutWatch { min_events, max_events, after_ms: None, mid_line: true },
        Fault::StallWatch { min_events, max_events },
        Fault::GarbageLine { min_events, max_events },
        Fault::WithholdBookmarks { end_mark: true },
        Fault::Expired,
        Fault::Unavailable,
        Fault::Forbidden,
        Fault::NeverAnswer,
    ];
    let by_ms = dice.roll(7_200_000) as i64 - 3_600_000;
    FaultPlan::seeded(seed)
        .rule(Rule::new(Match::any(), Fault::Latency { min_ms: 0, max_ms: 1400 }).percent(60))
        .rule(Rule::new(Match::any(), Fault::Compact).percent(3))
        .rule(Rule::new(Match::any(), Fault::MoveClock { by_ms }).percent(1))
        .rule(Rule::one_of(Match::any().verb(Verb::Watch), watched).percent(70))
        .rule(Rule::one_of(Match::any().writes(), written).percent(25))
        .rule(Rule::one_of(Match::any().writes(), refused.clone()).percent(35))
        .rule(Rule::one_of(Match::any().verb(Verb::Get), refused).percent(40))
}

/// No request is answered, and some writes arrive much later.
fn black_hole(seed: u64, dice: &mut Dice) -> FaultPlan {
    let after_ms = milliseconds(dice, 20_000);
    FaultPlan::seeded(seed)
        .rule(Rule::one_of(
            Match::any().writes(),
            [Fault::ApplyLate { after_ms }, Fault::NeverAnswer],
        ))
        .rule(Rule::new(Match::any(), Fault::NeverAnswer))
}
