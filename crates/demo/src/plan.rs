//! What will happen: names, order, gates and obstacles, drawn from one seed. Pure: same question,
//! same plan.

use k8s_openapi::api::core::v1::PersistentVolume;

#[cfg(test)]
mod tests;

/// The class every claim asks for.
pub(crate) const CLASS: &str = "wq-demo";

/// What is asked of a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) claims: usize,
    pub(crate) seed: u64,
}

/// Everything that will be done, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) namespaces: Vec<Namespace>,
    /// In the order of their creation.
    pub(crate) claims: Vec<Claim>,
    pub(crate) steps: Vec<Step>,
    /// The leader is killed when this many claims are bound ...
    pub(crate) crash_at: usize,
    /// ... and the next one stopped when this many are.
    pub(crate) handover_at: usize,
    /// Of the claims, this many are created before the hand-over; the rest make sure that it finds
    /// work pending.
    pub(crate) before_handover: usize,
    /// How many claims are created at once right before either end of a leader, so that it leaves
    /// work behind.
    pub(crate) burst: usize,
    /// Indices of the claims deleted at the end, in order.
    pub(crate) deletions: Vec<usize>,
}

/// A namespace, and whether a plain file stands where the provisioner wants a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Namespace {
    pub(crate) name: String,
    pub(crate) blocked: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) name: String,
    /// Index into [`Plan::namespaces`].
    pub(crate) namespace: usize,
    pub(crate) mebibytes: u32,
}

/// One act of the writer. Only `Create` is paced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Create(usize),
    /// Sets an annotation of a claim that exists.
    Annotate(usize),
    /// Sets a label of a claim that exists.
    Relabel(usize),
    /// Takes the plain file of this namespace out of the way.
    Unblock(usize),
    /// Says, as a controller that is wrong, that the volume of a claim that exists is released.
    SayReleased(usize),
}

const OPEN: usize = 4;
const BLOCKED: usize = 2;
/// Every n-th step, on average, is followed by a change of some claim.
const CHANGES: usize = 3;
/// Every n-th claim, on average, is followed by a wrong word about one made before.
const WRONG_PHASES: usize = 10;

impl Plan {
    pub(crate) fn draw(ask: Ask) -> Self {
        let mut rng = fastrand::Rng::with_seed(ask.seed);
        let count = ask.claims.max(4);
        let namespaces: Vec<_> = (0..OPEN + BLOCKED)
            .map(|i| Namespace {
                name: format!("team-{}", char::from(b'a'.saturating_add(i as u8))),
                blocked: i >= OPEN,
            })
            .collect();

        // One file goes away before the crash, one after it: so claims wait for a folder on both
        // sides of a fail-over.
        let lifted: [usize; BLOCKED] =
            [count * rng.usize(15..30) / 100, count * rng.usize(50..60) / 100];
        let mut claims: Vec<Claim> = (0..count)
            .map(|i| Claim {
                name: format!("claim-{i:05}"),
                namespace: rng.usize(0..OPEN),
                mebibytes: rng.u32(1..64),
            })
            .collect();
        for (blocked, &until) in lifted.iter().enumerate() {
            let until = until.max(1);
            for _ in 0..(count / 40).max(1) {
                claims[rng.usize(0..until)].namespace = OPEN + blocked;
            }
        }

        let mut steps = Vec::with_capacity(count * 3 / 2);
        for made in 0..count {
            for (blocked, &until) in lifted.iter().enumerate() {
                if made == until.max(1) {
                    steps.push(Step::Unblock(OPEN + blocked));
                }
            }
            steps.push(Step::Create(made));
            if rng.usize(0..CHANGES) == 0 {
                // A quarter hits the claim just made, the rest any of them.
                let target = if rng.usize(0..4) == 0 { made } else { rng.usize(0..=made) };
                steps.push(if rng.bool() { Step::Annotate(target) } else { Step::Relabel(target) });
            }
        }

        let steps = with_wrong_phases(steps, ask.seed);

        let mut deletions: Vec<usize> = (0..count).collect();
        rng.shuffle(&mut deletions);
        deletions.truncate(count / 5);

        Self {
            namespaces,
            claims,
            steps,
            crash_at: count / 2,
            handover_at: count * 3 / 4,
            before_handover: count - count / 8,
            burst: (count / 16).clamp(1, 8),
            deletions,
        }
    }

    /// The same plan in namespaces whose names begin with this.
    pub(crate) fn prefixed(mut self, prefix: &str) -> Self {
        for namespace in &mut self.namespaces {
            namespace.name.insert_str(0, prefix);
        }
        self
    }

    /// Whether a claim in this namespace is of this run.
    pub(crate) fn has_namespace(&self, name: &str) -> bool {
        self.namespaces.iter().any(|namespace| namespace.name == name)
    }
}

/// Puts wrong words of a controller between the steps, drawn from the seed and changing nothing
/// else of the plan.
fn with_wrong_phases(steps: Vec<Step>, seed: u64) -> Vec<Step> {
    let mut rng = fastrand::Rng::with_seed(!seed);
    let mut mixed = Vec::with_capacity(steps.len());
    let mut made = 0_usize;
    for step in steps {
        mixed.push(step);
        if matches!(step, Step::Create(_)) {
            made = made.saturating_add(1);
            if rng.usize(0..WRONG_PHASES) == 0 {
                mixed.push(Step::SayReleased(rng.usize(0..made)));
            }
        }
    }
    mixed
}

/// Whether a volume is of this run, by its class.
pub(crate) fn is_our_volume(volume: &PersistentVolume) -> bool {
    volume.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref()) == Some(CLASS)
}
