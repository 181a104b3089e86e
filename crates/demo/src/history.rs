//! What the watches of claims, volumes and the lease have shown so far: one record, fed with plain
//! data, clockless.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

#[cfg(test)]
mod tests;

/// What the judge's watches have seen since before the first replica started.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// By UID, also when gone.
    claims: HashMap<String, ClaimTrack>,
    /// In the order of their creation, also when gone.
    volumes: Vec<VolumeBirth>,
    /// UIDs of the volumes that exist.
    living_volumes: BTreeSet<String>,
    leader: Option<String>,
    /// Why this record may have holes; empty is what it must be.
    gaps: Vec<String>,
}

/// One claim's life.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClaimTrack {
    pub(crate) bound_at: Option<Instant>,
    /// Every volume it was ever bound to, in order; more than one is wrong.
    pub(crate) volumes: Vec<String>,
    pub(crate) gone: bool,
}

/// A volume that came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VolumeBirth {
    pub(crate) name: String,
    pub(crate) uid: String,
    /// The claim it was made for.
    pub(crate) claim_uid: Option<String>,
}

/// The numbers that progress and waiting need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Claims that were bound at some time.
    pub(crate) bound: usize,
    /// Claims that are gone.
    pub(crate) gone: usize,
    /// Volumes that exist.
    pub(crate) volumes: usize,
    pub(crate) leader: Option<String>,
}

impl History {
    /// A claim as the watch shows it now.
    pub(crate) fn claim(
        &mut self,
        uid: &str,
        phase: Option<&str>,
        volume: Option<&str>,
        now: Instant,
    ) {
        let track = self.claims.entry(uid.to_owned()).or_default();
        if let Some(volume) = volume
            && track.volumes.last().map(String::as_str) != Some(volume)
        {
            track.volumes.push(volume.to_owned());
        }
        if phase == Some("Bound") && track.bound_at.is_none() {
            track.bound_at = Some(now);
        }
    }

    pub(crate) fn claim_gone(&mut self, uid: &str) {
        self.claims.entry(uid.to_owned()).or_default().gone = true;
    }

    /// A volume as the watch shows it now; the first sight of a UID is its birth.
    pub(crate) fn volume(&mut self, name: &str, uid: &str, claim_uid: Option<&str>) {
        if self.living_volumes.insert(uid.to_owned())
            && !self.volumes.iter().any(|birth| birth.uid == uid)
        {
            let claim_uid = claim_uid.map(str::to_owned);
            self.volumes.push(VolumeBirth {
                name: name.to_owned(),
                uid: uid.to_owned(),
                claim_uid,
            });
        }
    }

    pub(crate) fn volume_gone(&mut self, uid: &str) {
        self.living_volumes.remove(uid);
    }

    pub(crate) fn leader(&mut self, holder: Option<&str>) {
        self.leader = holder.filter(|holder| !holder.is_empty()).map(str::to_owned);
    }

    /// Something may have happened unseen.
    pub(crate) fn gap(&mut self, why: String) {
        self.gaps.push(why);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            bound: self.claims.values().filter(|track| track.bound_at.is_some()).count(),
            gone: self.claims.values().filter(|track| track.gone).count(),
            volumes: self.living_volumes.len(),
            leader: self.leader.clone(),
        }
    }

    pub(crate) fn track(&self, uid: &str) -> Option<&ClaimTrack> {
        self.claims.get(uid)
    }

    pub(crate) fn volume_births(&self) -> &[VolumeBirth] {
        &self.volumes
    }

    pub(crate) fn gaps(&self) -> &[String] {
        &self.gaps
    }
}
