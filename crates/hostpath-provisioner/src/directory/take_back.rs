//! Taking a directory back: one rename into the trash, then the removal, each of which may be found
//! half done.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::mount::Mount;
use super::tree::{ORPHAN, remove_leftover};
use super::walk::{self, Found};
use super::{Authority, DirectoryError, Removed, Root, Trouble, c_name};
use crate::fence::Term;
use crate::location::Location;
use crate::names::{MARKER_FILE, TRASH_FOLDER};

impl Root {
    /// Looks whether a directory may be taken back: ours, on the root's mount, and nothing on the
    /// disk that says no. Changes nothing.
    ///
    /// # Errors
    /// As [`Root::remove`].
    pub fn inspect(
        &self,
        location: &Location,
        authority: Authority,
        term: &Term,
    ) -> Result<(), DirectoryError> {
        let path = location.below(self.path());
        self.check(term, &path)?;
        self.check_not_paused()?;
        let Some(parent) = self.open_parent(location, false)? else { return Ok(()) };
        self.open_ours(&parent, &path, location, authority).map(drop)
    }

    /// Takes a directory back: one rename into the trash, then the removal of what is there. Empty
    /// subdir folders go with it.
    ///
    /// May be called again after it failed or crashed at any point, and goes on where that stopped.
    ///
    /// # Errors
    /// When what stands there is not this claim's or on another mount, the disk refuses, nothing
    /// may be removed now, or the term is over.
    pub fn remove(
        &self,
        location: &Location,
        authority: Authority,
        term: &Term,
    ) -> Result<Removed, DirectoryError> {
        let path = location.below(self.path());
        self.check(term, &path)?;
        self.check_not_paused()?;
        let trash = self.open_state(TRASH_FOLDER)?;
        let entry = match authority {
            Authority::Volume => format!("gone-{}", location.claim_uid()),
            Authority::Marker => format!("{ORPHAN}{}", location.claim_uid()),
        };
        let entry_path = self.state_path(TRASH_FOLDER).join(&entry);
        let remove_entry = || remove_leftover(&trash, &c_name(&entry), &entry_path);
        let mut removed = Removed::Absent;
        if self.step("look-in-trash", &entry_path, || walk::exists(&trash, &entry))? {
            self.step_on("empty-trash", &entry_path, remove_entry)?;
            removed = Removed::Removed;
        }
        if let Some(parent) = self.open_parent(location, false)?
            && self.open_ours(&parent, &path, location, authority)?.is_some()
        {
            self.check(term, &path)?;
            let moved = self.step("condemn", &path, || {
                match walk::rename_to_free(&parent, location.name(), &trash, &entry) {
                    Err(Errno::NOENT) => Ok(false),
                    other => other.map(|()| true),
                }
            })?;
            if moved {
                self.step("sync-parent", &path, || walk::sync(&parent))?;
                self.step_on("remove", &entry_path, remove_entry)?;
                removed = Removed::Removed;
            }
        }
        self.step_io("unretain", &path, || self.set_retained_file(location, false))?;
        self.prune(location);
        Ok(removed)
    }

    /// Opens a directory that may be taken back; `None` if there is none.
    fn open_ours(
        &self,
        parent: &OwnedFd,
        path: &Path,
        location: &Location,
        authority: Authority,
    ) -> Result<Option<OwnedFd>, DirectoryError> {
        let directory = match walk::open_folder(parent, location.name()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => {
                return Err(DirectoryError::io(
                    path,
                    "the directory cannot be taken back",
                    error.into(),
                ));
            }
        };
        Mount::of_path(parent, path)?.check(&directory, path)?;
        self.confirm_ours(&directory, path, location, authority)?;
        Ok(Some(directory))
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
            (Found::Marker(marker), authority) if marker.claim_uid == location.claim_uid() => {
                let holds_data = authority == Authority::Marker
                    && walk::holds_data(directory).map_err(|error| {
                        DirectoryError::io(path, "it cannot be listed", error.into())
                    })?;
                if !holds_data {
                    return Ok(());
                }
                "it holds data, so it has had a volume".to_owned()
            }
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

    /// Removes the folders of the subdir that have become empty. A failure is no trouble: they are
    /// found empty again later.
    fn prune(&self, location: &Location) {
        for depth in (1..=location.subdir().len()).rev() {
            let Some((name, outer)) =
                location.subdir().get(..depth).and_then(<[String]>::split_last)
            else {
                return;
            };
            let Ok(Some(parent)) = self.open_folders(outer, false) else { return };
            let path = self.path().join(outer.join("/")).join(name);
            let _alone = self.shared.folders.write();
            let pruned = self
                .step("prune", &path, || rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR));
            if pruned.is_err() {
                return;
            }
        }
    }
}
