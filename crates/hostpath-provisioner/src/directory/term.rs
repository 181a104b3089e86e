//! The root's own record: whose it is, and which term was begun on it last. A replica of an earlier
//! term reads it before each effect and stops.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::Mode;
use serde::{Deserialize, Serialize};

use super::restored::is_older;
use super::{DirectoryError, Root, Trouble, create_new, open_root, walk};
use crate::fence::Term;
use crate::marker::Fence;
use crate::names::{RETAINED_FOLDER, STAGING_FOLDER, STATE_FOLDER, TERM_FILE, TRASH_FOLDER};

/// The record of a root that is larger is none.
const RECORD_MAX_BYTES: u64 = 16 * 1024;

/// Whose root it is. Two provisioners that share none of this must not share a root: each would
/// take the other's directories for orphans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The provisioner's name.
    pub provisioner: String,
    /// The StorageClass it serves.
    pub storage_class: String,
    /// Namespace and name of the Lease, joined by a slash.
    pub lease: String,
}

/// What the record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermRecord {
    /// Whose root it is.
    pub owner: Owner,
    /// The term that was begun last.
    pub fence: Fence,
    /// The greatest revision of the API server that was seen; 0 if none was.
    #[serde(default)]
    pub seen: u64,
}

impl Root {
    /// Reads the record; `None` when the root has none yet.
    ///
    /// # Errors
    /// When it cannot be read or is not ours to understand.
    pub fn read_term(&self) -> Result<Option<TermRecord>, DirectoryError> {
        let path = self.state_path(TERM_FILE);
        let failed = |error| DirectoryError::io(&path, "the root's record cannot be read", error);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
            Ok(metadata) if metadata.len() > RECORD_MAX_BYTES => {
                return Err(failed(io::Error::other("it is too large")));
            }
            Ok(_) => {}
        }
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(failed)?,
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into()))
    }

    /// Refuses when the root belongs to another provisioner.
    ///
    /// # Errors
    /// Naming the owner and the remedy.
    pub fn check_owner(&self, owner: &Owner) -> Result<(), DirectoryError> {
        match self.read_term()? {
            Some(record) if record.owner != *owner => Err(DirectoryError::new(
                Trouble::Foreign,
                self.path(),
                format!(
                    "the root belongs to provisioner {:?} of class {:?} with lease {:?}: give this one a root of its \
                     own, or remove {} if the other is gone for good",
                    record.owner.provisioner,
                    record.owner.storage_class,
                    record.owner.lease,
                    self.state_path(TERM_FILE).display()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Begins a term on this root: makes the root and the state folder if need be, and records the
    /// term, which ends every earlier one here.
    ///
    /// A term that is older than the one on record begins too, but nothing is removed from then on;
    /// see [`Root::paused`].
    ///
    /// # Errors
    /// When the root belongs to another, the disk refuses, or the term is over.
    pub fn begin_term(&self, owner: &Owner, term: &Term) -> Result<(), DirectoryError> {
        let over = |error: crate::fence::TermOver| {
            DirectoryError::new(Trouble::Superseded, self.path(), error.to_string())
        };
        term.check().map_err(over)?;
        self.step_io("make-root", self.path(), || fs::create_dir_all(self.path()))?;
        self.check_owner(owner)?;
        self.step_io("make-state", &self.path().join(STATE_FOLDER), || make_state(self.path()))?;
        let earlier = self.read_term()?;
        term.check().map_err(over)?;
        let fence = term.fence().clone();
        let seen = match &earlier {
            Some(earlier) if is_older(&fence, &earlier.fence) => {
                let (ours, theirs) = (fence.transitions, earlier.fence.transitions);
                self.pause(&format!(
                    "the API server's Lease is at version {} (term {ours}) and was at {} (term {theirs})",
                    fence.resource_version, earlier.fence.resource_version
                ))?;
                0
            }
            Some(earlier) if earlier.fence.uid == fence.uid => earlier.seen,
            // Another Lease, of another cluster for one: its revisions say nothing about this
            // one's.
            _ => 0,
        };
        self.write_term(&TermRecord { owner: owner.clone(), fence, seen })
    }

    /// Compares the server's present revision with the greatest that this root has seen, and keeps
    /// the greater one.
    ///
    /// # Errors
    /// When the disk refuses or the term is over.
    pub fn compare_revision(&self, revision: u64, term: &Term) -> Result<(), DirectoryError> {
        let Some(record) = self.read_term()? else { return Ok(()) };
        self.check(term, self.path())?;
        if revision < record.seen {
            self.pause(&format!(
                "the API server is at revision {revision} and was at {}",
                record.seen
            ))?;
        }
        if revision == record.seen {
            return Ok(());
        }
        self.write_term(&TermRecord { seen: revision, ..record })
    }

    fn write_term(&self, record: &TermRecord) -> Result<(), DirectoryError> {
        self.step_io("record-term", &self.state_path(TERM_FILE), || {
            write_record(self.path(), record)
        })
    }
}

fn make_state(root: &Path) -> io::Result<()> {
    let root = open_root(root)?;
    make_folder(&root, STATE_FOLDER)?;
    let state = walk::open_folder(&root, STATE_FOLDER)?;
    for folder in [STAGING_FOLDER, TRASH_FOLDER, RETAINED_FOLDER] {
        make_folder(&state, folder)?;
    }
    walk::sync(&state)?;
    Ok(walk::sync(&root)?)
}

fn make_folder(parent: &std::os::fd::OwnedFd, name: &str) -> io::Result<()> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o700)) {
        Err(rustix::io::Errno::EXIST) => Ok(()),
        other => Ok(other?),
    }
}

fn write_record(root: &Path, record: &TermRecord) -> io::Result<()> {
    let root = open_root(root)?;
    let state = walk::open_folder(&root, STATE_FOLDER)?;
    // Written among the half-made things, so that a crash leaves it where the next sweep looks.
    let staging = walk::open_folder(&state, STAGING_FOLDER)?;
    let fresh = format!("term-{:016x}", fastrand::u64(..));
    let mut file = create_new(&staging, &fresh, 0o600)?;
    file.write_all(&serde_json::to_vec(record)?)?;
    file.sync_all()?;
    rustix::fs::renameat(&staging, &fresh, &state, TERM_FILE)?;
    Ok(walk::sync(&state)?)
}
