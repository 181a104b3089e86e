//! Judge: the invariants of a run, and the events that it reached.
//!
//! Guards must not overlap, and fence tokens must not fall. Work must not outlive its margin, or go
//! on after a release. The judge only observes: it ends no term and wakes no task.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{Announced, Config, FenceToken, Leadership, Record, StoredLease};
use tokio::time::Instant;

use crate::ledger::Ledger;
use crate::node::Mode;

/// splitmix64, for the plan of faults.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

/// How often each event happened: a simulation that reaches nothing proves nothing.
pub(crate) type Seen = BTreeMap<&'static str, u64>;

/// The number of lines that a story keeps.
const STORY: usize = 400;

/// A hash of everything that happened, and the end of the story.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) hash: u64,
    pub(crate) lines: u64,
    pub(crate) last: VecDeque<String>,
}

impl Trace {
    pub(crate) fn note(&mut self, start: Instant, what: std::fmt::Arguments<'_>) {
        let mut line =
            if self.last.len() < STORY { None } else { self.last.pop_front() }.unwrap_or_default();
        line.clear();
        let passed = start.elapsed();
        let _ = write!(line, "{}.{:09} {what}", passed.as_secs(), passed.subsec_nanos());
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        self.lines += 1;
        self.last.push_back(line);
    }

    pub(crate) fn story(&self) -> String {
        self.last.iter().fold(String::new(), |story, line| story + line + "\n")
    }
}

/// A term, and whether its work goes on.
pub(crate) struct Led {
    pub(crate) node: String,
    pub(crate) leadership: Leadership,
    pub(crate) working: bool,
    /// The term was over once, so it must stay over.
    over: bool,
}

/// The state of the nodes, and the events so far.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) terms: Vec<Led>,
    fences: Vec<FenceToken>,
    /// The weather of each link.
    pub(crate) weather: BTreeMap<String, u64>,
    /// Links of processes that were killed.
    pub(crate) dead: BTreeSet<String>,
    /// Until when each process stands still: it does nothing, so its work does not count.
    pub(crate) still: BTreeMap<String, Instant>,
    /// Links of ended processes: nothing of them runs, whatever their electors remember.
    pub(crate) ended: BTreeSet<String>,
    /// Since when each process is under maintenance.
    pub(crate) barred: BTreeMap<String, Instant>,
    /// The successor that the last release named.
    pub(crate) named: Option<String>,
    /// The servers are away: no request and no event arrives.
    pub(crate) away: bool,
    /// The namespace is missing, so creates fail.
    pub(crate) no_namespace: bool,
    /// Links whose server has not yet seen the version that a watch continues from.
    #[cfg_attr(
        any(not(feature = "kube"), wq_plant),
        allow(dead_code, reason = "there is no server")
    )]
    pub(crate) lagging: BTreeSet<String>,
    /// Links whose answers are no JSON.
    #[cfg_attr(
        any(not(feature = "kube"), wq_plant),
        allow(dead_code, reason = "there is no server")
    )]
    pub(crate) garbled: BTreeSet<String>,
    /// When the requests arrive that were in flight as the faults stopped.
    pub(crate) late: BTreeSet<Instant>,
    /// A state of the Lease for a restore.
    pub(crate) backup: Option<StoredLease>,
    /// The number of tasks that wait for the end of a term and have not heard of it.
    pub(crate) untold: u64,
    pub(crate) ledger: Ledger,
    pub(crate) trace: Trace,
    pub(crate) seen: Seen,
}

/// The longest lag of timers after a process stood still.
const GRAIN: Duration = Duration::from_millis(2);

