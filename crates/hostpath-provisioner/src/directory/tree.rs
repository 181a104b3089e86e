//! Removing a tree: one opened folder at a time, links as links, and never beyond the mount on which it begins.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode};
use rustix::io::Errno;

use super::mount::Mount;
use super::{DirectoryError, RESTARTS, walk};

/// Removes the entry `name` of `parent`, whatever it is, with all that is below it. `path` is what it is called in errors.
///
/// A missing entry is success, and so is one that another call removes at the same time.
///
/// # Errors
/// At the first entry that cannot be removed, which the error names: a mount, for one.
pub(super) fn remove_tree(parent: impl AsFd, name: &CStr, path: &Path) -> Result<(), DirectoryError> {
    let parent = parent.as_fd();
    let mount = Mount::of(parent).map_err(|error| failed(path, error))?;
    remove(parent, name, &mut path.to_path_buf(), mount)
}

fn remove(
    parent: BorrowedFd<'_>,
    name: &CStr,
    path: &mut PathBuf,
    mount: Mount,
) -> Result<(), DirectoryError> {
    for _ in 0..RESTARTS {
        let folder = match rustix::fs::openat(parent, name, walk::FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTDIR | Errno::LOOP) => match unlink(parent, name, path)? {
                Unlinked::Gone => return Ok(()),
                Unlinked::IsFolder => continue,
            },
            Err(error) => return Err(failed(path, error)),
        };
        if Mount::of(&folder).map_err(|error| failed(path, error))? != mount {
            return Err(DirectoryError::mounted(path));
        }
        empty(folder.as_fd(), path, mount)?;
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            // Something was put there since, or took its place.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(error) => return Err(failed(path, error)),
        }
    }
    Err(DirectoryError::io(path, "cannot be removed", io::Error::other("it changes all the while")))
}

fn empty(folder: BorrowedFd<'_>, path: &mut PathBuf, mount: Mount) -> Result<(), DirectoryError> {
    for entry in Dir::read_from(folder).map_err(|error| failed(path, error))? {
        let entry = entry.map_err(|error| failed(path, error))?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        path.push(OsStr::from_bytes(name.to_bytes()));
        let may_be_folder = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if may_be_folder || matches!(unlink(folder, name, path)?, Unlinked::IsFolder) {
            remove(folder, name, path, mount)?;
        }
        path.pop();
    }
    Ok(())
}

enum Unlinked {
    Gone,
    IsFolder,
}

fn unlink(parent: BorrowedFd<'_>, name: &CStr, path: &Path) -> Result<Unlinked, DirectoryError> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(Unlinked::Gone),
        Err(Errno::ISDIR) => Ok(Unlinked::IsFolder),
        Err(error) => Err(failed(path, error)),
    }
}

fn failed(path: &Path, error: Errno) -> DirectoryError {
    match error {
        // A file can be a mount too.
        Errno::BUSY => DirectoryError::mounted(path),
        Errno::PERM | Errno::ACCESS => DirectoryError::denied(path, error.into()),
        _ => DirectoryError::io(path, "cannot be removed", error.into()),
    }
}
