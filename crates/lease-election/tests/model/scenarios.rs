//! Scenarios: the worlds to search, the steps that may happen in each, and how far each search
//! goes.

use std::process::ExitCode;
use std::time::Duration;

use crate::candidate::Manner;
use crate::client_go::ClientGo;
use crate::explore::{Found, Play, explore};
use crate::ours::{ELECTED, Ours, Terms};
use crate::planted::planted;
use crate::world::{More, OFTEN, Rules, Step, World, Wrong};

/// How far the searches go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Effort {
    Quick,
    Full,
    /// This many states of each world that is not searched whole.
    Long(usize),
}

impl Effort {
    /// The number of states after which the search of this world stops, at the end of that depth.
    fn bound(self, scenario: &Scenario) -> usize {
        match self {
            Self::Quick => 5_500,
            effort if scenario.is_whole(effort) => usize::MAX,
            Self::Full => scenario.part,
            Self::Long(states) => states,
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Only lost requests, lost answers and pauses, which every world has.
fn pauses() -> Rules {
    Rules {
        tick: vec![SECOND; 2],
        margin: SECOND,
        punctual: None,
        late_writes: 0,
        watches: false,
        stale_events: false,
        doubled_writes: 0,
        twice: 0,
        rewinds: 0,
        touches: false,
        strangers: false,
        deletions: false,
        work_ends: false,
        joins: !planted("release-before-stop"),
        restarts: 0,
        restores: 0,
        more: More::default(),
    }
}

/// One elector reads, creates the Lease, and leads; the other reads the Lease.
macro_rules! leads_and_is_seen {
    ($one:literal, $other:literal $(, $then:expr)*) => {
        &[
            Step::Send($one), Step::Arrive($one), Step::Answer($one), Step::Send($one), Step::Arrive($one), Step::Answer($one),
            Step::Send($other), Step::Arrive($other), Step::Answer($other) $(, $then)*
        ]
    };
}

const SECOND_LEADS: &[Step] = leads_and_is_seen!(1, 0);

/// The first elector stood still. The second leads, and the first does not know.
const TAKEN_OVER: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1)
);

/// The first elector led and released the lease. The second took it at once, and the first does not
/// know.
const GIVEN_BACK: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Finish(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Break(1),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1)
);

/// The first elector has no answer to its release. The second has taken the lease.
const GIVEN_BACK_UNANSWERED: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Finish(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Break(1),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1)
);

/// The first elector's release was lost, and the second took the expired lease. The first still
/// means to release.
const RELEASE_LOST: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Finish(0),
    Step::Send(0),
    Step::Lose(0),
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1)
);

/// The first elector gave up a creation that may still arrive. Its next creation met the second's
/// Lease, which it has not seen.
const MET_ONE: &[Step] = &[
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(0),
    Step::GiveUp(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
];

/// The first elector leads, and its renewal is in flight.
const RENEWS: &[Step] = leads_and_is_seen!(0, 1, Step::Tick, Step::Send(0));

/// The first elector leads. Its renewal was refused, and a second copy is in flight.
const REFUSED_AND_MAY_LAND: &[Step] =
    leads_and_is_seen!(0, 1, Step::Tick, Step::Send(0), Step::Twice(0), Step::Refuse(0));

/// The first elector's creation was sent twice, and has arrived once. The second has taken the
/// expired lease.
const MADE_AND_TAKEN_OVER: &[Step] = &[
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(0),
    Step::Twice(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Wake(0),
    Step::Join(0),
];

/// The second elector saw a renewal of the first, whose hold then expired. The store went back to
/// the version before that renewal. Once that expired too, the first leads again, with the version
/// of its renewal.
const LEADS_WITH_AN_OLD_VERSION: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Tick,
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Break(1),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Wake(0),
    Step::Join(0),
    Step::Rewind,
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0)
);

/// The first elector has stood still for more than a lease since it sent a creation. The second
/// created the Lease, and leads.
const STANDS_STILL: &[Step] = &[
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(0),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Tick,
    Step::Tick,
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Tick,
    Step::Tick,
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Tick,
];