impl World {
    /// Sets the rules for these electors.
    pub(crate) fn begin(&mut self, mode: Mode, configs: &[Config]) {
        let ledger = &mut self.ledger;
        ledger.is_coordinated = mode.is_coordinated();
        ledger.off_beat = (mode == Mode::Rates).then_some(0);
        let leases = || configs.iter().map(Config::lease_duration);
        ledger.own = leases().min().unwrap_or_default();
        ledger.longest = leases().max().unwrap_or_default();
        ledger.renewals = configs.iter().map(Config::retry_period).collect();
        if let (Some(node), Some(fastest)) = (ledger.off_beat, ledger.renewals.first_mut()) {
            debug_assert_eq!(node, 0);
            *fastest /= 2;
        }
        if leases().max() != leases().min() {
            self.saw("leases of several lengths");
        } else if leases().any(|lease| lease < Duration::from_secs(5)) {
            self.saw("shorter leases");
        }
    }

    pub(crate) fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Fails if an entry breaks a rule of the ledger.
    pub(crate) fn rules(&self, seed: u64, verdict: Result<(), String>) {
        if let Err(wrong) = verdict {
            panic!("seed {seed}: {wrong}\n{}", self.trace.story());
        }
    }

    /// Checks the last terms, since no earlier one can change. `begins` checks all.
    pub(crate) fn check(&mut self, seed: u64) {
        self.look(seed, 3);
    }

    /// The store went back to an earlier state while no lease held. With `again`, its revisions may
    /// repeat.
    pub(crate) fn went_back(&mut self, again: bool) {
        self.ledger.went_back();
        self.named = None;
        if again {
            self.fences.clear();
        }
    }

    /// Checks the invariant of every step: only the last term's guard is valid, and none becomes
    /// valid again. An elector whose clock A2 excludes may rob, and be robbed.
    fn look(&mut self, seed: u64, at_most: usize) {
        let (count, mut wrong) = (self.terms.len(), None);
        let robbed = self.robbed();
        let ended = &self.ended;
        let lives = |led: &Led| !ended.contains(&led.node);
        let terms = self.terms.iter_mut().enumerate().skip(count.saturating_sub(at_most));
        for (i, led) in terms.filter(|(_, led)| lives(led)) {
            // `remaining` changes nothing, but the guard notes its expiry and notifies.
            let valid = !led.leadership.remaining().is_zero();
            if valid && led.over {
                wrong = Some(format!("{} goes on after its end", led.node));
            } else if valid && i + 1 < count && i >= robbed {
                wrong = Some(format!("{} leads beside another", led.node));
            }
            led.over |= !valid;
        }
        if let Some(wrong) = wrong {
            panic!("seed {seed}: {wrong}\n{}", self.trace.story());
        }
    }

    /// The number of first terms that may overlap a later one. An elector with a fast clock took
    /// the lease from them, or a slow clock extends them.
    fn robbed(&self) -> usize {
        if self.ledger.off_beat.is_none() {
            return 0;
        }
        self.terms
            .iter()
            .rposition(|led| !self.ledger.keeps_time(&led.node))
            .map_or(0, |last| last + 1)
    }

    pub(crate) fn somebody_leads(&self) -> bool {
        self.leader().is_some()
    }

    pub(crate) fn leader(&self) -> Option<String> {
        let leads =
            |led: &&Led| !self.ended.contains(&led.node) && !led.leadership.remaining().is_zero();
        self.terms.last().filter(leads).map(|led| led.node.clone())
    }

    /// Checks a release that is sent or carried out.
    pub(crate) fn gives_back(&self, seed: u64, node: &str) {
        let busy = self.terms.iter().any(|led| led.node == node && led.working);
        assert!(
            !busy,
            "seed {seed}: {node} released while its work went on\n{}",
            self.trace.story()
        );
    }

    /// A write of this link was carried out. An empty link may write anything. No record means that
    /// the Lease is gone.
    pub(crate) fn carried_out(&mut self, seed: u64, writer: &str, record: Option<&Record>) {
        self.check(seed);
        let verdict = self.ledger.wrote(writer, record, &self.ended);
        self.rules(seed, verdict);
        let Some(record) = record else { return };
        if record.is_free() {
            self.gives_back(seed, writer);
            self.named = Some(record.successor.clone()).filter(|successor| !successor.is_empty());
        } else if self.named.take().is_some_and(|named| named == record.holder) {
            self.saw("successor took it");
        }
    }

