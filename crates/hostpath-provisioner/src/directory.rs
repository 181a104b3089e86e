//! The directories below the root: made, adopted, kept and taken back so that a crash between any two steps can be
//! repaired from what is on the disk. Blocking; nothing here knows the API server.
//!
//! A directory is built in the state folder, with its marker inside and on the disk, and then moved to its name with a
//! rename that never replaces anything: it exists whole or not at all. It goes the same way back: one rename into the
//! trash, then the removal. Every folder below the root is opened without following symbolic links.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::fence::Term;
use crate::location::{Location, SUBDIR_MAX_DEPTH};
use crate::marker::Marker;
use crate::names::{
    MARKER_FILE, RETAINED_FOLDER, STAGING_FOLDER, STATE_FOLDER, TERM_FILE, TRASH_FOLDER, claim_uid_of,
};

mod error;
mod term;
#[cfg(test)]
mod tests;
mod walk;

pub use self::error::{DirectoryError, Trouble};
pub use self::term::{Owner, TermRecord};
use self::walk::Found;

/// How often a step is begun anew when somebody removed the folder it was working in.
const RESTARTS: u32 = 8;

/// The root of all directories.
///
/// Cheap to clone. All methods block on the file system; none may be called on an async worker thread.
#[derive(Clone)]
pub struct Root {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    /// Staging entries that are being filled by this process, which a sweep leaves alone.
    making: Mutex<HashSet<String>>,
    probe: Option<Probe>,
}

/// Called around each step on the disk with its name and whether it was taken; an error stops the work there. For tests that crash a replica.
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
    /// A PersistentVolume of ours names the directory: a missing or unreadable marker does not matter, tenants can delete it.
    Volume,
    /// Only the marker inside says that it is ours, so it must be there and name the claim.
    Marker,
}

