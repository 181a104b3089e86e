//! The examination of a run at its time limit: names the claims it waits for, and judges its
//! present state.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::ListParams;
use kube::{Api, Client};

use crate::cli::Options;
use crate::evidence::Scene;
use crate::judge::{Finding, Harm};
use crate::plan::Plan;
use crate::record::Record;
use crate::replica;
use crate::report::Report;
use crate::stage::Stage;
use crate::users::JUDGE;

/// Claims that are named.
const NAMED: usize = 5;

/// Says in sentences what the run waits for, and judges its present state.
pub(crate) async fn autopsy(
    options: &Options,
    stage: &Stage,
    plan: &Plan,
    record: &Record,
) -> anyhow::Result<(Vec<String>, Report)> {
    let client = stage.client(JUDGE)?;
    let mut waiting = vec![leader(options, record)];
    waiting.extend(claims(&client, plan, record).await?);
    let limit = humantime::format_duration(options.timeout);
    let late = Finding {
        harm: Harm::Replica,
        subject: "run".to_owned(),
        what: format!("not done after {limit}"),
    };
    let root = stage.root();
    let Options { seed, replicas, .. } = *options;
    let scene =
        Scene { client: &client, root: &root, plan, record, seed, replicas, engine: &stage.engine };
    Ok((waiting, scene.report(vec![late]).await?))
}

/// Names the leader, or the replicas that could lead.
fn leader(options: &Options, record: &Record) -> String {
    if let Some(leader) = record.counts().leader {
        return format!("the leader is {leader}");
    }
    let ended: Vec<String> = record.signals().into_iter().map(|signal| signal.leader).collect();
    let replicas = (0..options.replicas).map(replica::name).filter(|name| !ended.contains(name));
    format!("no leader among {}", replicas.collect::<Vec<_>>().join(", "))
}

/// Counts the claims that still wait, and names some, with the reason in their annotations.
async fn claims(client: &Client, plan: &Plan, record: &Record) -> anyhow::Result<Vec<String>> {
    let claims =
        Api::<PersistentVolumeClaim>::all(client.clone()).list(&ListParams::default()).await?;
    let is_bound = |claim: &PersistentVolumeClaim| {
        claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
    };
    let is_going = |claim: &PersistentVolumeClaim| claim.metadata.deletion_timestamp.is_some();
    let is_ours = |claim: &PersistentVolumeClaim| {
        plan.has_namespace(claim.metadata.namespace.as_deref().unwrap_or_default())
    };
    let stuck: Vec<_> = claims
        .items
        .iter()
        .filter(|claim| is_ours(claim) && (!is_bound(claim) || is_going(claim)))
        .collect();
    let counts = record.counts();
    let mut sentences = vec![format!(
        "{} claims wait or will not go; {} bound, {} gone, {} volumes",
        stuck.len(),
        counts.bound,
        counts.gone,
        counts.volumes
    )];
    for claim in stuck.into_iter().take(NAMED) {
        let meta = &claim.metadata;
        let annotations = meta.annotations.iter().flatten();
        let why =
            annotations.filter(|(key, _)| key.contains("waiting")).map(|(_, value)| value.as_str());
        sentences.push(format!(
            "  {}/{} (uid {}){}: {}",
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default(),
            meta.uid.as_deref().unwrap_or_default(),
            if is_going(claim) { ", being deleted" } else { "" },
            why.collect::<Vec<_>>().join(": ")
        ));
    }
    Ok(sentences)
}
