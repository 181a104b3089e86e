//! Gathers what the judge looks at, from server, disk and record, and counts what it says.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::ListParams;
use kube::{Api, Client};

use crate::births::BARRIER;
use crate::disk;
use crate::failover::{self, Ending, Failover, Signal};
use crate::figures::Waits;
use crate::judge::{ClaimState, Evidence, Finding, Harm, VolumeState, Written, judge};
use crate::plan::{Plan, is_our_volume};
use crate::record::{Creation, Record};
use crate::replica;
use crate::report::Report;
use crate::requests::{self, Log};

/// The order of file events reaches a barrier well within this time, or the judge says that he may
/// have missed some.
const BARRIER_WAIT: Duration = Duration::from_secs(5);

/// Where to look.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) client: &'a Client,
    pub(crate) root: &'a Path,
    pub(crate) plan: &'a Plan,
    pub(crate) record: &'a Record,
    pub(crate) seed: u64,
    pub(crate) replicas: usize,
    /// What answers, by its own word.
    pub(crate) engine: &'a str,
}

impl Scene<'_> {
    /// Judges, and counts.
    pub(crate) async fn report(&self, more: Vec<Finding>) -> anyhow::Result<Report> {
        let evidence = self.gather().await?;
        let replicas: Vec<String> = (0..self.replicas).map(replica::name).collect();
        let log =
            requests::fetch(self.client, &replicas).await.context("fetching the request log")?;
        let creations = self.record.creations();
        let mut verdict = judge(&evidence);
        verdict.add(more);
        let signals = self.record.signals();
        verdict.add(failover::overlaps(&log.writes, &signals));
        let (crash, found) = self.change_of_leader(Ending::Crash, &log, &signals, &creations);
        verdict.add(found);
        let (handover, found) = self.change_of_leader(Ending::Handover, &log, &signals, &creations);
        verdict.add(found);
        let bound_at = |creation: &Creation| self.bound_at(&creation.uid);
        let span = creations
            .iter()
            .filter_map(bound_at)
            .max()
            .zip(creations.iter().map(|creation| creation.at).min());
        Ok(Report {
            seed: self.seed,
            engine: self.engine.to_owned(),
            verdict,
            crash,
            handover,
            waits: Waits::of(creations.iter().filter_map(|creation| {
                Some(bound_at(creation)?.saturating_duration_since(creation.at))
            })),
            span: span
                .map(|(last, first)| last.saturating_duration_since(first))
                .unwrap_or_default(),
            retries: self
                .record
                .samples()
                .values()
                .fold(0_u64, |sum, sample| sum.saturating_add(sample.retries)),
            requests: log.counts,
        })
    }

    /// How one end of a leader went, and what is wrong with it.
    fn change_of_leader(
        &self,
        ending: Ending,
        log: &Log,
        signals: &[Signal],
        creations: &[Creation],
    ) -> (Option<Failover>, Option<Finding>) {
        let wrong = |what: String| {
            Some(Finding { harm: Harm::Failover, subject: ending.word().to_owned(), what })
        };
        let Some(at) = signals.iter().position(|signal| signal.ending == ending) else {
            return (None, wrong("no leader was ended this way".to_owned()));
        };
        let Some(signal) = signals.get(at) else { return (None, None) };
        let next = signals.get(at.saturating_add(1)).map(|next| next.at);
        let found = failover::failover(&log.writes, signal, next);
        let waiting = creations.iter().filter(|creation| {
            creation.at < signal.moment
                && self.bound_at(&creation.uid).is_none_or(|bound| bound > signal.moment)
        });
        let finding = match (&found, waiting.count()) {
            (None, _) => wrong(format!("{} was ended, and nobody took up its work", signal.leader)),
            (Some(_), 0) => wrong(format!(
                "{} was ended while no work was pending: nothing was shown",
                signal.leader
            )),
            (Some(_), _) => None,
        };
        (found, finding)
    }

    fn bound_at(&self, uid: &str) -> Option<Instant> {
        self.record.peek(|history| history.track(uid).and_then(|track| track.bound_at))
    }

    async fn gather(&self) -> anyhow::Result<Evidence> {
        self.pass_barrier().await?;
        let claims = Api::<PersistentVolumeClaim>::all(self.client.clone())
            .list(&ListParams::default())
            .await
            .context("listing claims")?;
        let volumes = Api::<PersistentVolume>::all(self.client.clone())
            .list(&ListParams::default())
            .await
            .context("listing volumes")?;
        let names: Vec<String> =
            self.plan.namespaces.iter().map(|namespace| namespace.name.clone()).collect();
        let contents = disk::walk(self.root, &names).context("walking the root")?;
        let (volume_births, gaps) =
            self.record.peek(|history| (history.volume_births().to_vec(), history.gaps().to_vec()));
        Ok(Evidence {
            written: self
                .record
                .creations()
                .iter()
                .filter_map(|creation| self.written(creation))
                .collect(),
            // What is not of this run is nobody's business here.
            claims: claims
                .items
                .into_iter()
                .map(claim_state)
                .filter(|claim| self.plan.has_namespace(&claim.namespace))
                .collect(),
            volumes: volumes.items.into_iter().filter(is_our_volume).map(volume_state).collect(),
            directories: contents.directories,
            strays: contents.strays,
            volume_births,
            directory_births: self.record.births(),
            gaps,
        })
    }

    /// Makes a mark on the disk and waits until the reader of births has come to it.
    async fn pass_barrier(&self) -> anyhow::Result<()> {
        let name = format!("{BARRIER}{}", uuid::Uuid::new_v4().simple());
        let path = self.root.join(&name);
        std::fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        let mut changes = self.record.changes();
        let passed = tokio::time::timeout(
            BARRIER_WAIT,
            changes.wait_for(|()| self.record.has_passed(&name)),
        )
        .await;
        std::fs::remove_dir(&path).with_context(|| format!("removing {}", path.display()))?;
        if passed.is_err() {
            self.record.history(|history| {
                history.gap("file events were still queued when the judge looked".to_owned())
            });
        }
        Ok(())
    }

    fn written(&self, creation: &Creation) -> Option<Written> {
        let claim = self.plan.claims.get(creation.index)?;
        let namespace = self.plan.namespaces.get(claim.namespace)?;
        let track =
            self.record.peek(|history| history.track(&creation.uid).cloned()).unwrap_or_default();
        Some(Written {
            namespace: namespace.name.clone(),
            name: claim.name.clone(),
            uid: creation.uid.clone(),
            deleted: creation.deleted,
            was_bound: track.bound_at.is_some(),
            bound_to: track.volumes,
        })
    }
}

fn claim_state(claim: PersistentVolumeClaim) -> ClaimState {
    ClaimState {
        namespace: claim.metadata.namespace.unwrap_or_default(),
        name: claim.metadata.name.unwrap_or_default(),
        uid: claim.metadata.uid.unwrap_or_default(),
        phase: claim
            .status
            .and_then(|status| status.phase)
            .unwrap_or_else(|| "without a phase".to_owned()),
        volume: claim.spec.and_then(|spec| spec.volume_name),
    }
}

fn volume_state(volume: PersistentVolume) -> VolumeState {
    let spec = volume.spec.unwrap_or_default();
    VolumeState {
        name: volume.metadata.name.unwrap_or_default(),
        phase: volume
            .status
            .and_then(|status| status.phase)
            .unwrap_or_else(|| "without a phase".to_owned()),
        claim_uid: spec.claim_ref.and_then(|claim| claim.uid),
        path: spec.host_path.map(|source| PathBuf::from(source.path)),
    }
}
