//! The table of stages, in the order in which they run: cheap and telling first.

use crate::instructions::VALGRIND;
use crate::miri::MIRI;
use crate::planted::judge as plant;
use crate::real::CONTROL_PLANE;
use crate::release::{CARGO_DENY, GO, WASM};
use crate::schedules::{ELECTION as ELECTOR, QUEUES as QUEUE_CRATES};
use crate::stage::{Area, Stage, Tier};
use crate::{
    demo, election, gates, instructions, lint, loom, miri, real, release, searches, suite,
};

const CHANGE: Tier = Tier::Change;
const QUEUES: Tier = Tier::Full(&[Area::Queues]);
const ELECTION: Tier = Tier::Full(&[Area::Election]);
const SERVER: Tier = Tier::Full(&[Area::Server]);
const E2E: Tier = Tier::Full(&[Area::E2e]);
const SERVER_AND_E2E: Tier = Tier::Full(&[Area::Server, Area::E2e]);
const RELEASE: Tier = Tier::Full(&[Area::Release]);

/// Tier, name, question, usual seconds, what it does.
pub(crate) const STAGES: &[Stage] = &[
    Stage::new(CHANGE, "fmt", "is the code formatted?", 10, lint::fmt),
    Stage::new(CHANGE, "clippy", "all targets, all features, warnings denied", 240, lint::clippy),
    Stage::new(
        CHANGE,
        "doc",
        "do all pages build and all links hold, private ones too?",
        90,
        lint::doc,
    ),
    Stage::new(
        CHANGE,
        "test",
        "tests, doctests, examples, the shape of the tree",
        400,
        suite::stage,
    ),
    Stage::new(CHANGE, "demo", "does the whole thing work?", 90, demo::stage),
    Stage::new(QUEUES, "model", "do the queues do what naive oracles do?", 300, searches::model),
    Stage::new(
        QUEUES,
        "loom",
        "is every schedule of small scenarios right?",
        150,
        |workspace, deadline| loom::play(workspace, &QUEUE_CRATES, deadline),
    ),
    Stage::new(
        QUEUES,
        "shuttle",
        "are random schedules of large ones right?",
        200,
        searches::shuttle,
    ),
    Stage::new(
        QUEUES,
        "histories",
        "does one order explain real threads?",
        180,
        searches::histories,
    ),
    Stage::new(QUEUES, "miri", "do tests do nothing undefined?", 300, miri::stage).with(&[MIRI]),
    Stage::new(QUEUES, "instructions", "are operations within budget?", 150, instructions::stage)
        .with(&[VALGRIND]),
    Stage::new(
        QUEUES,
        "planted",
        "do two kinds of checks see each bug?",
        300,
        |workspace, deadline| plant(workspace, &QUEUE_CRATES, deadline),
    ),
    Stage::new(ELECTION, "election", "has no state and no seed two leaders?", 700, election::stage),
    Stage::new(
        ELECTION,
        "terms",
        "is every schedule of a term right?",
        150,
        |workspace, deadline| loom::play(workspace, &[ELECTOR], deadline),
    ),
    Stage::new(
        ELECTION,
        "planted-election",
        "do two kinds see each bug?",
        300,
        |workspace, deadline| plant(workspace, &[ELECTOR], deadline),
    ),
    Stage::new(
        SERVER_AND_E2E,
        "programs",
        "does the real control plane build?",
        600,
        real::programs,
    )
    .with(&[CONTROL_PLANE]),
    Stage::new(
        SERVER,
        "conformance",
        "does our server answer as the real one?",
        200,
        real::conformance,
    )
    .with(&[CONTROL_PLANE]),
    Stage::new(
        SERVER,
        "properties",
        "do properties hold in many cases?",
        600,
        searches::properties,
    ),
    Stage::new(
        E2E,
        "sabotage",
        "does the demo's judge see each planted wrong?",
        90,
        demo::sabotage,
    ),
    Stage::new(E2E, "processes", "do real processes keep the promises?", 200, searches::processes),
    Stage::new(
        E2E,
        "real",
        "does all hold on a real control plane, with client-go?",
        400,
        real::real,
    )
    .with(&[CONTROL_PLANE]),
    Stage::new(RELEASE, "features", "does each feature compile alone?", 300, release::features),
    Stage::new(
        RELEASE,
        "wasm",
        "does wq-core compile without an operating system?",
        30,
        release::wasm,
    )
    .with(&[WASM]),
    Stage::new(
        RELEASE,
        "package",
        "does each crate build from its package?",
        300,
        release::package,
    ),
    Stage::new(RELEASE, "deny", "licences, bans, sources of dependencies", 30, release::deny)
        .with(&[CARGO_DENY]),
    Stage::new(RELEASE, "actionlint", "are the workflows valid?", 60, release::actionlint)
        .with(&[GO]),
    Stage::new(Tier::Named, "gates", "is every goal of gates.toml met?", 1800, gates::stage)
        .with(&[CONTROL_PLANE]),
];
