//! Looks at the root: lists the directories, and removes the leftovers of earlier terms. A listing
//! or a removal passes over entries that fail and reports them, so that one bad entry hides nothing
//! else.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::tree::remove_leftover;
use super::walk::{self, Found};
use super::{DirectoryError, Root};
use crate::fence::Term;
use crate::location::{Location, SUBDIR_MAX_DEPTH};
use crate::marker::Marker;
use crate::names::{RETAINED_FOLDER, STAGING_FOLDER, TRASH_FOLDER, claim_uid_of};

/// A directory that a listing found.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Where it is.
    pub location: Location,
    /// Its marker, if it has a readable one.
    pub marker: Option<Marker>,
    /// Whether it has been set apart to outlive its volume.
    pub retained: bool,
    /// Whether it holds anything but its marker: then it has had a volume.
    pub holds_data: bool,
}

/// What a listing found.
#[derive(Debug, Default)]
pub struct Listing {
    /// The directories.
    pub found: Vec<Listed>,
    /// What could not be looked into, and is left out.
    pub skipped: Vec<DirectoryError>,
}

/// What became of the leftovers of earlier terms.
#[derive(Debug, Default)]
pub struct Cleared {
    /// So many were removed.
    pub removed: usize,
    /// What could not be removed, and stays for the next time.
    pub stuck: Vec<DirectoryError>,
}

impl Root {
    /// Removes what earlier terms left in the state folder: half-made directories and half-removed
    /// ones. Passes over what it cannot remove, and removes nothing while removals are paused.
    ///
    /// # Errors
    /// When a folder cannot be listed at all, or when the term is over.
    pub fn clear_leftovers(&self, term: &Term) -> Result<Cleared, DirectoryError> {
        let mut cleared = Cleared::default();
        if self.paused()?.is_some() {
            return Ok(cleared);
        }
        for name in [STAGING_FOLDER, TRASH_FOLDER] {
            let path = self.state_path(name);
            let folder = self.open_state(name)?;
            let cannot = |error: Errno| DirectoryError::io(&path, "cannot be listed", error.into());
            for entry in rustix::fs::Dir::read_from(&folder).map_err(cannot)? {
                let entry = entry.map_err(cannot)?;
                let name = entry.file_name();
                let shown = name.to_string_lossy();
                if matches!(&*shown, "." | "..") || self.shared.making.lock().contains(&*shown) {
                    continue;
                }
                let path = path.join(&*shown);
                self.check(term, &path)?;
                match self
                    .step_on("clear-leftover", &path, || remove_leftover(&folder, name, &path))
                {
                    Ok(()) => cleared.removed += 1,
                    Err(error) => cleared.stuck.push(error),
                }
            }
        }
        Ok(cleared)
    }

    /// The marker of a directory; `None` if it has no readable one of its claim, or is not there.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub fn marker(&self, location: &Location) -> Result<Option<Marker>, DirectoryError> {
        let path = location.below(self.path());
        let Some(parent) = self.open_folders(location.subdir(), false)? else { return Ok(None) };
        let cannot =
            |error: std::io::Error| DirectoryError::io(&path, "its marker cannot be read", error);
        let directory = match walk::open_folder(&parent, location.name()) {
            Ok(directory) => directory,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(error) => return Err(cannot(error.into())),
        };
        match walk::read_marker(&directory).map_err(cannot)? {
            Found::Marker(marker) if marker.claim_uid == location.claim_uid() => Ok(Some(marker)),
            _ => Ok(None),
        }
    }

    /// Lists the directories that are named like ours, wherever a `subdir` may have put them.
    /// Passes over folders that it cannot look into.
    ///
    /// # Errors
    /// When the root cannot be listed, or when it is not known which directories are retained.
    pub fn list(&self) -> Result<Listing, DirectoryError> {
        let mut listing = Listing::default();
        let mut folders = vec![Vec::<String>::new()];
        while let Some(subdir) = folders.pop() {
            match self.list_folder(&subdir, &mut listing) {
                Ok(deeper) => folders.extend(deeper),
                Err(error) if subdir.is_empty() || error.path.starts_with(self.state_path("")) => {
                    return Err(error);
                }
                Err(error) => listing.skipped.push(error),
            }
        }
        Ok(listing)
    }

    /// Lists one folder, and returns the folders in it that may hold more.
    fn list_folder(
        &self,
        subdir: &[String],
        listing: &mut Listing,
    ) -> Result<Vec<Vec<String>>, DirectoryError> {
        let mut deeper = Vec::new();
        let Some(folder) = self.open_folders(subdir, false)? else { return Ok(deeper) };
        let path = self.path().join(subdir.join("/"));
        let cannot = |error: Errno| DirectoryError::io(&path, "cannot be listed", error.into());
        for entry in rustix::fs::Dir::read_from(&folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with('.') {
                continue;
            }
            if let Some(uid) = claim_uid_of(name) {
                let Ok(location) = Location::new(subdir.to_vec(), uid) else { continue };
                // Opening is also how a file or a link under such a name is told apart.
                let directory = match walk::open_folder(&folder, name) {
                    Ok(directory) => directory,
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                    Err(error) => {
                        let path = path.join(name);
                        listing.skipped.push(DirectoryError::io(
                            &path,
                            "cannot be opened",
                            error.into(),
                        ));
                        continue;
                    }
                };
                let marker = match walk::read_marker(&directory) {
                    Ok(Found::Marker(marker)) => Some(marker),
                    _ => None,
                };
                let holds_data = match walk::holds_data(&directory) {
                    Ok(holds_data) => holds_data,
                    Err(error) => {
                        let path = path.join(name);
                        listing.skipped.push(DirectoryError::io(
                            &path,
                            "cannot be listed",
                            error.into(),
                        ));
                        continue;
                    }
                };
                let retained = self.is_retained(&location)?;
                listing.found.push(Listed { location, marker, retained, holds_data });
            } else if subdir.len() < SUBDIR_MAX_DEPTH && is_folder(&folder, &entry) {
                deeper.push([subdir, &[name.to_owned()]].concat());
            }
        }
        Ok(deeper)
    }

    fn is_retained(&self, location: &Location) -> Result<bool, DirectoryError> {
        let folder = self.open_state(RETAINED_FOLDER)?;
        walk::exists(&folder, location.name()).map_err(|error| {
            DirectoryError::io(&self.state_path(RETAINED_FOLDER), "cannot be read", error.into())
        })
    }
}

/// Whether an entry is a folder, without opening it: opening it may be refused, and the caller
/// reports that.
fn is_folder(parent: &OwnedFd, entry: &rustix::fs::DirEntry) -> bool {
    match entry.file_type() {
        FileType::Unknown => {
            rustix::fs::statat(parent, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
        }
        other => other == FileType::Directory,
    }
}
