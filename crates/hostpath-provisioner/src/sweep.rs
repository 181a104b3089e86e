//! Comparing the disk with the server: at the start of each term, and now and then. What a crashed leader left half made
//! is removed or handed to the claims' queue, which asks the server before it takes anything back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reconciler::{BoxError, Handle, LeaderTask, ObjectKey};

use crate::context::{Begun, Context, begin_term, term_of_task};
use crate::directory::{DirectoryError, Listed};
use crate::fence::Term;
use crate::marker::Fence;

/// Why a directory stays, or that it shall be looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// A claim or a volume of its name is known.
    Known,
    /// It was set apart to outlive its volume.
    Retained,
    /// It has no readable marker, or one of another claim: it may be anybody's.
    NotOurs,
    /// It was made under another Lease: by a deployment of long ago, or of another cluster on the same disk.
    OtherLease,
    /// Neither claim nor volume is known: the server is to be asked, and then it is taken back.
    Orphan,
}

/// Judges a directory by what is on the disk and in the caches.
#[must_use]
pub fn judge(found: &Listed, fence: &Fence, claim_known: bool, volume_known: bool) -> Judgement {
    if claim_known || volume_known {
        return Judgement::Known;
    }
    if found.retained {
        return Judgement::Retained;
    }
    match &found.marker {
        Some(marker) if marker.claim_uid == found.location.claim_uid() => {
            if marker.fence.uid == fence.uid {
                Judgement::Orphan
            } else {
                Judgement::OtherLease
            }
        }
        _ => Judgement::NotOurs,
    }
}

/// Sweeps until the term ends.
pub(crate) async fn run(
    context: Arc<Context>,
    task: LeaderTask,
    claims: Handle<String>,
    interval: Duration,
) -> Result<(), BoxError> {
    loop {
        let swept = sweep(&context, &task, &claims).await?;
        tracing::info!(%swept, "compared the disk with the server");
        tokio::select! {
            () = task.cancellation().cancelled() => return Ok(()),
            () = tokio::time::sleep(interval) => {}
        }
    }
}

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Swept {
    directories: usize,
    leftovers: usize,
    orphans: usize,
    kept: usize,
}

impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directories, leftovers, orphans, kept } = self;
        write!(
            f,
            "{directories} directories, {orphans} orphans, {kept} kept without claim, {leftovers} leftovers cleared"
        )
    }
}

async fn sweep(
    context: &Arc<Context>,
    task: &LeaderTask,
    claims: &Handle<String>,
) -> Result<Swept, BoxError> {
    let term = term_of_task(task);
    let fence = term.fence().clone();
    let work = {
        let context = Arc::clone(context);
        task.tracker().spawn_blocking(move || on_disk(&context, &term))
    };
    let (leftovers, listed) = work.await??;
    context.metrics.leftovers_cleared(leftovers);
    let mut swept = Swept { directories: listed.len(), leftovers, ..Swept::default() };
    for found in listed {
        let uid = found.location.claim_uid();
        let volume_known = context.caches.volumes.get(&ObjectKey::cluster(found.location.name())).is_some();
        let judgement = judge(&found, &fence, context.claim_of(uid).is_some(), volume_known);
        match (judgement, &found.marker) {
            (Judgement::Known, _) => {}
            (Judgement::Orphan, Some(marker)) => {
                swept.orphans += 1;
                context.metrics.orphan_found();
                tracing::info!(directory = %found.location, "a directory has neither claim nor volume");
                context.begin(Begun {
                    location: found.location.clone(),
                    claim_namespace: marker.claim_namespace.clone(),
                    claim_name: marker.claim_name.clone(),
                });
            }
            (judgement, _) => {
                swept.kept += 1;
                tracing::debug!(directory = %found.location, ?judgement, "a directory without claim and volume is kept");
            }
        }
    }
    // Orphans, and work of an earlier term of this process whose claim vanished while another led: nothing else names them.
    for uid in context.all_begun() {
        if context.claim_of(&uid).is_none() {
            claims.add(uid);
        }
    }
    Ok(swept)
}

fn on_disk(context: &Context, term: &Term) -> Result<(usize, Vec<Listed>), DirectoryError> {
    begin_term(context, term, true)?;
    let leftovers = context.root.clear_leftovers(term)?;
    Ok((leftovers, context.root.list()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;
    use crate::marker::Marker;

    fn fence(uid: &str) -> Fence {
        Fence { uid: uid.into(), resource_version: "1".into(), transitions: 0 }
    }

    fn found(marker_uid: Option<&str>, retained: bool) -> Listed {
        let marker = marker_uid.map(|uid| Marker {
            claim_uid: uid.into(),
            claim_namespace: "ns".into(),
            claim_name: "c".into(),
            volume: "pvc-u-1".into(),
            identity: "me".into(),
            fence: fence("lease"),
        });
        Listed { location: Location::new(vec![], "u-1").unwrap(), marker, retained }
    }

    #[test]
    fn only_what_is_ours_and_wanted_by_nobody_is_an_orphan() {
        let ours = found(Some("u-1"), false);
        assert_eq!(judge(&ours, &fence("lease"), false, false), Judgement::Orphan);
        assert_eq!(judge(&ours, &fence("lease"), true, false), Judgement::Known);
        assert_eq!(judge(&ours, &fence("lease"), false, true), Judgement::Known);
        assert_eq!(judge(&ours, &fence("other"), false, false), Judgement::OtherLease);
        assert_eq!(judge(&found(Some("u-1"), true), &fence("lease"), false, false), Judgement::Retained);
        assert_eq!(judge(&found(Some("u-2"), false), &fence("lease"), false, false), Judgement::NotOurs);
        assert_eq!(judge(&found(None, false), &fence("lease"), false, false), Judgement::NotOurs);
    }
}
