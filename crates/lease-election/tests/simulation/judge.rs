//! What is noted and what must never be: overlapping guards, fences that fall, work that outlives
//! its margin, a release before the work has ended. It looks on without touching: what it asks ends
//! no term and wakes nobody.

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

/// How often what may happen happened: a simulation that reaches nothing proves nothing.
pub(crate) type Seen = BTreeMap<&'static str, u64>;

/// So many lines are kept.
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
    /// It was seen to be over, and so it is for good.
    over: bool,
}

/// What the nodes are doing, and what has happened so far.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) terms: Vec<Led>,
    fences: Vec<FenceToken>,
    /// How a node's link is now.
    pub(crate) weather: BTreeMap<String, u64>,
    /// Links of processes that are no more.
    pub(crate) dead: BTreeSet<String>,
    /// Until when a process stands still: it does nothing, and nobody can say that its work goes
    /// on.
    pub(crate) still: BTreeMap<String, Instant>,
    /// Links of processes that have ended for good: whatever their elector remembers, nothing of
    /// it runs.
    pub(crate) ended: BTreeSet<String>,
    /// Since when a process is under maintenance.
    pub(crate) barred: BTreeMap<String, Instant>,
    /// All were started again then, and found a lease that somebody held.
    pub(crate) all_began: Option<Instant>,
    /// Whom the last release named.
    pub(crate) named: Option<String>,
    /// The servers are away: nothing arrives, and nothing is told.
    pub(crate) away: bool,
    /// There is no such namespace: nothing can be made in it.
    pub(crate) no_namespace: bool,
    /// The servers of these say that they have not yet seen the version which a watch is to go on
    /// from.
    #[cfg_attr(
        any(not(feature = "kube"), wq_plant),
        allow(dead_code, reason = "there is no server")
    )]
    pub(crate) lagging: BTreeSet<String>,
    /// What these read is no JSON.
    #[cfg_attr(
        any(not(feature = "kube"), wq_plant),
        allow(dead_code, reason = "there is no server")
    )]
    pub(crate) garbled: BTreeSet<String>,
    /// When what was under way as the faults stopped arrives at last.
    pub(crate) late: BTreeSet<Instant>,
    /// A state of the Lease that the store may be put back to.
    pub(crate) backup: Option<StoredLease>,
    /// So many wait for the end of a term, and have not heard of it.
    pub(crate) untold: u64,
    pub(crate) ledger: Ledger,
    pub(crate) trace: Trace,
    pub(crate) seen: Seen,
}

/// A process that goes on after it stood still has its timers late by no more than this.
const GRAIN: Duration = Duration::from_millis(2);

impl World {
    /// What these electors are judged by.
    pub(crate) fn begin(&mut self, mode: Mode, configs: &[Config]) {
        let ledger = &mut self.ledger;
        ledger.by_wall = mode == Mode::WallClocks;
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

    /// What the ledger says of an entry.
    pub(crate) fn rules(&self, seed: u64, verdict: Result<(), String>) {
        if let Err(wrong) = verdict {
            panic!("seed {seed}: {wrong}\n{}", self.trace.story());
        }
    }

    /// Looks at the last terms: of more than these none can be news, and all are looked at when
    /// another begins.
    pub(crate) fn check(&mut self, seed: u64) {
        self.look(seed, 3);
    }

    /// The store went back to an earlier state, when no lease held. Its revisions may come again.
    pub(crate) fn went_back(&mut self, again: bool) {
        self.ledger.went_back();
        self.named = None;
        if again {
            self.fences.clear();
        }
    }

    /// The invariant that is checked after every step: no guard is valid but that of the last term,
    /// and none becomes valid again. Whoever goes by a clock that A2 excludes may rob, and be
    /// robbed.
    fn look(&mut self, seed: u64, at_most: usize) {
        let (count, mut wrong) = (self.terms.len(), None);
        let robbed = self.robbed();
        let ended = &self.ended;
        let lives = |led: &Led| !ended.contains(&led.node);
        let terms = self.terms.iter_mut().enumerate().skip(count.saturating_sub(at_most));
        for (i, led) in terms.filter(|(_, led)| lives(led)) {
            // What remains is asked and not the guard, which notes that it has expired, and tells.
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

    /// How many terms, from the first, may go on beside a later one: they were taken from their
    /// leader by one whose clock is too fast, or go on for too long by one that is too slow.
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

    /// Somebody sends a release, or it is carried out.
    pub(crate) fn gives_back(&self, seed: u64, node: &str) {
        let busy = self.terms.iter().any(|led| led.node == node && led.working);
        assert!(
            !busy,
            "seed {seed}: {node} released while its work went on\n{}",
            self.trace.story()
        );
    }

    /// A write was carried out, by this link or (empty) by somebody who may do anything. There is
    /// no record where there is no Lease any more.
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
        // Whoever checks it is safe, whatever clocks do.
        assert!(!self.fences.contains(&fence), "seed {seed}: {fence} again\n{}", story());
        let barred =
            self.barred.get(&node).is_some_and(|since| since.elapsed() > Duration::from_millis(1));
        assert!(!barred, "seed {seed}: {node} leads under maintenance\n{}", story());
        let shortly = self.ledger.own * 4 / 5;
        let (mut on_evidence, cold) =
            (false, self.all_began.is_some_and(|began| began.elapsed() < shortly));
        let mut off_beat = false;
        for (i, led) in self.terms.iter().enumerate() {
            if self.ended.contains(&led.node) {
                on_evidence |= !led.leadership.remaining().is_zero();
                continue;
            }
            // Its margin is over before anybody else's term begins.
            let stood_still =
                self.still.get(&led.node).is_some_and(|until| Instant::now() < *until + GRAIN);
            let late = led.working && (led.node == node || !stood_still);
            // The guard itself is asked here alone: if it says no, it is over for good, and what
            // remains is zero as it was.
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
        if cold {
            self.saw("led after a cold start");
        }
        self.all_began = None;
        self.fences.push(fence);
        self.terms.push(Led { node, leadership, working: true, over: false });
        self.saw("term");
        // All that ever began: none of them is valid beside it.
        self.look(seed, usize::MAX);
        self.terms.len() - 1
    }
}

/// The work of a term, from its first step to its last, also if it is dropped.
pub(crate) struct Working {
    world: Arc<Mutex<World>>,
    seed: u64,
    index: usize,
    /// Whose ledger is to hear of its end.
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

    /// The ledger hears of its begin now, when this elector has counted so many terms, and of its
    /// end.
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
        // Not while panicking: the world's lock may be held by the one who panics.
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
