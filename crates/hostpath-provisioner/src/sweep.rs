//! Comparing the disk with the server: at the start of each term, and now and then. What a crashed
//! leader left half made is removed or handed to the claims' queue, which asks the server before it
//! takes anything back.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reconciler::{BoxError, Handle, LeaderTask, ObjectKey};

use crate::context::{Begun, Context, begin_term, term_of_task};
use crate::directory::{DirectoryError, Listed};
use crate::marker::Fence;
use crate::metrics::Kept;
use crate::outcome::{Problem, Reason};
use crate::volumes::{VolumeStep, decide, living};

/// Why a directory stays, or that it shall be looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// A claim or a volume of its name is known.
    Known,
    /// It was set apart to outlive its volume.
    Retained,
    /// It has no readable marker, or one of another claim: it may be anybody's.
    NotOurs,
    /// It was made under another Lease: by a deployment of long ago, or of another cluster on the
    /// same disk.
    OtherLease,
    /// It holds data, so it has had a volume, of which the server knows nothing any more.
    HoldsData,
    /// Neither claim nor volume is known, and it is empty: the server is to be asked, and then it
    /// is taken back.
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
            if marker.fence.uid != fence.uid {
                Judgement::OtherLease
            } else if found.holds_data {
                Judgement::HoldsData
            } else {
                Judgement::Orphan
            }
        }
        _ => Judgement::NotOurs,
    }
}

/// How often a pause is looked at, and a sweep that failed tried again.
const UNEASY: Duration = Duration::from_secs(10);
/// Directories and leftovers that one sweep names in the log; all are counted.
const NAMED_MAX: usize = 16;

/// What the sweep works with.
pub(crate) struct Sweep {
    pub(crate) context: Arc<Context>,
    pub(crate) claims: Handle<String>,
    pub(crate) interval: Duration,
    /// Tries again what waits: called when a pause ends, and when a leftover went that may have
    /// held a volume.
    pub(crate) resume: Box<dyn Fn() + Send + Sync>,
}

