//! Which mount a folder is on. Renames and removals stay on the root's.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use super::{DirectoryError, Root, open_root, walk};
use crate::location::SUBDIR_MAX_DEPTH;
use crate::names::{RETAINED_FOLDER, STAGING_FOLDER, STATE_FOLDER, TRASH_FOLDER, claim_uid_of};

/// A mount, as far as the kernel tells them apart: two mounts of one file system have the same
/// device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Linux says it since 5.8.
    id: Option<u64>,
    device: (u32, u32),
}

impl Mount {
    /// The mount on which an opened folder is.
    pub(super) fn of(folder: impl AsFd) -> Result<Self, Errno> {
        let wanted = StatxFlags::TYPE | StatxFlags::MNT_ID;
        let found = rustix::fs::statx(folder, c"", AtFlags::EMPTY_PATH, wanted)?;
        let has_id = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
        Ok(Self {
            id: has_id.then_some(found.stx_mnt_id),
            device: (found.stx_dev_major, found.stx_dev_minor),
        })
    }

    /// [`Mount::of`], with an error that names the folder.
    pub(super) fn of_path(folder: impl AsFd, path: &Path) -> Result<Self, DirectoryError> {
        Self::of(folder)
            .map_err(|error| DirectoryError::io(path, "its mount is not known", error.into()))
    }

    /// Refuses a folder that is on another mount.
    pub(super) fn check(self, folder: impl AsFd, path: &Path) -> Result<(), DirectoryError> {
        if Self::of_path(folder, path)? == self {
            Ok(())
        } else {
            Err(DirectoryError::mounted(path))
        }
    }
}

impl Root {
    /// Looks for a folder of the root, outside of the volumes' directories, that is on another
    /// mount: no rename gets there.
    ///
    /// # Errors
    /// Naming the first such folder. A folder that cannot be looked into is passed over.
    pub fn check_mounts(&self) -> Result<(), DirectoryError> {
        let root = open_root(self.path()).map_err(|error| {
            DirectoryError::io(self.path(), "the root cannot be opened", error.into())
        })?;
        let mount = Mount::of_path(&root, self.path())?;
        if let Ok(state) = walk::open_folder(&root, STATE_FOLDER) {
            let path = self.path().join(STATE_FOLDER);
            mount.check(&state, &path)?;
            for name in [STAGING_FOLDER, TRASH_FOLDER, RETAINED_FOLDER] {
                if let Ok(folder) = walk::open_folder(&state, name) {
                    mount.check(&folder, &path.join(name))?;
                }
            }
        }
        let mut folders = vec![(root, self.path().to_path_buf(), 0)];
        while let Some((folder, path, depth)) = folders.pop() {
            let Ok(entries) = rustix::fs::Dir::read_from(&folder) else { continue };
            for entry in entries.map_while(Result::ok) {
                let Ok(name) = entry.file_name().to_str() else { continue };
                if name.starts_with('.') || claim_uid_of(name).is_some() {
                    continue;
                }
                let Ok(next) = walk::open_folder(&folder, name) else { continue };
                let path = path.join(name);
                mount.check(&next, &path)?;
                if depth + 1 < SUBDIR_MAX_DEPTH {
                    folders.push((next, path, depth + 1));
                }
            }
        }
        Ok(())
    }
}
