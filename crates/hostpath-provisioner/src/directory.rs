//! The directories below the root: made, adopted, kept and taken back so that a crash between any
//! two steps can be repaired from what is on the disk. Blocking; nothing here knows the API server.
//!
//! A directory is built in the state folder, with its marker inside and on the disk, and then moved
//! to its name with a rename that never replaces anything: it exists whole or not at all. It goes
//! the same way back: one rename into the trash, then the removal. Every folder below the root is
//! opened without following symbolic links, and on the root's mount.

use std::collections::HashSet;
use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::fence::Term;
use crate::location::Location;
use crate::marker::Marker;
use crate::names::{RETAINED_FOLDER, STATE_FOLDER, TERM_FILE};

mod check_mounts;
mod error;
mod look;
mod make;
mod mount;
mod restored;
mod take_back;
mod term;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

pub use self::error::{DirectoryError, Trouble};
pub use self::look::{Cleared, Listed, Listing};
use self::mount::Mount;
pub(crate) use self::restored::is_older;
pub use self::term::{Owner, TermRecord};

/// How often a step is begun anew when somebody removed the folder it was working in.
const RESTARTS: u32 = 8;

/// The root of all directories.
///
/// Cheap to clone. All methods block on the file system; none may be called on an async worker
/// thread.
#[derive(Clone)]
pub struct Root {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    /// Staging entries that are being filled by this process, which a sweep leaves alone.
    making: Mutex<HashSet<String>>,
    /// Shared while a directory is put into the folders of its subdir, exclusive while an empty
    /// one of them is removed: otherwise makers would find them gone again and again.
    folders: RwLock<()>,
    probe: Option<Probe>,
}

/// Called around each step on the disk with its name and whether it was taken; an error stops the
/// work there. For tests that crash a replica.
pub type Probe = Box<dyn Fn(&'static str, Moment) -> io::Result<()> + Send + Sync>;

/// On which side of a step a [`Probe`] is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The step has not been taken.
    Before,
    /// The step has been taken.
    After,
}

/// How a directory came to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ensured {
    /// It was made now.
    Created,
    /// It was there, and its marker names this claim.
    Adopted(Marker),
}

/// What a removal found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The directory, or the rest of it in the trash, is gone now.
    Removed,
    /// There was none.
    Absent,
}

