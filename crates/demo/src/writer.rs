//! The writer: creates, annotates, relabels and deletes claims as the plan says, at a pace.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Interval, MissedTickBehavior};

use crate::clock;
use crate::obstacle::Obstacle;
use crate::plan::{CLASS, Plan, Step};
use crate::record::{Creation, Record};
use crate::replica::PROVISIONER;
use crate::venue::{RUN_LABEL, Venue};
use crate::wrong_phase;

/// Deletions under way at once.
const DELETING: usize = 8;

/// A wish to the writer.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Create so many claims at once, whatever the pace, and answer when they exist.
    Burst(usize, oneshot::Sender<()>),
    /// The hand-over was asked for: the claims held back may follow.
    Rest,
}

/// Who writes.
#[derive(Clone)]
pub(crate) struct Writer {
    client: Client,
    plan: Arc<Plan>,
    record: Arc<Record>,
    rng: fastrand::Rng,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// When the next claim may be created.
struct Pace {
    ticks: Interval,
    wishes: mpsc::Receiver<Wish>,
    /// Claims still to be created at once, and who waits for that.
    burst: usize,
    answer: Option<oneshot::Sender<()>>,
    /// No more than this many are created before [`Wish::Rest`].
    most: usize,
    /// No more wishes will come.
    alone: bool,
}

impl Pace {
    fn new(rate: u32, wishes: mpsc::Receiver<Wish>, most: usize) -> Self {
        let mut ticks = tokio::time::interval(
            Duration::from_secs(1).checked_div(rate).unwrap_or(Duration::from_secs(1)),
        );
        // A writer that fell behind catches up, so that the pace is the one asked for.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        Self { ticks, wishes, burst: 0, answer: None, most, alone: false }
    }

    /// Waits until the next claim may be created, of which `made` exist; `false` when nobody is
    /// there any more to wish for one.
    async fn next(&mut self, made: usize) -> bool {
        loop {
            if self.burst > 0 {
                self.burst = self.burst.saturating_sub(1);
                return true;
            }
            if let Some(answer) = self.answer.take() {
                let _ = answer.send(());
            }
            let held_back = made >= self.most;
            tokio::select! {
                biased;
                wish = self.wishes.recv(), if !self.alone => match wish {
                    Some(Wish::Burst(count, answer)) => (self.burst, self.answer) = (count, Some(answer)),
                    Some(Wish::Rest) => self.most = usize::MAX,
                    None => self.alone = true,
                },
                _ = self.ticks.tick(), if !held_back => return true,
                else => return false,
            }
        }
    }
}

impl Writer {
    pub(crate) fn new(client: Client, plan: Arc<Plan>, record: Arc<Record>, seed: u64) -> Self {
        Self { client, plan, record, rng: fastrand::Rng::with_seed(seed) }
    }

    /// Installs the storage class and the namespaces, with the run's mark on them.
    pub(crate) async fn install(&self, venue: &Venue) -> anyhow::Result<()> {
        let marked = |name: &str| json!({"name": name, "labels": {RUN_LABEL: venue.mark}});
        let class: StorageClass = serde_json::from_value(json!({
            "metadata": marked(CLASS),
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
            "parameters": {"subdir": "${namespace}"},
        }))?;
        Api::all(self.client.clone())
            .create(&PostParams::default(), &class)
            .await
            .context("installing the storage class")?;
        let names =
            self.plan.namespaces.iter().map(|namespace| &namespace.name).chain(&venue.lease_home);
        for name in names {
            let object: Namespace = serde_json::from_value(json!({"metadata": marked(name)}))?;
            let made = Api::all(self.client.clone()).create(&PostParams::default(), &object).await;
            made.with_context(|| format!("creating the namespace {name}"))?;
        }
        Ok(())
    }

    /// Works through the plan. `obstacles` has one entry for each namespace.
    pub(crate) async fn write(
        mut self,
        rate: u32,
        wishes: mpsc::Receiver<Wish>,
        obstacles: Vec<Option<Obstacle>>,
    ) -> anyhow::Result<()> {
        let plan = Arc::clone(&self.plan);
        let mut pace = Pace::new(rate, wishes, plan.before_handover);
        let mut made = 0_usize;
        for step in &plan.steps {
            match *step {
                Step::Create(index) => {
                    if !pace.next(made).await {
                        return Ok(());
                    }
                    self.create(index).await?;
                    made = made.saturating_add(1);
                }
                Step::Annotate(index) => {
                    let value = self.rng.u32(..).to_string();
                    self.change(
                        index,
                        &json!({"metadata": {"annotations": {"demo.wq-rs.dev/note": value}}}),
                    )
                    .await?;
                }
                Step::Relabel(index) => {
                    let value = self.rng.u32(..).to_string();
                    self.change(
                        index,
                        &json!({"metadata": {"labels": {"demo.wq-rs.dev/tier": value}}}),
                    )
                    .await?;
                }
                Step::SayReleased(index) => {
                    let (claims, name) = self.claim(index)?;
                    wrong_phase::say(&self.client, &claims, name).await?;
                }
                Step::Unblock(index) => {
                    let obstacle = obstacles
                        .get(index)
                        .and_then(Option::as_ref)
                        .context("no obstacle to lift")?;
                    obstacle.lift().with_context(|| {
                        format!("taking the file out of the way of {}", self.namespace(index))
                    })?;
                }
            }
        }
        if let Some(answer) = pace.answer.take() {
            let _ = answer.send(());
        }
        Ok(())
    }

