//! The run's frame: signals, the time limit, progress, the report, and that nothing stays behind.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use crate::act::Act;
use crate::autopsy::autopsy;
use crate::cli::{self, Options};
use crate::keep::{Kept, PROXIES};
use crate::logs;
use crate::plan::{Ask, Plan};
use crate::progress::{Progress, Standing};
use crate::record::Record;
use crate::replica;
use crate::report::{Report, json_of_failure, word};
use crate::stage::{Refusal, Stage};
use crate::venue::Venue;

/// How often progress is shown.
const FRAME: Duration = Duration::from_millis(150);
/// What a late run may still take to find out what is stuck.
const AUTOPSY: Duration = Duration::from_secs(10);
/// Findings shown to people; machines get all.
const SHOWN: usize = 20;

/// The signals that end a run, and the exit status each stands for (128 and its number, as shells
/// have it).
struct Signals([(Signal, u8); 3]);

impl Signals {
    fn install() -> std::io::Result<Self> {
        let on = |kind: SignalKind, status| Ok::<_, std::io::Error>((signal(kind)?, status));
        Ok(Self([
            on(SignalKind::interrupt(), 130)?,
            on(SignalKind::terminate(), 143)?,
            on(SignalKind::hangup(), 129)?,
        ]))
    }

    /// Cancel safe.
    async fn any(&mut self) -> u8 {
        let [(interrupt, i), (terminate, t), (hangup, h)] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => *i,
            _ = terminate.recv() => *t,
            _ = hangup.recv() => *h,
        }
    }
}

/// How the act ended.
enum Ended {
    Played(Box<anyhow::Result<Report>>),
    Late,
    Signalled(u8),
}

/// The end of a run, before everything is cleared away.
enum Outcome {
    /// Flags or surroundings do not fit.
    Refused,
    /// A signal ended it; the exit status.
    Stopped(u8),
    Judged(Box<Report>),
    /// It could not be judged; the reason.
    Failed(String),
}

/// Runs the demo.
pub(crate) fn main(options: Options) -> ExitCode {
    // The main thread starts the processes: their leashes hold while it lives.
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return cli::refuse(&format!("cannot start a runtime: {error}")),
        };
    let status = runtime.block_on(run(&options));
    runtime.shutdown_background();
    status
}

async fn run(options: &Options) -> ExitCode {
    // Before the first file and the first process.
    let mut signals = match Signals::install() {
        Ok(signals) => signals,
        Err(error) => return cli::refuse(&format!("cannot listen to signals: {error}")),
    };
    let mut stage = match Stage::new() {
        Ok(stage) => stage,
        Err(refusal) => return cli::refuse(&refusal.to_string()),
    };
    let progress = Progress::new(options.json);
    let venue = Venue::new(options.engine.clone());
    let plan = Plan::draw(Ask { claims: options.claims, seed: options.seed });
    let plan = Arc::new(plan.prefixed(&venue.prefix()));
    let record = Arc::new(Record::new());
    progress
        .say(&format!("seed        {} (--seed {} repeats the plan)", options.seed, options.seed));

    let served = tokio::select! {
        biased;
        status = signals.any() => Err(status),
        served = stage.serve(options, &venue, &progress) => Ok(served),
    };
    let outcome = match served {
        Err(status) => Outcome::Stopped(status),
        Ok(Err(error)) => {
            progress.finish();
            failed(&error, &stage, &record)
        }
        Ok(Ok(())) => {
            let outcome =
                played(options, &venue, &plan, &record, &mut stage, &progress, &mut signals).await;
            if options.keep && matches!(outcome, Outcome::Judged(_) | Outcome::Failed(_)) {
                let status = conclude(options, &venue, &progress, &outcome, Ok(()));
                keep(options, &venue, &mut stage, &mut signals).await;
                Outcome::Stopped(status)
            } else {
                outcome
            }
        }
    };
    let cleared = clear(stage, &venue, &progress, &mut signals).await;
    progress.finish();
    ExitCode::from(conclude(options, &venue, &progress, &outcome, cleared))
}

/// Plays the act on a server that is ready, within the time limit.
async fn played(
    options: &Options,
    venue: &Venue,
    plan: &Arc<Plan>,
    record: &Arc<Record>,
    stage: &mut Stage,
    progress: &Progress,
    signals: &mut Signals,
) -> Outcome {
    let act = Act { options, venue, plan, record, stage, progress, tasks: JoinSet::new() };
    let ended = tokio::select! {
        biased;
        status = signals.any() => Ended::Signalled(status),
        report = act.play() => Ended::Played(Box::new(report)),
        () = tokio::time::sleep(options.timeout) => Ended::Late,
        () = show(progress, plan, record) => Ended::Late,
    };
    progress.finish();
    match ended {
        Ended::Signalled(status) => Outcome::Stopped(status),
        Ended::Played(report) => match *report {
            Ok(report) => judged(options, progress, stage, report, Vec::new()),
            Err(error) => failed(&error, stage, record),
        },
        Ended::Late => tokio::select! {
            biased;
            status = signals.any() => Outcome::Stopped(status),
            outcome = late(options, progress, stage, plan, record) => outcome,
        },
    }
}

/// Takes everything away. That may take a while on a cluster of the user's: there, another signal
/// cuts it short.
async fn clear(
    stage: Stage,
    venue: &Venue,
    progress: &Progress,
    signals: &mut Signals,
) -> Result<(), String> {
    let Some(left) = venue.remedy() else { return stage.clear(venue, progress).await };
    tokio::select! {
        cleared = stage.clear(venue, progress) => cleared,
        _ = signals.any() => Err(format!("cut short; {left}")),
    }
}