/// On whose word a directory is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// A PersistentVolume of ours names the directory: a missing or unreadable marker does not
    /// matter, tenants can delete it.
    Volume,
    /// Only the marker inside says that it is ours, so it must be there and name the claim. Nothing
    /// else may be there: no pod can write before there is a volume, so data means that the
    /// server has forgotten one.
    Marker,
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl Root {
    /// The root at this path, made absolute. Touches nothing.
    ///
    /// # Errors
    /// When the path is empty or the current folder is unknown.
    pub fn new(path: &Path) -> io::Result<Self> {
        Self::build(path, None)
    }

    /// [`Root::new`] with a probe around each step.
    ///
    /// # Errors
    /// As [`Root::new`].
    #[doc(hidden)]
    pub fn with_probe(path: &Path, probe: Probe) -> io::Result<Self> {
        Self::build(path, Some(probe))
    }

    fn build(path: &Path, probe: Option<Probe>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        Ok(Self {
            shared: Arc::new(Shared {
                path,
                making: Mutex::default(),
                folders: RwLock::default(),
                probe,
            }),
        })
    }

    /// The absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Notes, outside of the tenant's reach, that a directory outlives its volume (or no longer
    /// does): no sweep touches it then.
    ///
    /// # Errors
    /// When the disk refuses or the term is over.
    pub fn set_retained(
        &self,
        location: &Location,
        retained: bool,
        term: &Term,
    ) -> Result<(), DirectoryError> {
        let path = self.state_path(RETAINED_FOLDER).join(location.name());
        self.check(term, &path)?;
        self.step_io(if retained { "retain" } else { "unretain" }, &path, || {
            self.set_retained_file(location, retained)
        })
    }

    fn set_retained_file(&self, location: &Location, retained: bool) -> io::Result<()> {
        let folder = self.open_state_raw(RETAINED_FOLDER)?;
        let done = if retained {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&folder, location.name(), flags, Mode::from_raw_mode(0o600))
                .map(drop)
        } else {
            match rustix::fs::unlinkat(&folder, location.name(), AtFlags::empty()) {
                Err(Errno::NOENT) => return Ok(()),
                other => other,
            }
        };
        done.and_then(|()| walk::sync(&folder)).map_err(io::Error::from)
    }

    /// Refuses when the term is over or another one has begun on this root since.
    fn check(&self, term: &Term, path: &Path) -> Result<(), DirectoryError> {
        let over = |what: String| DirectoryError::new(Trouble::Superseded, path, what);
        term.check().map_err(|error| over(error.to_string()))?;
        match self.read_term()? {
            Some(record) if record.fence == *term.fence() => Ok(()),
            Some(record) => Err(over(format!(
                "the term {} has begun on this root since ours ({}) did",
                record.fence,
                term.fence()
            ))),
            None => Err(over(format!("{} is gone from the root", TERM_FILE))),
        }
    }

    /// The folder around a directory; `None` when it does not exist and is not to be made.
    fn open_parent(
        &self,
        location: &Location,
        make: bool,
    ) -> Result<Option<OwnedFd>, DirectoryError> {
        self.open_folders(location.subdir(), make)
    }

    fn open_folders(
        &self,
        components: &[String],
        make: bool,
    ) -> Result<Option<OwnedFd>, DirectoryError> {
        let mut path = self.path().to_path_buf();
        let mut folder = open_root(&path).map_err(|error| {
            DirectoryError::io(&path, "the root cannot be opened", error.into())
        })?;
        let mount = Mount::of_path(&folder, &path)?;
        for component in components {
            path.push(component);
            let cannot = |error: Errno| {
                DirectoryError::io(&path, "the folder cannot be opened", error.into())
            };
            let next = match walk::open_folder(&folder, component) {
                Err(Errno::NOENT) if make => {
                    let made = self.step("make-subdir", &path, || {
                        match rustix::fs::mkdirat(&folder, component, Mode::from_raw_mode(0o755)) {
                            Err(Errno::EXIST) => Ok(()),
                            // The folder around it was pruned under our feet; the caller begins
                            // anew.
                            Err(Errno::NOENT) => Ok(()),
                            other => other,
                        }
                    });
                    made.and_then(|()| self.step("sync-parent", &path, || walk::sync(&folder)))?;
                    match walk::open_folder(&folder, component) {
                        Err(Errno::NOENT) => return Ok(None),
                        other => other.map_err(cannot)?,
                    }
                }
                Err(Errno::NOENT) => return Ok(None),
                other => other.map_err(cannot)?,
            };
            mount.check(&next, &path)?;
            folder = next;
        }
        Ok(Some(folder))
    }

    fn state_path(&self, folder: &str) -> PathBuf {
        self.path().join(STATE_FOLDER).join(folder)
    }

    fn open_state(&self, folder: &str) -> Result<OwnedFd, DirectoryError> {
        self.open_state_raw(folder).map_err(|error| {
            DirectoryError::io(
                &self.state_path(folder),
                "the provisioner's own folder cannot be opened",
                error.into(),
            )
        })
    }

    fn open_state_raw(&self, folder: &str) -> Result<OwnedFd, Errno> {
        let root = open_root(self.path())?;
        let state = walk::open_folder(&root, STATE_FOLDER)?;
        walk::open_folder(&state, folder)
    }

    fn step<T>(
        &self,
        name: &'static str,
        path: &Path,
        take: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, DirectoryError> {
        self.step_io(name, path, || take().map_err(io::Error::from))
    }

    fn step_io<T>(
        &self,
        name: &'static str,
        path: &Path,
        take: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, DirectoryError> {
        let taken = self.probe(name, Moment::Before).and_then(|()| take());
        let taken = taken.and_then(|value| self.probe(name, Moment::After).map(|()| value));
        taken.map_err(|error| DirectoryError::io(path, name, error))
    }

    /// A step whose own errors say enough.
    fn step_on<T>(
        &self,
        name: &'static str,
        path: &Path,
        take: impl FnOnce() -> Result<T, DirectoryError>,
    ) -> Result<T, DirectoryError> {
        let probe = |moment| {
            self.probe(name, moment).map_err(|error| DirectoryError::io(path, name, error))
        };
        probe(Moment::Before)?;
        let value = take()?;
        probe(Moment::After)?;
        Ok(value)
    }

    fn probe(&self, name: &'static str, moment: Moment) -> io::Result<()> {
        self.shared.probe.as_ref().map_or(Ok(()), |probe| probe(name, moment))
    }
}

/// The root itself may be a symbolic link: that is the operator's choice, not a tenant's.
fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn create_new(folder: &OwnedFd, name: &str, mode: u32) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(mode))?))
}

/// The name of an entry that we made, for the system's calls. Such a name has no zero byte.
fn c_name(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}
