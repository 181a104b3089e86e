//! The decision about a request, by plan and counters. Pure: no clock, no I/O, no chance.

use super::kind::Fault;
use super::plan::{FaultPlan, Rule};
use crate::request_info::RequestInfo;
use std::collections::HashMap;
use std::time::Duration;

/// The decision about a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Waits first; zero: not at all.
    pub delay: Duration,
    /// Then this happens to the server.
    pub effects: Vec<Effect>,
    /// A watch gets no bookmarks; with `true`, not the bookmark at the end of the initial events
    /// either.
    pub withheld: Option<bool>,
    /// Then this, if anything.
    pub fault: Option<Injection>,
}

/// What happens to the server just before it serves a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// All history is forgotten.
    Compact,
    /// The wall clock jumps by this number of milliseconds; less than zero: back.
    MoveClock(i64),
}

impl Effect {
    /// The word for the request log.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::MoveClock(_) => "move_clock",
        }
    }
}

/// A fault with its draws made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Injection {
    /// The fault.
    pub fault: Fault,
    /// For a watch that is cut, stalled or garbled: how many events get through before.
    pub events: u64,
}

impl Decision {
    /// The word for the request log.
    #[must_use]
    pub fn word(&self) -> Option<&'static str> {
        let fault = self.fault.as_ref().map(|injection| injection.fault.as_str());
        fault.or_else(|| self.word_beside_fault())
    }

    /// The word for the request log if there is no fault, or the request does not get to it.
    pub(crate) fn word_beside_fault(&self) -> Option<&'static str> {
        let effect = self.effects.first().map(|effect| effect.word());
        effect
            .or_else(|| self.withheld.map(|_| "withhold_bookmarks"))
            .or_else(|| (!self.delay.is_zero()).then_some("latency"))
    }
}

/// A plan and the calls counted so far.
#[derive(Clone, Debug, Default)]
pub struct Decider {
    plan: FaultPlan,
    counted: Vec<Calls>,
}

#[derive(Clone, Debug, Default)]
struct Calls {
    all: u64,
    /// How many of them got a fault.
    fired: u64,
    by_user: HashMap<String, u64>,
}

impl Decider {
    /// Starts with all counters at zero.
    #[must_use]
    pub fn new(plan: FaultPlan) -> Self {
        let counted = plan.rules.iter().map(|_| Calls::default()).collect();
        Self { plan, counted }
    }

    /// The plan.
    #[must_use]
    pub const fn plan(&self) -> &FaultPlan {
        &self.plan
    }

    /// The rules that have injected nothing yet, each in a line.
    pub(super) fn unfired(&self) -> Vec<String> {
        let rules = self.plan.rules.iter().zip(&self.counted).enumerate();
        let unfired = rules.filter(|(_, (_, calls))| calls.fired == 0);
        let line = |(at, (rule, calls)): (usize, (&Rule, &Calls))| {
            let shown = serde_json::to_string(rule).unwrap_or_default();
            format!("rules[{at}] matched {} calls: {shown}", calls.all)
        };
        unfired.map(line).collect()
    }

    /// Decides about the next request of `user`. `resumes` as in [`Fault::fits`].
    pub fn decide(&mut self, user: &str, request: &RequestInfo, resumes: bool) -> Decision {
        let mut decision = Decision::default();
        if self.plan.exempt.iter().any(|spared| spared.admits(user, request)) {
            return decision;
        }
        let rules = self.plan.rules.iter().enumerate().zip(&mut self.counted);
        for ((index, rule), calls) in rules {
            if !rule.matching.admits(user, request) {
                continue;
            }
            let fitting: Vec<&Fault> =
                rule.faults.iter().filter(|fault| fault.fits(request, resumes)).collect();
            if fitting.is_empty() {
                continue;
            }
            let (call, own_call) = calls.next(user);
            if !applies_to(rule, call) {
                continue;
            }
            let mut draws = Draws::new(self.plan.seed, index, user, own_call);
            if !rule.chance.hit(draws.next()) {
                continue;
            }
            let fault = fitting[draws.below(fitting.len() as u64)];
            if decision.fault.is_none() || fault.adds_up() {
                calls.fired = calls.fired.saturating_add(1);
            }
            match fault {
                Fault::Latency { min_ms, max_ms } => {
                    let wait = Duration::from_millis(draws.between(*min_ms, *max_ms));
                    decision.delay = decision.delay.saturating_add(wait);
                }
                Fault::Compact => decision.effects.push(Effect::Compact),
                Fault::MoveClock { by_ms } => decision.effects.push(Effect::MoveClock(*by_ms)),
                Fault::WithholdBookmarks { end_mark } => {
                    decision.withheld = Some(decision.withheld.unwrap_or(false) || *end_mark);
                }
                // Later rules still count this call, so that "the third call" means the same in
                // every plan.
                fault if decision.fault.is_none() => {
                    let events = match fault {
                        Fault::CutWatch { min_events, max_events, .. }
                        | Fault::StallWatch { min_events, max_events }
                        | Fault::GarbageLine { min_events, max_events } => {
                            draws.between(*min_events, *max_events)
                        }
                        _ => 0,
                    };
                    decision.fault = Some(Injection { fault: fault.clone(), events });
                }
                _ => {}
            }
        }
        decision
    }
}

impl Calls {
    /// Counts a call and says which it is: over all users, and of this one. Both start at 1.
    fn next(&mut self, user: &str) -> (u64, u64) {
        self.all = self.all.saturating_add(1);
        let own = match self.by_user.get_mut(user) {
            Some(own) => own,
            None => self.by_user.entry(user.to_owned()).or_default(),
        };
        *own = own.saturating_add(1);
        (self.all, *own)
    }
}

fn applies_to(rule: &Rule, call: u64) -> bool {
    call >= rule.first_call && rule.last_call.is_none_or(|last| call <= last)
}

/// SplitMix64 (Steele, Lea, Flood 2014; the constants are those of
/// <https://prng.di.unimi.it/splitmix64.c>), written out because a plan's decisions must not change
/// with the version of a library.
struct Draws(u64);

impl Draws {
    fn new(seed: u64, rule: usize, user: &str, call: u64) -> Self {
        let mut draws = Self(seed);
        for word in [rule as u64, fnv1a(user), call] {
            draws = Self(draws.next() ^ word);
        }
        draws
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// An index below `bound`, which is a `Vec` length and never zero here; zero answers 0.
    fn below(&mut self, bound: u64) -> usize {
        usize::try_from(self.next().checked_rem(bound).unwrap_or(0)).unwrap_or(0)
    }

    /// A number from `min` to `max`, both included; `min` if they are the wrong way round.
    fn between(&mut self, min: u64, max: u64) -> u64 {
        let draw = self.next();
        match max.saturating_sub(min).checked_add(1) {
            Some(span) => min.saturating_add(draw % span),
            None => draw,
        }
    }
}

/// 64-bit FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
