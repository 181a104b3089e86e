//! The run's frame: signals, the time limit, progress, the report, and that nothing stays behind.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::Api;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use crate::act::Act;
use crate::cli::{self, Options};
use crate::evidence::Scene;
use crate::judge::{Finding, Harm};
use crate::plan::{Ask, Plan};
use crate::progress::{Progress, Standing};
use crate::record::Record;
use crate::report::Report;
use crate::serve::{JUDGE, VISITOR, kubeconfig};
use crate::stage::{Refusal, Stage};
use crate::venue::Venue;

/// How often progress is shown.
const FRAME: Duration = Duration::from_millis(150);
/// What a late run may still take to find out what is stuck.
const AUTOPSY: Duration = Duration::from_secs(10);
/// Findings shown to people; machines get all.
const SHOWN: usize = 20;

/// The signals that end a run, and the exit status each stands for (128 and its number, as shells have it).
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

/// Runs the demo.
pub(crate) fn main(options: Options) -> ExitCode {
    // The main thread is the one that starts processes: their leashes hold while it lives.
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
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
    progress.say(&format!("seed        {} (--seed {} repeats the plan)", options.seed, options.seed));

    let served = tokio::select! {
        biased;
        status = signals.any() => Err(status),
        served = stage.serve(options, &venue, &progress) => Ok(served),
    };
    let status = match served {
        Err(status) => status,
        Ok(Err(error)) => {
            progress.finish();
            fail(&error, &stage, &record)
        }
        Ok(Ok(())) => played(options, &venue, &plan, &record, &mut stage, &progress, &mut signals).await,
    };
    let cleared = clear(stage, &venue, &progress, &mut signals).await;
    progress.finish();
    if let Err(left) = cleared {
        complain(&left);
        return ExitCode::FAILURE;
    }
    ExitCode::from(status)
}

/// Plays the act on a server that is ready, within the time limit; the exit status it stands for.
async fn played(
    options: &Options,
    venue: &Venue,
    plan: &Arc<Plan>,
    record: &Arc<Record>,
    stage: &mut Stage,
    progress: &Progress,
    signals: &mut Signals,
) -> u8 {
    let act = Act { options, venue, plan, record, stage, progress, tasks: JoinSet::new() };
    let ended = tokio::select! {
        biased;
        status = signals.any() => Ended::Signalled(status),
        report = act.play() => Ended::Played(Box::new(report)),
        () = tokio::time::sleep(options.timeout) => Ended::Late,
        () = show(progress, plan, record) => Ended::Late,
    };
    progress.finish();
    let status = match ended {
        Ended::Signalled(status) => status,
        Ended::Played(report) => match *report {
            Ok(report) => tell(options, progress, stage, &report),
            Err(error) => fail(&error, stage, record),
        },
        Ended::Late => tokio::select! {
            biased;
            status = signals.any() => status,
            status = late(options, progress, stage, plan, record) => status,
        },
    };
    if options.keep && status < 2 { keep(progress, stage, signals, status).await } else { status }
}

/// Takes everything away. That may take a while on a cluster of the user's: there, another signal cuts it short.
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
            depth: (!samples.is_empty())
                .then(|| samples.values().fold(0_u64, |sum, sample| sum.saturating_add(sample.depth))),
            retries: samples.values().fold(0_u64, |sum, sample| sum.saturating_add(sample.retries)),
        });
    }
}

/// Prints the report; the exit status it stands for.
fn tell(options: &Options, progress: &Progress, stage: &Stage, report: &Report) -> u8 {
    let well = report.verdict.all_well();
    if !well {
        findings(&report.verdict.findings);
        tails(stage);
    }
    if options.json {
        let _ = writeln!(std::io::stdout(), "{}", report.json());
    } else {
        progress.print(&format!("\n{}\n\n{}", report.tables(), report.summary()));
    }
    u8::from(!well)
}

/// Says why the run could not be played to its end; the exit status that stands for.
fn fail(error: &anyhow::Error, stage: &Stage, record: &Record) -> u8 {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        let _ = cli::refuse(&refusal.0);
        return cli::BAD_INPUT;
    }
    complain(&format!("failed while {}: {error:#}", record.phase()));
    tails(stage);
    1
}