/// Shows progress for ever.
async fn show(progress: &Progress, plan: &Plan, record: &Record) {
    let mut frames = tokio::time::interval(FRAME);
    loop {
        frames.tick().await;
        let (counts, samples) = (record.counts(), record.samples());
        progress.show(&Standing {
            phase: record.phase(),
            claims: plan.claims.len(),
            created: record.created_count(),
            bound: counts.bound,
            deletions: plan.deletions.len(),
            deleted: counts.gone,
            leader: counts.leader,
            depth: (!samples.is_empty()).then(|| {
                samples.values().fold(0_u64, |sum, sample| sum.saturating_add(sample.depth))
            }),
            retries: samples.values().fold(0_u64, |sum, sample| sum.saturating_add(sample.retries)),
        });
    }
}

/// Shows the figures, then each failure: what the run waits for, and the judge's findings.
fn judged(
    options: &Options,
    progress: &Progress,
    stage: &Stage,
    report: Report,
    waiting: Vec<String>,
) -> Outcome {
    if !options.json {
        progress.print(&format!("\n{}\n", report.tables()));
    }
    let findings = &report.verdict.findings;
    let mut failures = waiting;
    failures.extend(findings.iter().take(SHOWN).map(ToString::to_string));
    show_failures(stage, &failures);
    if findings.len() > SHOWN {
        complain(&format!("and {} more findings", findings.len().saturating_sub(SHOWN)));
    }
    if !findings.is_empty() {
        if options.sabotage.is_some() {
            complain("--sabotage planted a wrong outcome: this run must fail");
        } else if !options.keep {
            complain(&format!("to look at server, files and logs: --seed {} --keep", options.seed));
        }
    }
    Outcome::Judged(Box::new(report))
}

/// Says why the run could not be played to its end.
fn failed(error: &anyhow::Error, stage: &Stage, record: &Record) -> Outcome {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        let _ = cli::refuse(&refusal.0);
        return Outcome::Refused;
    }
    unjudged(stage, format!("failed while {}: {error:#}", record.phase()))
}

/// Says why the run cannot be judged.
fn unjudged(stage: &Stage, why: String) -> Outcome {
    show_failures(stage, std::slice::from_ref(&why));
    Outcome::Failed(why)
}

/// Ends a run at its time limit: says what it waits for, and judges its present state.
async fn late(
    options: &Options,
    progress: &Progress,
    stage: &Stage,
    plan: &Plan,
    record: &Record,
) -> Outcome {
    let limit = humantime::format_duration(options.timeout);
    let stuck = format!("not done after --timeout {limit}; stuck while {}", record.phase());
    match tokio::time::timeout(AUTOPSY, autopsy(options, stage, plan, record)).await {
        Ok(Ok((mut waiting, report))) => {
            waiting.insert(0, stuck);
            judged(options, progress, stage, report, waiting)
        }
        Ok(Err(error)) => unjudged(stage, format!("{stuck}; cannot say more: {error:#}")),
        Err(_) => unjudged(stage, format!("{stuck}; cannot say more: the server does not answer")),
    }
}

/// Leaves all as it is until a signal comes.
async fn keep(options: &Options, venue: &Venue, stage: &mut Stage, signals: &mut Signals) {
    let running = stage.running();
    let (dir, root) = (stage.dir(), stage.root());
    let stopped = (0..options.replicas).map(replica::name).find(|name| !running.contains(name));
    let start = stopped.map(|name| {
        let binary = std::path::absolute(&options.provisioner)
            .unwrap_or_else(|_| options.provisioner.clone());
        let mut words = vec![binary.to_string_lossy().into_owned()];
        words.extend(replica::arguments(&name, dir, &root, venue.lease()));
        words
    });
    let proxies: Vec<_> = PROXIES
        .into_iter()
        .filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
        .collect();
    let kept = Kept {
        dir,
        root: &root,
        url: &stage.url,
        running: &running,
        start: start.as_deref(),
        proxies: &proxies,
    };
    complain(&kept.instructions());
    signals.any().await;
}

/// Says the verdict, last of all; the exit status.
fn conclude(
    options: &Options,
    venue: &Venue,
    progress: &Progress,
    outcome: &Outcome,
    cleared: Result<(), String>,
) -> u8 {
    let is_clear = cleared.is_ok();
    if let Err(left) = cleared {
        complain(&left);
    }
    let has_passed =
        is_clear && matches!(outcome, Outcome::Judged(report) if report.verdict.all_well());
    let document = match outcome {
        Outcome::Refused if is_clear => return cli::BAD_INPUT,
        Outcome::Stopped(status) if is_clear => {
            complain(venue.cleared());
            return *status;
        }
        Outcome::Refused | Outcome::Stopped(_) => None,
        Outcome::Judged(report) => {
            if !options.json {
                progress.print(&report.summary());
            }
            Some(report.json(has_passed))
        }
        Outcome::Failed(why) => Some(json_of_failure(options.seed, why)),
    };
    if let Some(document) = document.filter(|_| options.json) {
        let _ = writeln!(std::io::stdout(), "{document}");
    }
    progress.print(word(has_passed));
    u8::from(!has_passed)
}

/// The log lines that concern these failures, then the failures.
fn show_failures(stage: &Stage, failures: &[String]) {
    for log in logs::concerning(&stage.logs(), failures) {
        complain(&format!("from the log of {}:\n{}", log.name, log.text));
    }
    for failure in failures {
        complain(failure);
    }
}

fn complain(words: &str) {
    let _ = writeln!(std::io::stderr(), "demo: {words}");
}