    fn begins(&mut self, seed: u64, start: Instant, node: String, leadership: Leadership) -> usize {
        let fence = leadership.fence();
        self.trace.note(start, format_args!("{node} leads {fence}"));
        let story = || self.trace.story();
        let robbed = if self.ledger.keeps_time(&node) { self.robbed() } else { self.terms.len() };
        if let Some(last) = self.fences.last().filter(|_| robbed < self.terms.len()) {
            assert!(*last < fence, "seed {seed}: {last} then {fence}\n{}", story());
        }
        // Receivers that check the token are safe, whatever clocks do.
        assert!(!self.fences.contains(&fence), "seed {seed}: {fence} again\n{}", story());
        let barred =
            self.barred.get(&node).is_some_and(|since| since.elapsed() > Duration::from_millis(1));
        assert!(!barred, "seed {seed}: {node} leads under maintenance\n{}", story());
        let (mut on_evidence, mut off_beat) = (false, false);
        for (i, led) in self.terms.iter().enumerate() {
            if self.ended.contains(&led.node) {
                on_evidence |= !led.leadership.remaining().is_zero();
                continue;
            }
            // A term's margin is over before another elector's term begins.
            let stood_still =
                self.still.get(&led.node).is_some_and(|until| Instant::now() < *until + GRAIN);
            let late = led.working && (led.node == node || !stood_still);
            // Only this place asks the guard itself: if it says no, the term is over, and
            // `remaining` stays zero.
            let beside = !led.leadership.remaining().is_zero() || led.leadership.is_valid();
            if led.node != node && i < robbed {
                off_beat |= beside;
                continue;
            }
            assert!(!late, "seed {seed}: {node} begins while {} works\n{}", led.node, story());
            assert!(!beside, "seed {seed}: {node} begins beside {}\n{}", led.node, story());
        }
        if off_beat {
            self.saw("led beside one whose clock is wrong");
        }
        if on_evidence {
            self.saw("led while a dead one's hold went on");
        }
        self.fences.push(fence);
        self.terms.push(Led { node, leadership, working: true, over: false });
        self.saw("term");
        // No earlier term is valid beside this one.
        self.look(seed, usize::MAX);
        self.terms.len() - 1
    }
}

/// The work of a term, from its first step to its last, even if it is dropped.
pub(crate) struct Working {
    world: Arc<Mutex<World>>,
    seed: u64,
    index: usize,
    /// The link under which the ledger learns of the end.
    told: Option<String>,
}

impl Working {
    pub(crate) fn begin(
        world: &Arc<Mutex<World>>,
        seed: u64,
        start: Instant,
        node: String,
        leadership: Leadership,
    ) -> Self {
        let index = world.lock().unwrap().begins(seed, start, node, leadership);
        Self { world: Arc::clone(world), seed, index, told: None }
    }

    /// Reports the term to the ledger, now with the elector's term count, and again when it ends.
    pub(crate) fn told(mut self, link: &str, terms: u64) -> Self {
        let mut world = self.world.lock().unwrap();
        let verdict = world.ledger.counted(link, terms);
        world.rules(self.seed, verdict);
        let fence = world.terms[self.index].leadership.fence();
        let verdict = world.ledger.announced(link, Announced::BecameLeader, &fence);
        world.rules(self.seed, verdict);
        drop(world);
        self.told = Some(link.to_owned());
        self
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        // No check while panicking: the panicking task may hold the world's lock.
        if let Ok(mut world) = self.world.lock() {
            world.terms[self.index].working = false;
            if !std::thread::panicking() {
                world.check(self.seed);
                if let Some(link) = &self.told {
                    let fence = world.terms[self.index].leadership.fence();
                    let verdict = world.ledger.announced(link, Announced::StoppedLeading, &fence);
                    world.rules(self.seed, verdict);
                }
            }
        }
    }
}