/// Time is up: says what is stuck, and judges what there is.
async fn late(options: &Options, progress: &Progress, stage: &Stage, plan: &Plan, record: &Record) -> u8 {
    let limit = humantime::format_duration(options.timeout);
    complain(&format!("not done after --timeout {limit}; stuck while {}", record.phase()));
    let autopsy = async {
        let client = stage.client(JUDGE)?;
        waiting(&client, plan, record).await?;
        let late = Finding {
            harm: Harm::Replica,
            subject: "run".to_owned(),
            what: format!("not done after {limit}"),
        };
        let root = stage.root();
        let Options { seed, replicas, .. } = *options;
        let engine = &stage.engine;
        Scene { client: &client, root: &root, plan, record, seed, replicas, engine }.report(vec![late]).await
    };
    match tokio::time::timeout(AUTOPSY, autopsy).await {
        Ok(Ok(report)) => {
            tell(options, progress, stage, &report);
        }
        Ok(Err(error)) => {
            complain(&format!("cannot say more: {error:#}"));
            tails(stage);
        }
        Err(_) => {
            complain("cannot say more: the server does not answer");
            tails(stage);
        }
    }
    1
}

/// Names some claims that still wait, and why they do by their annotations.
async fn waiting(client: &kube::Client, plan: &Plan, record: &Record) -> anyhow::Result<()> {
    let claims =
        Api::<PersistentVolumeClaim>::all(client.clone()).list(&kube::api::ListParams::default()).await?;
    let bound = |claim: &PersistentVolumeClaim| {
        claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
    };
    let going = |claim: &PersistentVolumeClaim| claim.metadata.deletion_timestamp.is_some();
    let ours = |claim: &PersistentVolumeClaim| {
        plan.has_namespace(claim.metadata.namespace.as_deref().unwrap_or_default())
    };
    let stuck: Vec<_> =
        claims.items.iter().filter(|claim| ours(claim) && (!bound(claim) || going(claim))).collect();
    let counts = record.counts();
    complain(&format!(
        "{} claims wait or will not go; leader {}; {} bound, {} gone, {} volumes",
        stuck.len(),
        counts.leader.as_deref().unwrap_or("none"),
        counts.bound,
        counts.gone,
        counts.volumes
    ));
    for claim in stuck.into_iter().take(5) {
        let meta = &claim.metadata;
        let why = meta
            .annotations
            .iter()
            .flatten()
            .filter(|(key, _)| key.contains("waiting"))
            .map(|(_, value)| value.as_str());
        complain(&format!(
            "  {}/{}{}: {}",
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default(),
            if going(claim) { " (being deleted)" } else { "" },
            why.collect::<Vec<_>>().join(": ")
        ));
    }
    Ok(())
}

/// Leaves all as it is until a signal comes.
async fn keep(progress: &Progress, stage: &Stage, signals: &mut Signals, status: u8) -> u8 {
    let config = kubeconfig(stage.dir(), VISITOR);
    complain(&format!(
        "the server stays up until Ctrl-C; look around:\n  kubectl --kubeconfig {} get pvc,pv -A\n  curl {}/embedded/requests   (with the token of that file)\n  ls -R {}\n  less {}/replica-*.log",
        config.display(),
        stage.url.trim_end_matches('/'),
        stage.root().display(),
        stage.dir().display(),
    ));
    signals.any().await;
    progress.finish();
    status
}

fn findings(all: &[Finding]) {
    for finding in all.iter().take(SHOWN) {
        complain(&finding.to_string());
    }
    if all.len() > SHOWN {
        complain(&format!("and {} more findings", all.len().saturating_sub(SHOWN)));
    }
}

fn tails(stage: &Stage) {
    for (name, tail) in stage.tails() {
        complain(&format!("the end of the log of {name}:\n{tail}"));
    }
}

fn complain(words: &str) {
    let _ = writeln!(std::io::stderr(), "demo: {words}");
}