/// The first elector claimed its grant, and leads; the other has seen that.
const GRANTED: &[Step] = &[
    Step::Grant(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
];

/// The first elector's hold has expired, and its work was joined at once. The other has not seen
/// that.
const EXPIRED: &[Step] =
    leads_and_is_seen!(0, 1, Step::Tick, Step::Tick, Step::Tick, Step::Wake(0), Step::Join(0));

/// EXPIRED; then the first elector is stopped.
const EXPIRED_AND_STOPPED: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Wake(0),
    Step::Join(0),
    Step::Stop(0)
);

/// EXPIRED; then an elector that leads again while requests of its work may land does so, and
/// finishes.
const LEADS_AGAIN: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Wake(0),
    Step::Join(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Finish(0)
);

/// EXPIRED; the other's acquisition has no answer, and may still arrive. Then the first leads
/// again.
const ACQUISITION_UNANSWERED: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Send(1),
    Step::GiveUp(1),
    Step::Wake(0),
    Step::Join(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0)
);

/// ACQUISITION_UNANSWERED before the first leads again.
const ACQUISITION_MAY_ARRIVE: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Send(1),
    Step::GiveUp(1)
);

/// EXPIRED by a grant; the other has seen no Lease at all.
const GRANTED_AND_EXPIRED: &[Step] = &[
    Step::Grant(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Wake(0),
    Step::Join(0),
];

/// GRANTED; then the first renews, the other has not seen that, and is granted the lease.
const GRANTED_TO_ANOTHER: &[Step] = &[
    Step::Grant(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Tick,
    Step::Tick,
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Grant(1),
];

/// GRANTED; then the first renews, which the other has not seen. The Lease was deleted, and a new
/// one is the other's.
const MADE_AGAIN: &[Step] = &[
    Step::Grant(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Send(1),
    Step::Arrive(1),
    Step::Answer(1),
    Step::Tick,
    Step::Tick,
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Delete,
    Step::Grant(1),
];

/// The first elector led, and was restarted. An answer in flight tells the second that the former
/// holder is gone. Meanwhile the first leads again.
const ASKED: &[Step] = leads_and_is_seen!(
    0,
    1,
    Step::Restart(0),
    Step::Ask(1),
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0),
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Tick,
    Step::Send(0),
    Step::Arrive(0),
    Step::Answer(0)
);

/// The first elector led, which the second knows. The first is killed and restarted.
const KILLED: &[Step] = leads_and_is_seen!(0, 1, Step::Restart(0));

struct Scenario {
    name: &'static str,
    /// The effort from which on the search covers all states. `None`: a machine cannot keep that
    /// many.
    all: Option<Effort>,
    /// The number of states at which `full` goes no deeper otherwise.
    part: usize,
    terms: Terms,
    rules: Rules,
    /// The second elector's settings, if they differ.
    other: Option<Terms>,
    /// The steps before the search begins.
    way: &'static [Step],
    /// All electors share an identity, as two processes by mistake, or two lives of one.
    one_identity: bool,
    /// Each life of a process has its own identity.
    named_lives: bool,
}

impl Scenario {
    fn is_whole(&self, effort: Effort) -> bool {
        self.all.is_some_and(|all| effort >= all)
    }
}

fn scenarios() -> Vec<Scenario> {
    let terms = terms();
    let short = Terms { lease: 3, timeout: SECOND / 2, ..terms };
    let world = |name, all, rules| Scenario {
        name,
        all,
        part: 60_000,
        terms,
        rules,
        other: None,
        way: &[],
        one_identity: false,
        named_lives: false,
    };
    let mut scenarios = vec![
        world("late writes", Some(Effort::Full), Rules { late_writes: 1, ..pauses() }),
        world("watches", Some(Effort::Full), Rules { watches: true, ..pauses() }),
        world("strangers", Some(Effort::Full), Rules { strangers: true, ..pauses() }),
        world("one doubled write", Some(Effort::Full), Rules { doubled_writes: 1, ..pauses() }),
        world("a write that is sent twice", None, Rules { twice: 1, ..pauses() }),
        Scenario {
            way: RENEWS,
            ..world(
                "a renewal that is sent twice",
                None,
                Rules { twice: 1, work_ends: true, ..pauses() },
            )
        },
        Scenario {
            way: REFUSED_AND_MAY_LAND,
            ..world("a renewal that was refused and may land", None, Rules { twice: 1, ..pauses() })
        },
        Scenario {
            way: MADE_AND_TAKEN_OVER,
            ..world(
                "a creation that is sent twice, and deletions",
                None,
                Rules { twice: 2, deletions: true, ..pauses() },
            )
        },
        Scenario {
            way: STANDS_STILL,
            ..world(
                "deletions while a creation is under way",
                None,
                Rules { deletions: true, ..pauses() },
            )
        },
        Scenario {
            way: LEADS_WITH_AN_OLD_VERSION,
            ..world("versions that are handed out again", None, Rules { rewinds: 2, ..pauses() })
        },
        world("deletions", Some(Effort::Long(0)), Rules { deletions: true, ..pauses() }),
        Scenario {
            way: TAKEN_OVER,
            ..world("deletions after a take-over", None, Rules { deletions: true, ..pauses() })
        },
        Scenario {
            way: GIVEN_BACK,
            ..world(
                "deletions after a release",
                None,
                Rules { deletions: true, work_ends: true, ..pauses() },
            )
        },
        Scenario {
            way: GIVEN_BACK_UNANSWERED,
            ..world(
                "deletions while a release is unanswered",
                None,
                Rules { deletions: true, work_ends: true, ..pauses() },
            )
        },
        Scenario {
            other: Some(Terms { lease: 6, ..terms }),
            way: SECOND_LEADS,
            ..world("leases of two lengths", None, pauses())
        },
        Scenario {
            way: MET_ONE,
            ..world(
                "late writes and deletions",
                None,
                Rules { late_writes: 1, deletions: true, ..pauses() },
            )
        },
        world("labels", None, Rules { touches: true, ..pauses() }),
        world("doubled writes", None, Rules { doubled_writes: OFTEN, ..pauses() }),
        Scenario {
            way: RELEASE_LOST,
            ..world("releases after a take-over", None, Rules { work_ends: true, ..pauses() })
        },
        world("releases", None, Rules { work_ends: true, late_writes: 1, ..pauses() }),
        // Leases of three steps keep the search small enough to cover all states.
        Scenario {
            terms: short,
            ..world(
                "short leases, releases",
                Some(Effort::Full),
                Rules { work_ends: true, ..pauses() },
            )
        },
        Scenario {
            terms: short,
            ..world(
                "short leases, releases, late writes",
                Some(Effort::Long(0)),
                Rules { work_ends: true, late_writes: 1, ..pauses() },
            )
        },
        Scenario {
            terms: short,
            ..world(
                "short leases, releases, deletions",
                None,
                Rules { work_ends: true, deletions: true, ..pauses() },
            )
        },
        Scenario {
            terms: short,
            ..world(
                "short leases, three electors",
                None,
                Rules { tick: vec![SECOND; 3], ..pauses() },
            )
        },
        world("stale events", None, Rules { watches: true, stale_events: true, ..pauses() }),
        world(
            "deletions that are told",
            None,
            Rules { deletions: true, watches: true, stale_events: true, ..pauses() },
        ),
        Scenario {
            one_identity: true,
            ..world(
                "restarts under one identity",
                None,
                Rules { restarts: 1, late_writes: 1, ..pauses() },
            )
        },
        // Either clock may lead. They are off by the tenth that the configuration allows.
        Scenario {
            terms: Terms { lease: 5, drift_ppm: 100_000, ..terms },
            ..world(
                "clocks that drift",
                None,
                Rules { tick: vec![SECOND * 9 / 10, SECOND * 11 / 10], ..pauses() },
            )
        },
        // The same in longer ticks, so that the search covers all states.
        Scenario {
            terms: Terms { lease: 6, drift_ppm: 100_000, ..terms },
            ..world(
                "clocks that drift, in long steps",
                Some(Effort::Full),
                Rules { tick: vec![SECOND * 18 / 10, SECOND * 22 / 10], ..pauses() },
            )
        },
        world(
            "releases, watches, late and doubled writes",
            None,
            Rules {
                work_ends: true,
                watches: true,
                doubled_writes: OFTEN,
                late_writes: 1,
                ..pauses()
            },
        ),
        // A courtesy wait, which the safety search skips and the progress check includes.
        Scenario {
            terms: Terms { polls: true, ..terms },
            ..world("polling standbys", Some(Effort::Long(0)), pauses())
        },
        world("records written back", None, Rules { restores: 1, ..pauses() }),
        world(
            "records written back, late writes",
            None,
            Rules { restores: 1, late_writes: 1, ..pauses() },
        ),
        world(
            "strangers and late writes",
            None,
            Rules { strangers: true, late_writes: 1, ..pauses() },
        ),
        world(
            "strangers and deletions",
            None,
            Rules { strangers: true, deletions: true, ..pauses() },
        ),
        world("restarts and deletions", None, Rules { restarts: 1, deletions: true, ..pauses() }),
        world("two late writes each", None, Rules { late_writes: 2, ..pauses() }),
        world("three electors", None, Rules { tick: vec![SECOND; 3], ..pauses() }),
    ];
    scenarios.extend(features());
    scenarios
}

fn terms() -> Terms {
    Terms {
        lease: 4,
        interval: 1,
        timeout: SECOND,
        margin: 1,
        drift_ppm: 0,
        polls: false,
        rank: None,
        manner: Manner::Free,
    }
}

/// Worlds of options: hand-overs, maintenance, coordinated election, evidence.
fn features() -> Vec<Scenario> {
    let terms = terms();
    let world = |name, more, rules: Rules| Scenario {
        name,
        all: None,
        part: 30_000,
        terms,
        rules: Rules { more, ..rules },
        other: None,
        way: &[],
        one_identity: false,
        named_lives: false,
    };
    let (ranked, elected) =
        (|rank| Terms { rank: Some(rank), ..terms }, Terms { manner: ELECTED, ..terms });
    let grants = || More { grants: true, ..More::default() };
    let stops = || More { stops: 1, ..More::default() };
    let maintenance = || More { maintenance: true, ..More::default() };
    vec![
        Scenario {
            terms: ranked(0),
            other: Some(ranked(1)),
            way: SECOND_LEADS,
            ..world("hand-overs by rank", More { hand_overs: true, ..More::default() }, pauses())
        },
        world("maintenance", maintenance(), pauses()),
        Scenario {
            way: ACQUISITION_MAY_ARRIVE,
            ..world("maintenance, late writes", maintenance(), Rules { late_writes: 1, ..pauses() })
        },
        Scenario {
            way: ACQUISITION_UNANSWERED,
            ..world(
                "maintenance beside a leader",
                maintenance(),
                Rules { late_writes: 1, ..pauses() },
            )
        },
        Scenario {
            way: ACQUISITION_MAY_ARRIVE,
            ..world("stops", stops(), Rules { late_writes: 1, ..pauses() })
        },
        Scenario {
            way: ACQUISITION_UNANSWERED,
            ..world("stops beside a leader", stops(), Rules { late_writes: 1, ..pauses() })
        },
        Scenario {
            way: EXPIRED_AND_STOPPED,
            ..world(
                "stops after a term",
                stops(),
                Rules { late_writes: 1, work_ends: true, ..pauses() },
            )
        },
        Scenario {
            way: MET_ONE,
            ..world(
                "stops and deletions",
                stops(),
                Rules { late_writes: 1, deletions: true, ..pauses() },
            )
        },
        Scenario {
            way: EXPIRED_AND_STOPPED,
            ..world(
                "stops, what lost work has sent",
                More { lands: true, ..stops() },
                Rules { late_writes: 1, work_ends: true, ..pauses() },
            )
        },
        Scenario {
            way: ACQUISITION_MAY_ARRIVE,
            ..world(
                "stops, watches and writes that are sent twice",
                stops(),
                Rules { late_writes: 1, twice: 1, watches: true, ..pauses() },
            )
        },
        Scenario {
            way: EXPIRED,
            ..world(
                "what lost work has sent",
                More { lands: true, ..More::default() },
                Rules { work_ends: true, ..pauses() },
            )
        },
        Scenario {
            terms: elected,
            way: GRANTED_AND_EXPIRED,
            ..world(
                "grants, what lost work has sent",
                More { lands: true, ..grants() },
                Rules { work_ends: true, ..pauses() },
            )
        },
        Scenario {
            way: LEADS_AGAIN,
            ..world(
                "what lost work has sent, and a term after",
                More { lands: true, ..More::default() },
                Rules { work_ends: true, ..pauses() },
            )
        },
        Scenario {
            terms: elected,
            way: GRANTED_TO_ANOTHER,
            ..world("grants by a clock that is ahead", More { ahead: true, ..grants() }, pauses())
        },
        Scenario { terms: elected, ..world("grants", grants(), pauses()) },
        Scenario {
            terms: elected,
            way: GRANTED,
            ..world("grants after a term", grants(), pauses())
        },
        Scenario {
            terms: elected,
            way: GRANTED,
            ..world("grants, preferences", More { prefers: true, ..grants() }, pauses())
        },
        Scenario {
            terms: elected,
            ..world("grants, late writes", grants(), Rules { late_writes: 1, ..pauses() })
        },
        Scenario {
            terms: elected,
            one_identity: true,
            ..world("grants under one identity", grants(), Rules { restarts: 1, ..pauses() })
        },
        Scenario {
            terms: elected,
            other: Some(Terms { manner: Manner::Alone, ..terms }),
            ..world("grants beside one that elects alone", grants(), pauses())
        },
        Scenario {
            terms: elected,
            other: Some(terms),
            ..world("grants beside one of the ordinary kind", grants(), pauses())
        },
        Scenario {
            terms: elected,
            ..world("a controller that comes and goes", More { flaps: true, ..grants() }, pauses())
        },
        Scenario {
            terms: elected,
            ..world("grants and deletions", grants(), Rules { deletions: true, ..pauses() })
        },
        Scenario {
            terms: elected,
            way: MADE_AGAIN,
            ..world("grants after a deletion", grants(), Rules { deletions: true, ..pauses() })
        },
        Scenario {
            named_lives: true,
            ..world(
                "evidence",
                More { evidence: true, lands: true, ..More::default() },
                Rules { restarts: 1, late_writes: 1, ..pauses() },
            )
        },
        Scenario {
            named_lives: true,
            way: KILLED,
            ..world(
                "evidence of one who was killed",
                More { evidence: true, lands: true, ..More::default() },
                Rules { restarts: 1, ..pauses() },
            )
        },
        Scenario {
            named_lives: true,
            way: ASKED,
            ..world(
                "evidence that comes late",
                More { evidence: true, lands: true, ..More::default() },
                Rules { restarts: 1, ..pauses() },
            )
        },
    ]
}

/// Worlds that break an assumption (A2, A8): the search must find two leaders in each.
fn broken_assumptions() -> Vec<Scenario> {
    let world = |name, part, terms, rules| Scenario {
        name,
        all: None,
        part,
        terms,
        rules,
        other: None,
        way: &[],
        one_identity: false,
        named_lives: false,
    };
    let lies = More { evidence: true, lies: true, ..More::default() };
    // The clocks are off by a quarter, and the configuration allows a tenth.
    let drifts = Terms { lease: 6, drift_ppm: 100_000, ..terms() };
    let apart = Rules { tick: vec![SECOND * 3 / 2, SECOND * 5 / 2], ..pauses() };
    vec![
        world("evidence that lies", 60_000, terms(), Rules { more: lies, ..pauses() }),
        world("clocks that drift by more than is said", 400_000, drifts, apart),
    ]
}

pub(crate) fn play_all(effort: Effort, only: Option<&str>) -> ExitCode {
    let (mut states, mut bad) = (0, 0);
    for scenario in scenarios() {
        if only.is_some_and(|only| !scenario.name.contains(only)) {
            continue;
        }
        let found = play(&scenario, effort);
        states += found.states;
        let reach = if found.complete { "all" } else { "a part" };
        println!(
            "model: {:<44} {:>9} states ({reach}), {:>10} steps, {} deep",
            scenario.name, found.states, found.steps, found.depth
        );
        if let Some((way, wrong)) = found.wrong {
            bad += 1;
            for step in way {
                println!("    {step:?}");
            }
            println!("    {wrong}");
            if effort == Effort::Quick {
                break;
            }
        } else if !found.complete && scenario.is_whole(effort) {
            bad += 1;
        }
    }
    println!("model: {states} states, {bad} of the worlds go wrong");
    // Planted bugs are in the shipped rules, not in these.
    if cfg!(not(wq_plant)) && only.is_none() && bad == 0 && !client_go_splits() {
        println!("model: it does not see that client-go's rules split");
        return ExitCode::FAILURE;
    }
    if cfg!(not(wq_plant)) && only.is_none() {
        for scenario in broken_assumptions() {
            let overlaps =
                play(&scenario, Effort::Full).wrong.is_some_and(|(_, wrong)| is_overlap(&wrong));
            if !overlaps {
                println!("model: it does not see two leaders with {}", scenario.name);
                return ExitCode::FAILURE;
            }
        }
    }
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn play(scenario: &Scenario, effort: Effort) -> Found {
    let rules = &scenario.rules;
    let restart = |node: u8, lives: u8| {
        let name = if scenario.one_identity { "a" } else { ["a", "b", "c"][usize::from(node)] };
        let identity =
            if scenario.named_lives { format!("{name}{lives}") } else { name.to_owned() };
        let terms = scenario.other.filter(|_| node == 1).unwrap_or(scenario.terms);
        terms.elector(&identity, u64::from(node) * 10 + u64::from(lives))
    };
    let electors = (0..).zip(&rules.tick).map(|(node, _)| restart(node, 0));
    let mut start = World::new(electors);
    for step in scenario.way {
        start.step(rules, *step, &restart).expect("the way to where it starts is right");
    }
    // A lease, the waits after failures, and the wait for an event. The controller's own wait comes
    // on top.
    let more = if rules.more.grants { 14 } else { 8 };
    let patience =
        u32::try_from(scenario.other.unwrap_or(scenario.terms).lease + more).unwrap_or(u32::MAX);
    let look = |print: u64, world: &World<Ours>| -> Result<(), Wrong> {
        if print.is_multiple_of(64) { world.clone().settle(rules, patience) } else { Ok(()) }
    };
    explore(&Play { rules, start, restart: &restart, bound: effort.bound(scenario), look: &look })
}

/// Whether the search finds two leaders under client-go's rules. If it finds none there, it proves
/// nothing here.
fn client_go_splits() -> bool {
    let elector = |node: u8, _: u8| {
        ClientGo::new(if node == 0 { "a" } else { "b" }, SECOND * 6, SECOND * 4, SECOND)
    };
    let rules = Rules { punctual: Some(SECOND * 2), margin: Duration::ZERO, ..pauses() };
    let start = World::new([elector(0, 0), elector(1, 0)]);
    let found = explore(&Play {
        rules: &rules,
        start,
        restart: &elector,
        bound: 1_000_000,
        look: &|_, _| Ok(()),
    });
    found.wrong.is_some_and(|(_, wrong)| is_overlap(&wrong))
}

fn is_overlap(wrong: &Wrong) -> bool {
    wrong.0.contains("lead at the same time") || wrong.0.contains("takes the lease while")
}