    /// Deletes the claims that the plan names.
    pub(crate) async fn delete(&self) -> anyhow::Result<()> {
        stream::iter(&self.plan.deletions)
            .map(Ok)
            .try_for_each_concurrent(DELETING, |&index| self.delete_one(index))
            .await
    }

    async fn delete_one(&self, index: usize) -> anyhow::Result<()> {
        let (api, name) = self.claim(index)?;
        api.delete(name, &DeleteParams::default())
            .await
            .with_context(|| format!("deleting {name}"))?;
        self.record.deleted(index);
        Ok(())
    }

    async fn create(&self, index: usize) -> anyhow::Result<()> {
        let Some(claim) = self.plan.claims.get(index) else {
            bail!("the plan has no claim {index}")
        };
        let object: PersistentVolumeClaim = serde_json::from_value(json!({
            "metadata": {"name": claim.name, "labels": {"app.kubernetes.io/part-of": "wq-demo"}},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": CLASS,
                "resources": {"requests": {"storage": format!("{}Mi", claim.mebibytes)}},
            },
        }))?;
        let (api, name) = self.claim(index)?;
        let at = clock::now();
        let made = api
            .create(&PostParams::default(), &object)
            .await
            .with_context(|| format!("creating {name}"))?;
        let uid = made.metadata.uid.with_context(|| format!("{name} was created without a UID"))?;
        self.record.created(Creation { index, uid, at, deleted: false });
        Ok(())
    }

    async fn change(&self, index: usize, patch: &serde_json::Value) -> anyhow::Result<()> {
        let (api, name) = self.claim(index)?;
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .with_context(|| format!("changing {name}"))?;
        Ok(())
    }

    fn claim(&self, index: usize) -> anyhow::Result<(Api<PersistentVolumeClaim>, &str)> {
        let Some(claim) = self.plan.claims.get(index) else {
            bail!("the plan has no claim {index}")
        };
        Ok((Api::namespaced(self.client.clone(), self.namespace(claim.namespace)), &claim.name))
    }

    fn namespace(&self, index: usize) -> &str {
        self.plan.namespaces.get(index).map_or("", |namespace| &namespace.name)
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, Wish};
    use tokio::sync::{mpsc, oneshot};

    #[tokio::test(start_paused = true)]
    async fn claims_come_at_the_pace_and_some_are_held_back_until_the_rest_is_wished_for() {
        let (wishes, wished) = mpsc::channel(1);
        let mut pace = Pace::new(10, wished, 3);
        let start = tokio::time::Instant::now();
        for made in 0..3 {
            assert!(pace.next(made).await);
        }
        assert_eq!(start.elapsed().as_millis(), 200);
        let fourth = tokio::time::timeout(std::time::Duration::from_secs(60), pace.next(3));
        assert!(fourth.await.is_err());
        wishes.send(Wish::Rest).await.unwrap();
        assert!(pace.next(3).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_comes_at_once_and_is_answered_when_it_is_made() {
        let (wishes, wished) = mpsc::channel(1);
        let mut pace = Pace::new(1, wished, 1);
        assert!(pace.next(0).await);
        let start = tokio::time::Instant::now();
        let (answer, mut answered) = oneshot::channel();
        wishes.send(Wish::Burst(2, answer)).await.unwrap();
        assert!(pace.next(1).await && pace.next(2).await);
        assert_eq!(start.elapsed().as_millis(), 0);
        assert!(answered.try_recv().is_err());
        let held_back = tokio::time::timeout(std::time::Duration::from_secs(60), pace.next(3));
        assert!(held_back.await.is_err());
        assert!(answered.try_recv().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_left_to_wish_ends_a_writer_that_is_held_back() {
        let (wishes, wished) = mpsc::channel(1);
        let mut pace = Pace::new(10, wished, 1);
        drop(wishes);
        assert!(pace.next(0).await);
        assert!(!pace.next(1).await);
    }
}
