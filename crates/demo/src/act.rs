//! What happens, in order: start, write, kill, stop, delete, spoil, judge.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use kube::Client;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::cli::Options;
use crate::clock;
use crate::disk;
use crate::evidence::Scene;
use crate::failover::{Ending, Signal, failover};
use crate::history::Counts;
use crate::judge::{Finding, Harm};
use crate::metrics;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::record::Record;
use crate::replica::{self, Replica};
use crate::report::Report;
use crate::requests;
use crate::sabotage;
use crate::serve::LATE;
use crate::stage::Stage;
use crate::users::{JUDGE, VISITOR, WRITER, kubeconfig};
use crate::venue::Venue;
use crate::watch;
use crate::writer::{Wish, Writer};

/// How often processes are looked at while waiting.
const LOOK: Duration = Duration::from_millis(100);
/// How often the replicas' metrics are read.
const SCRAPE: Duration = Duration::from_millis(500);

/// One run under way.
pub(crate) struct Act<'a> {
    pub(crate) options: &'a Options,
    pub(crate) venue: &'a Venue,
    pub(crate) plan: &'a Arc<Plan>,
    pub(crate) record: &'a Arc<Record>,
    pub(crate) stage: &'a mut Stage,
    pub(crate) progress: &'a Progress,
    /// Watches, scrapes and the writer; ended with this.
    pub(crate) tasks: JoinSet<anyhow::Result<()>>,
}