impl Sweep {
    /// Sweeps until the term ends. A sweep that fails is no end: the next one may do better.
    pub(crate) async fn run(&self, task: LeaderTask) -> Result<(), BoxError> {
        let (mut named, mut was_paused) = (HashSet::new(), false);
        loop {
            let mut has_cleared = false;
            let swept = self.sweep(&task, &mut named, &mut has_cleared).await;
            let is_paused = self.context.pause.why().is_some();
            match &swept {
                Ok(swept) => tracing::info!(%swept, "compared the disk with the server"),
                Err(problem) if task.cancellation().is_cancelled() => {
                    tracing::debug!(error = %problem, "the term ended in a sweep");
                }
                Err(problem) => {
                    tracing::warn!(error = %problem, "the disk could not be compared with the server")
                }
            }
            if (was_paused && !is_paused) || has_cleared {
                (self.resume)();
            }
            was_paused = is_paused;
            let is_easy = swept.is_ok() && !is_paused;
            let pause = if is_easy { self.interval } else { self.interval.min(UNEASY) };
            tokio::select! {
                () = task.cancellation().cancelled() => break,
                () = self.context.pause.begins() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.context.pause.forget();
        // Another replica leads now, and counts.
        Kept::ALL.into_iter().for_each(|why| self.context.metrics.kept(why, 0));
        self.context.metrics.leftovers_stuck(0);
        Ok(())
    }

    /// One sweep. `named`: the kept directories that the log has named already. `has_cleared`:
    /// whether a leftover went, also if the sweep fails afterwards.
    async fn sweep(
        &self,
        task: &LeaderTask,
        named: &mut HashSet<String>,
        has_cleared: &mut bool,
    ) -> Result<Swept, Problem> {
        let context = &self.context;
        let term = term_of_task(task);
        let fence = term.fence().clone();
        let work = {
            let (context, term) = (Arc::clone(context), term.clone());
            task.tracker().spawn_blocking(move || begin_term(&context, &term, true))
        };
        work.await.map_err(|_| broken_off())??;
        // Before anything is removed, and also after a pause, which it may end.
        context.compare(&term, task.tracker()).await?;
        let work = {
            let context = Arc::clone(context);
            task.tracker().spawn_blocking(move || {
                let cleared = context.root.clear_leftovers(&term)?;
                Ok::<_, DirectoryError>((cleared, context.root.list()))
            })
        };
        let (cleared, listing) = work.await.map_err(|_| broken_off())??;
        context.metrics.leftovers_cleared(cleared.removed);
        *has_cleared = cleared.removed > 0;
        let listing = listing?;
        let stuck: Vec<DirectoryError> = cleared.stuck.into_iter().chain(listing.skipped).collect();
        context.metrics.leftovers_stuck(stuck.len());
        for error in stuck.iter().take(NAMED_MAX) {
            tracing::warn!(%error, "passed over, and tried again by the next sweep");
        }
        let mut swept = Swept {
            directories: listing.found.len(),
            leftovers: cleared.removed,
            stuck: stuck.len(),
            ..Swept::default()
        };
        let is_paused = context.pause.why().is_some();
        let mut kept = Vec::new();
        for found in listing.found {
            let uid = found.location.claim_uid();
            let volume_known =
                context.caches.volumes.get(&ObjectKey::cluster(found.location.name())).is_some();
            let claim_known = context.claim_of(uid).is_some();
            let is_used = || living::other_volume(context, &found.location).is_some();
            let volume_known = volume_known || (!claim_known && is_used());
            let judgement = judge(&found, &fence, claim_known, volume_known);
            match (judgement, &found.marker) {
                (Judgement::Known, _) => {}
                // While nothing is removed, nothing is handed over.
                (Judgement::Orphan, Some(_)) if is_paused => swept.orphans += 1,
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
                (Judgement::Retained, _) => kept.push((Kept::Retained, found.location.to_string())),
                (Judgement::HoldsData, _) => {
                    kept.push((Kept::HoldsData, found.location.to_string()))
                }
                (Judgement::OtherLease, _) => {
                    kept.push((Kept::OtherLease, found.location.to_string()))
                }
                (Judgement::NotOurs | Judgement::Orphan, _) => {
                    kept.push((Kept::NotOurs, found.location.to_string()));
                }
            }
        }
        for volume in context.caches.volumes.list() {
            if matches!(decide(&context.us, &volume, true), VolumeStep::Refuse(_)) {
                kept.push((Kept::VolumeRefused, volume.metadata.name.clone().unwrap_or_default()));
            }
        }
        swept.kept = kept.len();
        self.tell_kept(&kept, named);
        // Orphans, and work of an earlier term of this process whose claim vanished while another
        // led: nothing else names them.
        for uid in context.all_begun().into_iter().filter(|_| !is_paused) {
            if context.claim_of(&uid).is_none() {
                self.claims.add(uid);
            }
        }
        Ok(swept)
    }

    /// Counts what is kept, and names in the log what is new among it.
    fn tell_kept(&self, kept: &[(Kept, String)], named: &mut HashSet<String>) {
        for why in Kept::ALL {
            self.context
                .metrics
                .kept(why, kept.iter().filter(|(reason, _)| *reason == why).count());
        }
        let present: HashSet<&str> = kept.iter().map(|(_, name)| name.as_str()).collect();
        named.retain(|name| present.contains(name.as_str()));
        let fresh: Vec<_> = kept.iter().filter(|(_, name)| named.insert(name.clone())).collect();
        for (why, directory) in fresh.iter().take(NAMED_MAX) {
            tracing::info!(%directory, reason = why.as_str(), "kept, though no claim needs it");
        }
        if let Some(more) = fresh.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
            tracing::info!(more, "further directories are kept, though no claim needs them");
        }
    }
}

fn broken_off() -> Problem {
    Problem::passing(Reason::DirectoryFailed, "the work on the disk broke off")
}

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Swept {
    directories: usize,
    leftovers: usize,
    stuck: usize,
    orphans: usize,
    kept: usize,
}

impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directories, leftovers, stuck, orphans, kept } = self;
        write!(
            f,
            "{directories} directories, {orphans} orphans, {kept} kept without claim, {leftovers} leftovers cleared, \
             {stuck} passed over"
        )
    }
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
        Listed {
            location: Location::new(vec![], "u-1").unwrap(),
            marker,
            retained,
            holds_data: false,
        }
    }

    #[test]
    fn only_what_is_ours_and_wanted_by_nobody_is_an_orphan() {
        let ours = found(Some("u-1"), false);
        assert_eq!(judge(&ours, &fence("lease"), false, false), Judgement::Orphan);
        assert_eq!(judge(&ours, &fence("lease"), true, false), Judgement::Known);
        assert_eq!(judge(&ours, &fence("lease"), false, true), Judgement::Known);
        assert_eq!(judge(&ours, &fence("other"), false, false), Judgement::OtherLease);
        let holds_data = Listed { holds_data: true, ..ours };
        assert_eq!(judge(&holds_data, &fence("lease"), false, false), Judgement::HoldsData);
        assert_eq!(judge(&holds_data, &fence("other"), false, false), Judgement::OtherLease);
        assert_eq!(
            judge(&found(Some("u-1"), true), &fence("lease"), false, false),
            Judgement::Retained
        );
        assert_eq!(
            judge(&found(Some("u-2"), false), &fence("lease"), false, false),
            Judgement::NotOurs
        );
        assert_eq!(judge(&found(None, false), &fence("lease"), false, false), Judgement::NotOurs);
    }
}
