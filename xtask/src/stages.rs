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

/// Each has a tier, a name, a question, its usual seconds and what it does.
pub(crate) const STAGES: &[Stage] = &[
    CHANGE.stage("fmt", "is the code formatted?", 10, lint::fmt),
    CHANGE.stage("clippy", "all targets, all features, warnings denied", 240, lint::clippy),
    CHANGE.stage("doc", "do all pages build and all links hold, private ones too?", 90, lint::doc),
    CHANGE.stage("test", "tests, doctests, examples, the shape of the tree", 400, suite::stage),
    CHANGE.stage("demo", "does the whole thing work?", 90, demo::stage),
    QUEUES.stage("model", "do the queues do what naive oracles do?", 300, searches::model),
    QUEUES.stage(
        "loom",
        "is every schedule of small scenarios right?",
        150,
        |workspace, deadline| loom::play(workspace, &QUEUE_CRATES, deadline),
    ),
    QUEUES.stage("shuttle", "are random schedules of large ones right?", 200, searches::shuttle),
    QUEUES.stage("histories", "does one order explain real threads?", 180, searches::histories),
    QUEUES.stage("miri", "do tests do nothing undefined?", 300, miri::stage).with(&[MIRI]),
    QUEUES
        .stage("instructions", "are operations within budget?", 150, instructions::stage)
        .with(&[VALGRIND]),
    QUEUES.stage("planted", "do two kinds of checks see each bug?", 300, |workspace, deadline| {
        plant(workspace, &QUEUE_CRATES, deadline)
    }),
    ELECTION.stage("election", "has no state and no seed two leaders?", 700, election::stage),
    ELECTION.stage("terms", "is every schedule of a term right?", 150, |workspace, deadline| {
        loom::play(workspace, &[ELECTOR], deadline)
    }),
    ELECTION.stage("planted-election", "do two kinds see each bug?", 300, |workspace, deadline| {
        plant(workspace, &[ELECTOR], deadline)
    }),
    SERVER_AND_E2E
        .stage("programs", "does the real control plane build?", 600, real::programs)
        .with(&[CONTROL_PLANE]),
    SERVER
        .stage("conformance", "does our server answer as the real one?", 200, real::conformance)
        .with(&[CONTROL_PLANE]),
    SERVER.stage("properties", "do properties hold in many cases?", 600, searches::properties),
    E2E.stage("sabotage", "does the demo's judge see each planted wrong?", 90, demo::sabotage),
    E2E.stage("processes", "do real processes keep the promises?", 200, searches::processes),
    E2E.stage("real", "does all hold on a real control plane, with client-go?", 400, real::real)
        .with(&[CONTROL_PLANE]),
    RELEASE.stage("features", "does each feature compile alone?", 300, release::features),
    RELEASE
        .stage("wasm", "does wq-core compile without an operating system?", 30, release::wasm)
        .with(&[WASM]),
    RELEASE.stage("package", "does each crate build from its package?", 300, release::package),
    RELEASE
        .stage("deny", "licences, bans, sources of dependencies", 30, release::deny)
        .with(&[CARGO_DENY]),
    RELEASE.stage("actionlint", "are the workflows valid?", 60, release::actionlint).with(&[GO]),
    Tier::Named
        .stage("gates", "is every goal of gates.toml met?", 3000, gates::stage)
        .with(&[CONTROL_PLANE]),
];
