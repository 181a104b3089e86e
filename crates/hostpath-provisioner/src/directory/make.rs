//! Making a directory: whole, with its marker, and under its name in one step; or adopting the one
//! that an earlier attempt made.

use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::Mode;
use rustix::io::Errno;

use super::tree::remove_tree;
use super::walk::{self, Found};
use super::{DirectoryError, Ensured, RESTARTS, Root, Shared, Trouble, c_name, create_new};
use crate::fence::Term;
use crate::location::Location;
use crate::marker::Marker;
use crate::names::{MARKER_FILE, STAGING_FOLDER};

impl Root {
    /// Makes the directory of a claim, or adopts it if its marker names the same claim.
    ///
    /// Durable when it returns. A directory that was adopted has its mode set again.
    ///
    /// # Errors
    /// When something else stands there, the disk refuses, or the term is over. Nothing is left
    /// outside the state folder then.
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
            let _stay = self.shared.folders.read();
            let Some(parent) = self.open_parent(location, true)? else { continue };
            match walk::open_folder(&parent, location.name()) {
                Ok(directory) => {
                    let adopted = self.adopt(&directory, &path, mode, marker)?;
                    // Whoever published it may have been killed before its name was on the disk.
                    self.step("sync-parent", &path, || walk::sync(&parent))?;
                    return Ok(adopted);
                }
                Err(Errno::NOENT) => {}
                Err(error) => {
                    return Err(DirectoryError::io(
                        &path,
                        "the directory cannot be made",
                        error.into(),
                    ));
                }
            }
            match self.stage_and_publish(&parent, location, mode, marker, term) {
                Ok(()) => return Ok(Ensured::Created),
                // Another one was faster, or the empty folder around it has just been removed: look
                // again.
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
                self.step("chmod", path, || {
                    rustix::fs::fchmod(directory, Mode::from_raw_mode(mode))
                })?;
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
                let _ = self.step_on("unstage", &entry_path, || {
                    remove_tree(&staging, &c_name(&entry), &entry_path)
                });
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
        self.step("stage", path, || {
            rustix::fs::mkdirat(staging, entry, Mode::from_raw_mode(0o700))
        })?;
        let directory = self.step("open-staged", path, || walk::open_folder(staging, entry))?;
        self.step_io("mark", path, || {
            let mut file = create_new(&directory, MARKER_FILE, 0o644)?;
            file.write_all(&marker.to_bytes())?;
            file.sync_all()
        })?;
        self.step("chmod", path, || rustix::fs::fchmod(&directory, Mode::from_raw_mode(mode)))?;
        self.step("sync-staged", path, || walk::sync(&directory))
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