/// A directory that a listing found.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Where it is.
    pub location: Location,
    /// Its marker, if it has a readable one.
    pub marker: Option<Marker>,
    /// Whether it has been set apart to outlive its volume.
    pub retained: bool,
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
        Ok(Self { shared: Arc::new(Shared { path, making: Mutex::default(), probe }) })
    }

    /// The absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Makes the directory of a claim, or adopts it if its marker names the same claim.
    ///
    /// Durable when it returns. A directory that was adopted has its mode set again.
    ///
    /// # Errors
    /// When something else stands there, the disk refuses, or the term is over. Nothing is left outside the state folder then.
    pub fn ensure(
        &self,
        location: &Location,
        mode: u32,
        marker: &Marker,
        term: &Term,
    ) -> Result<Ensured, DirectoryError> {
        let path = location.below(self.path());
        for _ in 0..RESTARTS {
            self.check(term, &path)?;
            let Some(parent) = self.open_parent(location, true)? else { continue };
            match walk::open_folder(&parent, location.name()) {
                Ok(directory) => return self.adopt(&directory, &path, mode, marker),
                Err(Errno::NOENT) => {}
                Err(error) => {
                    return Err(DirectoryError::io(&path, "the directory cannot be made", error.into()));
                }
            }
            match self.stage_and_publish(&parent, location, mode, marker, term) {
                Ok(()) => return Ok(Ensured::Created),
                // Another one was faster, or the empty folder around it has just been removed: look again.
                Err(error) if error.is_not_found() || is_exists(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(DirectoryError::new(Trouble::Failed, &path, "the folder it belongs in keeps vanishing"))
    }

    fn adopt(
        &self,
        directory: &OwnedFd,
        path: &Path,
        mode: u32,
        wanted: &Marker,
    ) -> Result<Ensured, DirectoryError> {
        let foreign = |what: String| Err(DirectoryError::new(Trouble::Foreign, path, what));
        match walk::read_marker(directory)
            .map_err(|error| DirectoryError::io(path, "its marker cannot be read", error))?
        {
            Found::Marker(found) if found.claim_uid == wanted.claim_uid => {
                self.step("chmod", path, || rustix::fs::fchmod(directory, Mode::from_raw_mode(mode)))?;
                Ok(Ensured::Adopted(found))
            }
            Found::Marker(found) => foreign(format!(
                "a directory stands there whose marker names another claim (UID {}): move it away",
                found.claim_uid
            )),
            Found::Nothing => foreign(format!(
                "a directory stands there without {MARKER_FILE}, so it is not ours: move it away"
            )),
            Found::Invalid(why) => {
                foreign(format!("a directory stands there that is not ours ({why}): move it away"))
            }
        }
    }

    fn stage_and_publish(
        &self,
        parent: &OwnedFd,
        location: &Location,
        mode: u32,
        marker: &Marker,
        term: &Term,
    ) -> Result<(), DirectoryError> {
        let staging_path = self.state_path(STAGING_FOLDER);
        let staging = self.open_state(STAGING_FOLDER)?;
        let entry = format!("make-{}.{:016x}", location.claim_uid(), fastrand::u64(..));
        let _making = Making::begin(&self.shared, &entry);
        let entry_path = staging_path.join(&entry);
        let built = self
            .build_staged(&staging, &entry, &entry_path, mode, marker)
            .and_then(|()| self.check(term, &entry_path))
            .and_then(|()| {
                self.step("publish", &location.below(self.path()), || {
                    walk::rename_to_free(&staging, &entry, parent, location.name())
                })
            });
        match built {
            Ok(()) => {
                self.step("sync-parent", &location.below(self.path()), || walk::sync(parent))?;
                Ok(())
            }
            Err(error) => {
                // The next sweep would find it; but why leave it until then.
                let _ = self.step_io("unstage", &entry_path, || remove_tree(&entry_path));
                Err(error)
            }
        }
    }

    fn build_staged(
        &self,
        staging: &OwnedFd,
        entry: &str,
        path: &Path,
        mode: u32,
        marker: &Marker,
    ) -> Result<(), DirectoryError> {
        self.step("stage", path, || rustix::fs::mkdirat(staging, entry, Mode::from_raw_mode(0o700)))?;
        let directory = self.step("open-staged", path, || walk::open_folder(staging, entry))?;
        self.step_io("mark", path, || {
            let mut file = create_new(&directory, MARKER_FILE, 0o644)?;
            file.write_all(&marker.to_bytes())?;
            file.sync_all()
        })?;
        self.step("chmod", path, || rustix::fs::fchmod(&directory, Mode::from_raw_mode(mode)))?;
        self.step("sync-staged", path, || walk::sync(&directory))
    }

    /// Takes a directory back: one rename into the trash, then the removal of what is there. Empty subdir folders go with it.
    ///
    /// May be called again after it failed or crashed at any point, and goes on where that stopped.
    ///
    /// # Errors
    /// When what stands there is not this claim's, the disk refuses, or the term is over.
    pub fn remove(
        &self,
        location: &Location,
        authority: Authority,
        term: &Term,
    ) -> Result<Removed, DirectoryError> {
        let path = location.below(self.path());
        self.check(term, &path)?;
        let trash = self.open_state(TRASH_FOLDER)?;
        let entry = format!("gone-{}", location.claim_uid());
        let entry_path = self.state_path(TRASH_FOLDER).join(&entry);
        let mut removed = Removed::Absent;
        if self.step("look-in-trash", &entry_path, || walk::exists(&trash, &entry))? {
            self.step_io("empty-trash", &entry_path, || remove_tree(&entry_path))?;
            removed = Removed::Removed;
        }
        if let Some(parent) = self.open_parent(location, false)? {
            match walk::open_folder(&parent, location.name()) {
                Ok(directory) => {
                    self.confirm_ours(&directory, &path, location, authority)?;
                    self.check(term, &path)?;
                    let moved = self.step("condemn", &path, || {
                        match walk::rename_to_free(&parent, location.name(), &trash, &entry) {
                            Err(Errno::NOENT) => Ok(false),
                            other => other.map(|()| true),
                        }
                    })?;
                    if moved {
                        self.step("sync-parent", &path, || walk::sync(&parent))?;
                        self.step_io("remove", &entry_path, || remove_tree(&entry_path))?;
                        removed = Removed::Removed;
                    }
                }
                Err(Errno::NOENT) => {}
                Err(error) => {
                    return Err(DirectoryError::io(
                        &path,
                        "the directory cannot be taken back",
                        error.into(),
                    ));
                }
            }
        }
        self.step_io("unretain", &path, || self.set_retained_file(location, false))?;
        self.prune(location);
        Ok(removed)
    }

    fn confirm_ours(
        &self,
        directory: &OwnedFd,
        path: &Path,
        location: &Location,
        authority: Authority,
    ) -> Result<(), DirectoryError> {
        let found = walk::read_marker(directory)
            .map_err(|error| DirectoryError::io(path, "its marker cannot be read", error))?;
        let problem = match (found, authority) {
            (Found::Marker(marker), _) if marker.claim_uid == location.claim_uid() => return Ok(()),
            (Found::Nothing | Found::Invalid(_), Authority::Volume) => return Ok(()),
            (Found::Marker(marker), _) => {
                format!("its marker names another claim (UID {})", marker.claim_uid)
            }
            (Found::Nothing, Authority::Marker) => format!("it has no {MARKER_FILE}"),
            (Found::Invalid(why), Authority::Marker) => why.to_string(),
        };
        Err(DirectoryError::new(
            Trouble::Foreign,
            path,
            format!("not removed, since {problem}: look whose it is"),
        ))
    }

    /// Removes the folders of the subdir that have become empty. A failure is no trouble: they are found empty again later.
    fn prune(&self, location: &Location) {
        for depth in (1..=location.subdir().len()).rev() {
            let Some((name, outer)) = location.subdir().get(..depth).and_then(<[String]>::split_last) else {
                return;
            };
            let Ok(Some(parent)) = self.open_folders(outer, false) else { return };
            let path = self.path().join(outer.join("/")).join(name);
            let pruned =
                self.step("prune", &path, || rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR));
            if pruned.is_err() {
                return;
            }
        }
    }

    /// Notes, outside of the tenant's reach, that a directory outlives its volume (or no longer does): no sweep touches it then.
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
            rustix::fs::openat(&folder, location.name(), flags, Mode::from_raw_mode(0o600)).map(drop)
        } else {
            match rustix::fs::unlinkat(&folder, location.name(), AtFlags::empty()) {
                Err(Errno::NOENT) => return Ok(()),
                other => other,
            }
        };
        done.and_then(|()| walk::sync(&folder)).map_err(io::Error::from)
    }

    /// Removes what earlier terms left in the state folder: half-made directories and half-removed ones. Returns how many.
    ///
    /// # Errors
    /// At the first entry that cannot be removed, or when the term is over.
    pub fn clear_leftovers(&self, term: &Term) -> Result<usize, DirectoryError> {
        let mut cleared = 0;
        for folder in [STAGING_FOLDER, TRASH_FOLDER] {
            let path = self.state_path(folder);
            let entries =
                fs::read_dir(&path).map_err(|error| DirectoryError::io(&path, "cannot be listed", error))?;
            for entry in entries {
                let entry = entry.map_err(|error| DirectoryError::io(&path, "cannot be listed", error))?;
                if self.shared.making.lock().contains(&*entry.file_name().to_string_lossy()) {
                    continue;
                }
                self.check(term, &entry.path())?;
                self.step_io("clear-leftover", &entry.path(), || remove_tree(&entry.path()))?;
                cleared += 1;
            }
        }
        Ok(cleared)
    }

    /// Lists the directories that are named like ours, wherever a `subdir` may have put them.
    ///
    /// # Errors
    /// When the root or a folder in it cannot be listed.
    pub fn list(&self) -> Result<Vec<Listed>, DirectoryError> {
        let mut listed = Vec::new();
        let mut folders = vec![Vec::<String>::new()];
        while let Some(subdir) = folders.pop() {
            let Some(folder) = self.open_folders(&subdir, false)? else { continue };
            let path = self.path().join(subdir.join("/"));
            let cannot = |error: Errno| DirectoryError::io(&path, "cannot be listed", error.into());
            for entry in rustix::fs::Dir::read_from(&folder).map_err(cannot)? {
                let entry = entry.map_err(cannot)?;
                let Ok(name) = entry.file_name().to_str() else { continue };
                if name.starts_with('.') {
                    continue;
                }
                if let Some(uid) = claim_uid_of(name) {
                    let Ok(location) = Location::new(subdir.clone(), uid) else { continue };
                    // Opening is also how a file or a link under such a name is told apart.
                    let Ok(directory) = walk::open_folder(&folder, name) else { continue };
                    let marker = match walk::read_marker(&directory) {
                        Ok(Found::Marker(marker)) => Some(marker),
                        _ => None,
                    };
                    let retained = self.is_retained(&location)?;
                    listed.push(Listed { location, marker, retained });
                } else if subdir.len() < SUBDIR_MAX_DEPTH && walk::open_folder(&folder, name).is_ok() {
                    let mut deeper = subdir.clone();
                    deeper.push(name.to_owned());
                    folders.push(deeper);
                }
            }
        }
        Ok(listed)
    }

    fn is_retained(&self, location: &Location) -> Result<bool, DirectoryError> {
        let folder = self.open_state(RETAINED_FOLDER)?;
        walk::exists(&folder, location.name()).map_err(|error| {
            DirectoryError::io(&self.state_path(RETAINED_FOLDER), "cannot be read", error.into())
        })
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
    fn open_parent(&self, location: &Location, make: bool) -> Result<Option<OwnedFd>, DirectoryError> {
        self.open_folders(location.subdir(), make)
    }

    fn open_folders(&self, components: &[String], make: bool) -> Result<Option<OwnedFd>, DirectoryError> {
        let mut path = self.path().to_path_buf();
        let mut folder = open_root(&path)
            .map_err(|error| DirectoryError::io(&path, "the root cannot be opened", error.into()))?;
        for component in components {
            path.push(component);
            let cannot =
                |error: Errno| DirectoryError::io(&path, "the folder cannot be opened", error.into());
            let next = match walk::open_folder(&folder, component) {
                Err(Errno::NOENT) if make => {
                    let made = self.step("make-subdir", &path, || {
                        match rustix::fs::mkdirat(&folder, component, Mode::from_raw_mode(0o755)) {
                            Err(Errno::EXIST) => Ok(()),
                            // The folder around it was pruned under our feet; the caller begins anew.
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

    fn probe(&self, name: &'static str, moment: Moment) -> io::Result<()> {
        self.shared.probe.as_ref().map_or(Ok(()), |probe| probe(name, moment))
    }
}

/// Marks a staging entry as being filled for as long as it lives.
struct Making<'a> {
    shared: &'a Shared,
    entry: String,
}

impl<'a> Making<'a> {
    fn begin(shared: &'a Shared, entry: &str) -> Self {
        shared.making.lock().insert(entry.to_owned());
        Self { shared, entry: entry.to_owned() }
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.shared.making.lock().remove(&self.entry);
    }
}

fn is_exists(error: &DirectoryError) -> bool {
    error.source.as_ref().is_some_and(|source| {
        matches!(source.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty)
    })
}

/// The root itself may be a symbolic link: that is the operator's choice, not a tenant's.
fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn create_new(folder: &OwnedFd, name: &str, mode: u32) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(mode))?))
}

/// Removes a tree, links in it as links. Two that do it at once are no trouble to each other.
fn remove_tree(path: &Path) -> io::Result<()> {
    for _ in 0..RESTARTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return ignore_missing(fs::remove_file(path));
            }
            other => return other,
        }
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(());
        }
    }
    Err(io::Error::other("it keeps changing while it is removed"))
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