impl Act<'_> {
    /// The whole run. Cancel safe: dropped, it leaves a stage that can be cleared.
    pub(crate) async fn play(mut self) -> anyhow::Result<Report> {
        let (judge, writer) = self.set_up().await?;
        self.record.enter("electing");
        self.until("a first leader", |counts, _| counts.leader.is_some()).await?;

        self.record.enter("creating");
        let (wishes, wished) = mpsc::channel(1);
        self.tasks.spawn(writer.0.clone().write(self.options.rate, wished, writer.1));
        self.end_leader(Ending::Crash, self.plan.crash_at, &wishes, &judge).await?;
        self.end_leader(Ending::Handover, self.plan.handover_at, &wishes, &judge).await?;
        let _ = wishes.send(Wish::Rest).await;
        let all = self.plan.claims.len();
        self.until("every claim bound", |counts, created| created == all && counts.bound == all)
            .await?;

        // A late write of an earlier attempt could otherwise make a volume anew that was just taken
        // back with its claim: a real server can do that too, no client can prevent it, and
        // it is cleaned up, but it would look like a volume made twice.
        self.record.enter("settling");
        tokio::time::sleep(LATE.saturating_mul(2)).await;
        self.record.enter("deleting");
        writer.0.delete().await?;
        self.clean().await?;

        self.record.enter("judging");
        let unruly = self.stage.stop_replicas().await;
        let findings = unruly
            .into_iter()
            .map(|(subject, what)| Finding { harm: Harm::Replica, subject, what })
            .collect();
        let root = self.stage.root();
        if let Some(what) = self.options.sabotage {
            let client = self.stage.client(WRITER)?;
            let done =
                sabotage::plant(what, &client, &root, &self.names()).await.context("sabotage")?;
            self.progress.say(&format!("sabotage: {done}"));
        }
        let Options { seed, replicas, .. } = *self.options;
        let engine = &self.stage.engine;
        Scene {
            client: &judge,
            root: &root,
            plan: self.plan,
            record: self.record,
            seed,
            replicas,
            engine,
        }
        .report(findings)
        .await
    }

    /// Starts everything but the server, which is there; on return all replicas run, and everything
    /// is watched since before they did.
    async fn set_up(
        &mut self,
    ) -> anyhow::Result<(Client, (Writer, Vec<Option<crate::obstacle::Obstacle>>))> {
        self.progress.say(&format!("server      {} ({})", self.stage.url, self.stage.engine));
        self.progress
            .say(&format!("kubeconfig  {}", kubeconfig(self.stage.dir(), VISITOR).display()));
        let judge = self.stage.client(JUDGE)?;
        let writer = Writer::new(
            self.stage.client(WRITER)?,
            Arc::clone(self.plan),
            Arc::clone(self.record),
            self.options.seed,
        );
        writer.install(self.venue).await?;
        let (births, obstacles) = self.stage.lay_out(self.plan, self.record)?;
        let record = || Arc::clone(self.record);
        births.start().context("watching the disk")?;
        self.tasks.spawn(watch::claims(judge.clone(), Arc::clone(self.plan), record()));
        self.tasks.spawn(watch::volumes(judge.clone(), record()));
        let lease = self.venue.lease();
        self.tasks.spawn(watch::leader(
            judge.clone(),
            lease.namespace.to_owned(),
            lease.name,
            record(),
        ));
        self.stage.replicate(self.options, lease)?;
        for Replica { process, .. } in &self.stage.replicas {
            self.tasks.spawn(scrape(process.name.clone(), process.log.clone(), record()));
        }
        let (replicas, faults) = (self.options.replicas, self.options.faults);
        self.progress
            .say(&format!("replicas    {replicas}, {faults} % of their API requests fail"));
        Ok((judge, (writer, obstacles)))
    }

    /// Waits for so many bound claims, leaves work behind, and ends the leader.
    async fn end_leader(
        &mut self,
        ending: Ending,
        bound: usize,
        wishes: &mpsc::Sender<Wish>,
        judge: &Client,
    ) -> anyhow::Result<()> {
        let ended: Vec<String> =
            self.record.signals().into_iter().map(|signal| signal.leader).collect();
        let leads =
            |counts: &Counts| counts.leader.clone().filter(|leader| !ended.contains(leader));
        let what = format!("{bound} claims bound and a leader to end ({})", ending.word());
        self.until(&what, |counts, _| counts.bound >= bound && leads(counts).is_some()).await?;
        let (answer, done) = oneshot::channel();
        let asked = wishes.send(Wish::Burst(self.plan.burst, answer)).await.is_ok();
        if !asked || done.await.is_err() {
            self.look()?;
            bail!("the writer had nothing left to write before the {}", ending.word());
        }
        let counts = self.record.counts();
        let leader = leads(&counts)
            .with_context(|| format!("no leader at the moment of the {}", ending.word()))?;
        let replica = self.stage.replica(&leader).with_context(|| {
            format!("the lease names {leader}, which is no replica of this run")
        })?;
        let signal =
            Signal { ending, at: clock::wall(), moment: clock::now(), leader: leader.clone() };
        replica.tell(ending);
        self.record.signalled(signal.clone());
        let (created, bound) = (self.record.created_count(), counts.bound);
        let (word, waiting) = (
            if ending == Ending::Crash { "SIGKILL" } else { "SIGTERM" },
            created.saturating_sub(bound),
        );
        self.progress.say(&format!("{word} to the leader {leader}: {created} created, {bound} bound, {waiting} waiting; it is not restarted"));
        self.record.ended(&leader);
        let start = clock::now();
        self.until("a new leader", |counts, _| leads(counts).is_some_and(|next| next != leader))
            .await?;
        let next = self.record.counts().leader.unwrap_or_default();
        self.progress.say(&format!("{next} leads, {} ms later", start.elapsed().as_millis()));
        self.until_taken_up(&signal, judge).await
    }

    /// Waits until a successor has worked, or nothing is left for it to do: whoever is ended before
    /// his first write has taken up nothing.
    async fn until_taken_up(&mut self, signal: &Signal, judge: &Client) -> anyhow::Result<()> {
        let replicas: Vec<String> = (0..self.options.replicas).map(replica::name).collect();
        loop {
            let log =
                requests::fetch(judge, &replicas).await.context("fetching the request log")?;
            let worked = failover(&log.writes, signal, None).is_some();
            if worked || self.record.counts().bound >= self.record.created_count() {
                return Ok(());
            }
            self.look().context("while waiting for the new leader's first write")?;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until nothing of the deleted claims is left: not on the server, not on the disk.
    async fn clean(&mut self) -> anyhow::Result<()> {
        let deleted = self.plan.deletions.len();
        let left = self.plan.claims.len().saturating_sub(deleted);
        self.until("deleted claims and volumes gone", |counts, _| {
            counts.gone >= deleted && counts.volumes <= left
        })
        .await?;
        let (root, names) = (self.stage.root(), self.names());
        self.until("deleted directories gone", |_, _| {
            disk::walk(&root, &names).is_ok_and(|contents| {
                contents.directories.len() <= left && contents.strays.is_empty()
            })
        })
        .await
    }

    /// Waits for a condition on what is noted, and meanwhile for anything that must not end but
    /// does. The caller's time limit bounds it.
    async fn until(
        &mut self,
        what: &str,
        holds: impl Fn(&Counts, usize) -> bool,
    ) -> anyhow::Result<()> {
        let mut changes = self.record.changes();
        loop {
            changes.mark_unchanged();
            if holds(&self.record.counts(), self.record.created_count()) {
                return Ok(());
            }
            self.look().with_context(|| format!("while waiting for {what}"))?;
            let _ = tokio::time::timeout(LOOK, changes.changed()).await;
        }
    }

    /// Whether everything that must run still does.
    fn look(&mut self) -> anyhow::Result<()> {
        while let Some(ended) = self.tasks.try_join_next() {
            ended??;
        }
        match self.stage.unexpected() {
            Some(what) => bail!(what),
            None => Ok(()),
        }
    }

    fn names(&self) -> Vec<String> {
        self.plan.namespaces.iter().map(|namespace| namespace.name.clone()).collect()
    }
}

/// Reads a replica's metrics now and then, as soon as it says where they are.
async fn scrape(name: String, log: std::path::PathBuf, record: Arc<Record>) -> anyhow::Result<()> {
    let mut ticks = tokio::time::interval(SCRAPE);
    let client = loop {
        ticks.tick().await;
        if let Some(client) = Replica::metrics(&log) {
            break client;
        }
    };
    loop {
        if let Some(sample) = metrics::scrape(&client).await {
            record.sampled(&name, sample);
        }
        ticks.tick().await;
    }
}
