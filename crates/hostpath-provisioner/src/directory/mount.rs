//! Which mount a folder is on. Renames and removals stay on the root's.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use super::DirectoryError;

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
