//! What the real API server does, as cases that run against it and against the embedded one: the
//! list, and how it is run.
//!
//! A case asserts what the *real* server was seen to do; it is the authority. Where the embedded
//! server does something else, the case says what and why ([`Case::difference`]), and a second
//! check pins exactly that: a difference that went away, or became another one, fails as loudly as
//! one nobody stated.

mod answer;
mod objects;
mod page;
mod target;
mod waiting;
mod seen;
mod must_haves;
mod refusals;

mod access;
mod apply;
mod collecting;
mod apps;
mod collections;
mod continuing;
mod custom;
mod definitions;
mod deletes;
mod discovery;
mod entrances;
mod events;
mod expressions;
mod faults;
mod finalizers;
mod found;
mod found_typed;
mod following;
mod hostile;
mod lifecycles;
mod jobs;
mod kinds;
mod lists;
mod media;
mod managed;
mod metadata;
mod names;
mod namespaces;
mod nodes;
mod patches;
mod paths;
mod reviews;
mod rules;
mod schemas;
mod pods;
mod rbac_kinds;
mod selectors;
mod services;
mod shapes;
mod statuses;
mod storage;
mod stored_json;
mod verbs;
mod verdicts;
mod versions;
mod watches;
mod workloads;
mod writes;

use std::collections::BTreeSet;
use std::panic::Location;

use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt};

pub(crate) use crate::conformance::answer::text;
pub(crate) use crate::conformance::target::{APPLY, JSON_PATCH, MERGE, STRATEGIC};

pub use crate::conformance::answer::Answer;
pub use crate::conformance::must_haves::{MUST_HAVES, MustHave};
pub use crate::conformance::page::{page, support};
pub use crate::conformance::refusals::{REFUSALS, Refusal};
pub use crate::conformance::seen::{Sight, Verb};
pub use crate::conformance::target::{Lines, Server, Target};

/// What a case found: nothing, or how the answer differs from what was expected.
pub type Outcome = Result<(), String>;

type Assertion = Box<dyn for<'a> Fn(&'a Target) -> LocalBoxFuture<'a, Outcome>>;

/// One rule of the API, and how to see it.
pub struct Case {
    /// The file it is in: what it is about.
    pub group: &'static str,
    /// The rule's name, unique in the group.
    pub name: &'static str,
    /// The rule, in one sentence.
    pub rule: &'static str,
    /// Where it is written.
    pub place: &'static Location<'static>,
    run: Assertion,
    difference: Option<(&'static str, Assertion)>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("name", &self.full_name()).finish_non_exhaustive()
    }
}

/// A case; `run` asserts what the real server does.
#[track_caller]
pub fn case<F>(name: &'static str, rule: &'static str, run: F) -> Case
where
    F: for<'a> AsyncFn(&'a Target) -> Outcome + Copy + 'static,
{
    Case { group: "", name, rule, place: Location::caller(), run: boxed(run), difference: None }
}

fn boxed<F>(run: F) -> Assertion
where
    F: for<'a> AsyncFn(&'a Target) -> Outcome + Copy + 'static,
{
    Box::new(move |target| async move { run(target).await }.boxed_local())
}

impl Case {
    /// States that the embedded server does something else: how and why, and a check of exactly
    /// that.
    #[must_use]
    pub fn differs<F>(mut self, how: &'static str, embedded: F) -> Self
    where
        F: for<'a> AsyncFn(&'a Target) -> Outcome + Copy + 'static,
    {
        self.difference = Some((how, boxed(embedded)));
        self
    }

    /// `group::name`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.group, self.name)
    }

    /// How and why the embedded server differs, if it does.
    #[must_use]
    pub fn difference(&self) -> Option<&'static str> {
        self.difference.as_ref().map(|(how, _)| *how)
    }
}

/// Every case, group by group.
#[must_use]
pub fn cases() -> Vec<Case> {
    let groups = [
        ("writes", writes::cases()),
        ("versions", versions::cases()),
        ("names", names::cases()),
        ("metadata", metadata::cases()),
        ("statuses", statuses::cases()),
        ("patches", patches::cases()),
        ("apply", apply::cases()),
        ("managed", managed::cases()),
        ("deletes", deletes::cases()),
        ("finalizers", finalizers::cases()),
        ("collections", collections::cases()),
        ("lists", lists::cases()),
        ("continuing", continuing::cases()),
        ("selectors", selectors::cases()),
        ("watches", watches::cases()),
        ("following", following::cases()),
        ("media", media::cases()),
        ("discovery", discovery::cases()),
        ("entrances", entrances::cases()),
        ("hostile", hostile::cases()),
        ("paths", paths::cases()),
        ("namespaces", namespaces::cases()),
        ("lifecycles", lifecycles::cases()),
        ("collecting", collecting::cases()),
        ("storage", storage::cases()),
        ("events", events::cases()),
        ("workloads", workloads::cases()),
        ("pods", pods::cases()),
        ("apps", apps::cases()),
        ("jobs", jobs::cases()),
        ("services", services::cases()),
        ("nodes", nodes::cases()),
        ("rbac_kinds", rbac_kinds::cases()),
        ("custom", custom::cases()),
        ("access", access::cases()),
        ("reviews", reviews::cases()),
        ("definitions", definitions::cases()),
        ("shapes", shapes::cases()),
        ("schemas", schemas::cases()),
        ("rules", rules::cases()),
        ("verdicts", verdicts::cases()),
        ("expressions", expressions::cases()),
        ("verbs", verbs::cases()),
        ("kinds", kinds::cases()),
        ("faults", faults::cases()),
        ("found", found::cases()),
        ("found_typed", found_typed::cases()),
        ("stored_json", stored_json::cases()),
    ];
    let named = |(group, cases): (&'static str, Vec<Case>)| {
        cases.into_iter().map(move |case| Case { group, ..case })
    };
    groups.into_iter().flat_map(named).collect()
}

