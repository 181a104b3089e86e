//! Halves: the joint record and the joint version of two leases, without asking a store.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::half::{Attempt, Halves};
use crate::error::StoreError;
use crate::planted::planted;
use crate::record::{Record, StoredLease};
use crate::version::Version;

/// The holder of halves that disagree, by client-go's name for it in multi-locks. No candidate has
/// this identity, so the lease is taken only when it has run out.
const UNKNOWN_HOLDER: &str = "leaderelection.k8s.io/unknown";

impl Halves {
    /// The joint version; `None` if there is neither half. A missing half has the version 0.
    pub(super) fn version(&self) -> Option<Result<Version, StoreError>> {
        if self.primary.is_none() && self.secondary.is_none() {
            return None;
        }
        let part = |lease: &Option<StoredLease>| match lease {
            None => Ok((String::new(), "0".to_owned())),
            Some(lease) if joins(&lease.version) => {
                Ok((lease.version.uid.clone(), lease.version.resource_version.clone()))
            }
            Some(lease) => Err(StoreError::Rejected {
                code: 0,
                message: format!(
                    "resource version {} is no number",
                    lease.version.resource_version
                ),
            }),
        };
        Some(part(&self.primary).and_then(|(uid, resource_version)| {
            let (other_uid, other_version) = part(&self.secondary)?;
            Ok(Version::new(
                format!("{uid}+{other_uid}"),
                format!("{resource_version}+{other_version}"),
            ))
        }))
    }

    /// The joint record; `own_seconds` is the duration that is granted to a half without one.
    ///
    /// Each change of either half changes this record, so a candidate that waits for it waits for
    /// both. It equals a write's record only if both halves of that write were made.
    pub(super) fn record(&self, own_seconds: i32, attempts: &VecDeque<Attempt>) -> Record {
        let (primary, secondary) = match (&self.primary, &self.secondary) {
            (Some(primary), Some(secondary)) if primary.record == secondary.record => {
                return primary.record.clone();
            }
            (primary, secondary) => (
                primary.as_ref().map(|lease| &lease.record),
                secondary.as_ref().map(|lease| &lease.record),
            ),
        };
        if let Some((attempt, _)) = self.half_made(attempts) {
            // Undone by its own sender, which alone knows that no other client has written.
            return attempt.before.clone();
        }
        let rest = secondary.or(primary).cloned().unwrap_or_default();
        if planted("half-is-whole") {
            return rest;
        }
        joined(primary, secondary, rest, own_seconds)
    }
}

/// The joint record of two records that differ, with the fields that decide nothing as in `rest`.
fn joined(
    primary: Option<&Record>,
    secondary: Option<&Record>,
    rest: Record,
    own_seconds: i32,
) -> Record {
    let mut digest = DefaultHasher::new();
    (primary, secondary).hash(&mut digest);
    let each = || primary.into_iter().chain(secondary);
    let seconds = each().map(|record| match record.lease_duration_seconds {
        ..=0 => own_seconds,
        seconds if record.is_unreadable() => seconds.max(own_seconds),
        seconds => seconds,
    });
    let first = each().next().map(|record| &record.holder);
    let holder = match first {
        Some(holder) if each().all(|record| record.holder == *holder) => holder.clone(),
        _ => UNKNOWN_HOLDER.to_owned(),
    };
    Record {
        holder,
        lease_duration_seconds: seconds.max().unwrap_or(own_seconds),
        renew_time: each().filter_map(|record| record.renew_time).max(),
        leader_transitions: each().map(|record| record.leader_transitions).max().unwrap_or(0),
        write_id: Some(format!("halves-{:016x}", digest.finish())),
        ..rest
    }
}

/// Whether two such versions can be split again.
fn joins(version: &Version) -> bool {
    let digits = !version.resource_version.is_empty()
        && version.resource_version.bytes().all(|byte| byte.is_ascii_digit());
    digits && !version.uid.contains('+')
}

/// The versions of the two halves, the primary one's first; `None` if this is no joint version.
pub(super) fn split(version: &Version) -> Option<[Option<Version>; 2]> {
    let (uid, other_uid) = version.uid.split_once('+')?;
    let (resource_version, other_version) = version.resource_version.split_once('+')?;
    let half = |uid: &str, resource_version: &str| {
        (!uid.is_empty()).then(|| Version::new(uid, resource_version))
    };
    Some([half(uid, resource_version), half(other_uid, other_version)])
}

#[cfg(test)]
mod tests;
