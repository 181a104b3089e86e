//! Notices an API server that was restored from a backup older than this root. Data of claims that
//! it forgot may be live, so nothing is removed until an operator removes the file that says so.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::{DirectoryError, Root, Trouble, open_root, walk};
use crate::marker::Fence;
use crate::names::{RESTORED_FILE, STATE_FOLDER};

/// What the file says.
#[derive(Serialize, Deserialize)]
struct Said {
    why: String,
}

/// Whether a beginning term is older than the recorded one. A later term of one Lease has a greater
/// version and a greater count of transitions. Revisions of a restored server may have been raised
/// on purpose, so one of both is enough.
pub(crate) fn is_older(begins: &Fence, recorded: &Fence) -> bool {
    let number = |fence: &Fence| fence.resource_version.parse::<u64>().ok();
    let version = match (number(begins), number(recorded)) {
        (Some(begins), Some(recorded)) => begins <= recorded,
        _ => false,
    };
    begins != recorded
        && begins.uid == recorded.uid
        && (version || begins.transitions <= recorded.transitions)
}

impl Root {
    /// Why nothing is removed on this root, if so, in a sentence that ends in what confirms that it
    /// may be again.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub fn paused(&self) -> Result<Option<String>, DirectoryError> {
        let path = self.state_path(RESTORED_FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| DirectoryError::io(&path, "cannot be read", error))?,
        };
        // Whatever stands there, it is there.
        let why = serde_json::from_slice(&text)
            .map_or_else(|_| "it is not readable".to_owned(), |said: Said| said.why);
        let file = super::error::shortened(&path);
        Ok(Some(format!("{why}; once all claims and volumes are there again, remove {file}")))
    }

    /// Refuses while nothing may be removed.
    pub(super) fn check_not_paused(&self) -> Result<(), DirectoryError> {
        match self.paused()? {
            None => Ok(()),
            Some(why) => Err(DirectoryError::new(Trouble::Paused, Path::new(""), why)),
        }
    }

    /// Notes that nothing may be removed. Durable when it returns.
    pub(super) fn pause(&self, what: &str) -> Result<(), DirectoryError> {
        let path = self.state_path(RESTORED_FILE);
        let said = Said { why: format!("nothing is removed: {what}, so it was restored") };
        self.step_io("pause", &path, || {
            let state = walk::open_folder(open_root(self.path())?, STATE_FOLDER)?;
            let flags = OFlags::WRONLY
                | OFlags::CREATE
                | OFlags::TRUNC
                | OFlags::NOFOLLOW
                | OFlags::CLOEXEC;
            // Half written it pauses as well.
            let file =
                rustix::fs::openat(&state, RESTORED_FILE, flags, Mode::from_raw_mode(0o600))?;
            let mut file = fs::File::from(file);
            file.write_all(&serde_json::to_vec(&said)?)?;
            file.sync_all()?;
            Ok(walk::sync(&state)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_older_if_its_version_or_its_count_is() {
        let fence = |uid: &str, version: &str, transitions| Fence {
            uid: uid.into(),
            resource_version: version.into(),
            transitions,
        };
        let recorded = fence("l", "90", 7);
        assert!(!is_older(&recorded, &recorded));
        assert!(!is_older(&fence("l", "100", 8), &recorded));
        // As of an older backup; with raised revisions; with as many terms since as were lost.
        assert!(is_older(&fence("l", "9", 2), &recorded));
        assert!(is_older(&fence("l", "1000000090", 2), &recorded));
        assert!(is_older(&fence("l", "1000000090", 7), &recorded));
        assert!(is_older(&fence("l", "89", 8), &recorded));
        // Another Lease says nothing about this one, and what it made is not taken for an orphan.
        assert!(!is_older(&fence("other", "9", 2), &recorded));
    }
}