/// Which server the cases run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `embedded-apiserver`: stated differences are checked as they are stated.
    Embedded,
    /// kube-apiserver and etcd.
    Real,
}

/// A case that failed.
#[derive(Debug)]
pub struct Failure {
    /// `group::name`.
    pub name: String,
    /// The rule that does not hold.
    pub rule: &'static str,
    /// The file and the line of the case.
    pub place: String,
    /// What was expected and what came.
    pub why: String,
}

/// What became of a run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Run {
    /// How many cases ran.
    pub ran: usize,
    /// Those that failed, by name.
    pub failures: Vec<Failure>,
    /// What the cases saw that passed, and in which the servers do not differ.
    pub sights: BTreeSet<Sight>,
}

impl Run {
    /// How many cases passed.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.ran - self.failures.len()
    }
}

/// Runs the cases whose full name contains `filter`, `at_once` at a time.
///
/// # Cancel safety
///
/// A dropped run leaves its namespaces behind on the server.
pub async fn run(server: &Server, side: Side, filter: &str, at_once: usize) -> Run {
    let cases: Vec<_> =
        cases().into_iter().filter(|case| case.full_name().contains(filter)).collect();
    let ran = cases.len();
    let outcomes = futures::stream::iter(cases).map(|case| async move {
        let outcome = run_one(server, side, &case).await;
        outcome.map_err(|why| {
            let place = format!("{}:{}", case.place.file(), case.place.line());
            Failure { name: case.full_name(), rule: case.rule, place, why }
        })
    });
    let outcomes: Vec<_> = outcomes.buffer_unordered(at_once).collect().await;
    server.clean_up().await;
    let mut run = Run { ran, ..Run::default() };
    for outcome in outcomes {
        match outcome {
            Ok(sights) => run.sights.extend(sights),
            Err(failure) => run.failures.push(failure),
        }
    }
    run.failures.sort_by(|a, b| a.name.cmp(&b.name));
    run
}

/// Prints which cases failed and why, and how many ran.
#[expect(clippy::print_stdout, reason = "the report of a test")]
pub fn report(server: &str, run: &Run) {
    for failure in &run.failures {
        println!(
            "{} ({})\n  rule: {}\n  {}",
            failure.name, failure.place, failure.rule, failure.why
        );
    }
    let differing = cases().iter().filter(|case| case.difference().is_some()).count();
    println!(
        "conformance on {server}: {} cases ran, {} passed; {differing} known differences of the embedded server",
        run.ran,
        run.passed()
    );
}

/// How many cases failed, and the commands that run each of them alone: what the output of a failed
/// run ends with. `test` names the test, as the arguments of cargo that follow the package.
#[must_use]
pub fn verdict<'a>(failures: impl IntoIterator<Item = &'a Failure>, test: &str) -> String {
    let commands: BTreeSet<String> = failures
        .into_iter()
        .map(|Failure { name, place, .. }| {
            format!(
                "CONFORMANCE_FILTER={name} cargo test -p verify {test} -- --nocapture    # {place}"
            )
        })
        .collect();
    let lines: String = commands.iter().map(|command| format!("\n{command}")).collect();
    format!("{} cases failed; each alone:{lines}", commands.len())
}

/// Runs one case on a server; what it saw of the answers, or why it failed.
pub async fn run_one(server: &Server, side: Side, case: &Case) -> Result<BTreeSet<Sight>, String> {
    let difference = case.difference.as_ref().filter(|_| side == Side::Embedded);
    let Some((how, embedded)) = difference else {
        return in_a_namespace(server, &case.run).await;
    };
    if in_a_namespace(server, &case.run).await.is_ok() {
        return Err(format!("it is the same now, and is said to differ: {how}"));
    }
    let outcome = in_a_namespace(server, embedded).await;
    outcome.map_err(|why| format!("it differs otherwise than stated ({how}): {why}"))?;
    Ok(BTreeSet::new())
}

async fn in_a_namespace(server: &Server, run: &Assertion) -> Result<BTreeSet<Sight>, String> {
    let target = server.target().await?;
    // A panic is the failure of one case, not of the run.
    let running = std::panic::AssertUnwindSafe(run(&target)).catch_unwind();
    // What it waits for in the first half fails by its own name.
    let longest = waiting::PATIENCE * 2;
    let outcome = match tokio::time::timeout(longest, running).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err("it panics".to_owned()),
        Err(_) => Err(format!("it did not end within {} s", longest.as_secs())),
    };
    let sights = target.take_sights();
    server.give_back(target, outcome.is_ok()).await;
    outcome.map(|()| sights)
}
