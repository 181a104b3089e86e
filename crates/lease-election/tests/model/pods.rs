//! Pods: whether the evidence ever reports a running Pod as ended, in every state of a few Pods.
//!
//! The Pods have two names in two namespaces. Kubelets start and end their processes.

use std::collections::{HashSet, VecDeque};

use super::shipped::holder_pod::{Found, HolderPod, Word, identity_of};

/// The places of Pods, as namespace and name. Two namespaces may each have a StatefulSet of one
/// name.
const PLACES: [(usize, &str); 4] = [(0, "a"), (0, "b"), (1, "a"), (1, "b")];

/// The number of Pods created in one place, one after the other.
const LIVES: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Place {
    /// The number of Pods created here; only the last one may exist.
    made: u8,
    is_there: bool,
    is_deleted: bool,
    /// Whether the process of the last Pod runs.
    runs: bool,
    has_run: bool,
    /// The kubelet has reported that no process of the Pod runs.
    has_ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Make,
    Start,
    End,
    Say,
    Delete,
    LetGo,
}

const STEPS: [Step; 6] = [Step::Make, Step::Start, Step::End, Step::Say, Step::Delete, Step::LetGo];

impl Place {
    /// A step as an API server and a kubelet allow it, if no client forces a deletion.
    fn step(self, step: Step) -> Option<Self> {
        let is_over = self.has_ended || !self.has_run && !self.runs;
        let (may, after) = match step {
            Step::Make => (
                !self.is_there && self.made < LIVES,
                Self { made: self.made + 1, is_there: true, ..Self::default() },
            ),
            Step::Start => (
                self.is_there && !self.has_run && !self.is_deleted,
                Self { runs: true, has_run: true, ..self },
            ),
            Step::End => (self.runs, Self { runs: false, ..self }),
            Step::Say => {
                (self.is_there && self.has_run && !self.runs, Self { has_ended: true, ..self })
            }
            Step::Delete => (self.is_there, Self { is_deleted: true, ..self }),
            Step::LetGo => {
                (self.is_there && self.is_deleted && is_over, Self { is_there: false, ..self })
            }
        };
        (may && after != self).then_some(after)
    }
}

type State = [Place; 4];

fn uid(place: usize, life: u8) -> String {
    format!("0a1b2c3d-0000-4111-8222-{place:06}{life:06}")
}

fn found(there: Option<&(String, bool)>) -> Found<'_> {
    there.map_or(Found::Nothing, |(uid, has_ended)| Found::Pod { uid, has_ended: *has_ended })
}

/// Whether the Pod `own`, which looks into `namespace`, learns that the Pod of this identity has
/// ended.
fn says_ended(state: &State, namespace: usize, own: &str, holder: &str) -> bool {
    let there = |pod: HolderPod<'_>| {
        let place = PLACES.iter().position(|place| *place == (namespace, pod.name))?;
        state[place].is_there.then(|| (uid(place, state[place].made), state[place].has_ended))
    };
    let (Some(own), Some(holder)) = (HolderPod::of(own), HolderPod::of(holder)) else {
        return false;
    };
    match holder.judge(found(there(holder).as_ref())) {
        Word::Ended => true,
        Word::NotHere => own.is_here(found(there(own).as_ref())),
        Word::Nothing => false,
    }
}

/// Searches every state. Prints a state in which the evidence reports a running Pod as ended.
/// Returns `false` for such a state, or if the evidence never reports any Pod.
pub(crate) fn play() -> bool {
    let mut seen: HashSet<State> = HashSet::new();
    let mut queue = VecDeque::from([State::default()]);
    let (mut known, mut wrong) = (0u64, None);
    while let Some(state) = queue.pop_front() {
        if !seen.insert(state) {
            continue;
        }
        // The Pods in namespace 0 hold the election: `b` asks about each Pod that was ever `a`.
        let asks =
            PLACES.iter().position(|place| *place == (0, "b")).filter(|b| state[*b].is_there);
        if let Some(asks) = asks {
            let own = identity_of("b", &uid(asks, state[asks].made), 1);
            for life in 1..=state[0].made {
                let holder = identity_of("a", &uid(0, life), 2);
                let runs = state[0].runs && life == state[0].made;
                for namespace in [0, 1] {
                    let ended = says_ended(&state, namespace, &own, &holder);
                    known += u64::from(ended);
                    if ended && runs {
                        wrong.get_or_insert((state, namespace));
                    }
                }
            }
        }
        for place in 0..PLACES.len() {
            for step in STEPS {
                if let Some(after) = state[place].step(step) {
                    let mut next = state;
                    next[place] = after;
                    queue.push_back(next);
                }
            }
        }
    }
    println!(
        "model: pods {:>54} states (all), {known} times one was known to have ended",
        seen.len()
    );
    if let Some((state, namespace)) = wrong {
        println!(
            "    a Pod that runs is taken for gone by who looks into namespace {namespace}: {state:?}"
        );
    }
    wrong.is_none() && known > 0
}
