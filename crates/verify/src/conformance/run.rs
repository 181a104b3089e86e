//! A run of cases on a server, and its report.

use std::collections::BTreeSet;

use futures::{FutureExt as _, StreamExt as _};

use crate::conformance::case::{Assertion, Case};
use crate::conformance::seen::Sight;
use crate::conformance::suite::cases;
use crate::conformance::target::Server;
use crate::conformance::waiting::PATIENCE;

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
    let longest = PATIENCE * 2;
    let outcome = match tokio::time::timeout(longest, running).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err("it panics".to_owned()),
        Err(_) => Err(format!("it did not end within {} s", longest.as_secs())),
    };
    let sights = target.take_sights();
    server.give_back(target, outcome.is_ok()).await;
    outcome.map(|()| sights)
}
