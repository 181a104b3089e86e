//! Removing a tree: one opened folder at a time, links as links, and never beyond the mount on
//! which it begins.

use std::cell::Cell;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode};
use rustix::io::Errno;

use super::mount::Mount;
use super::{DirectoryError, RESTARTS, Trouble, walk};
use crate::names::MARKER_FILE;

/// The most folders that are open at once, with two descriptors each. A deeper folder is moved to
/// the top before it is removed: a pod may make folders of any depth.
const DEPTH: usize = 64;
/// The most passes through a tree: enough for 640,000 levels.
const PASSES: u64 = 10_000;

/// How the name of an orphan in the trash begins: it is removed only if it holds nothing but its
/// marker.
pub(super) const ORPHAN: &str = "orphan-";

/// Removes an entry of the trash or of the half-made directories.
///
/// # Errors
/// As [`remove_tree`]; of an orphan also if it holds data: a pod can have written it meanwhile.
pub(super) fn remove_leftover(
    parent: impl AsFd,
    name: &CStr,
    path: &Path,
) -> Result<(), DirectoryError> {
    if !name.to_bytes().starts_with(ORPHAN.as_bytes()) {
        return remove_tree(parent, name, path);
    }
    let parent = parent.as_fd();
    let holds_data = || {
        DirectoryError::new(
            Trouble::Foreign,
            path,
            "it holds data: move it out of the trash by hand",
        )
    };
    let directory = match rustix::fs::openat(parent, name, walk::FOLDER, Mode::empty()) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(failed(path, error)),
    };
    if walk::holds_data(&directory).map_err(|error| failed(path, error))? {
        return Err(holds_data());
    }
    match rustix::fs::unlinkat(&directory, MARKER_FILE, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(failed(path, error)),
    }
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::NOTEMPTY) => Err(holds_data()),
        Err(error) => Err(failed(path, error)),
    }
}

/// Removes the entry `name` of `parent`, whatever it is, with all that is below it. `path` is what
/// it is called in errors.
///
/// A missing entry is success, and so is one that another call removes at the same time.
///
/// # Errors
/// At the first entry that cannot be removed, which the error names: a mount, for one.
pub(super) fn remove_tree(
    parent: impl AsFd,
    name: &CStr,
    path: &Path,
) -> Result<(), DirectoryError> {
    let parent = parent.as_fd();
    let mount = Mount::of(parent).map_err(|error| failed(path, error))?;
    let at = At { mount, top: None, depth: 0, lifted: &Cell::new(0) };
    remove(parent, name, &mut path.to_path_buf(), at)
}

/// Where in a tree.
#[derive(Clone, Copy)]
struct At<'a> {
    mount: Mount,
    /// The folder at the top, once it is open.
    top: Option<BorrowedFd<'a>>,
    depth: usize,
    /// How many folders were moved there.
    lifted: &'a Cell<u64>,
}

fn remove(
    parent: BorrowedFd<'_>,
    name: &CStr,
    path: &mut PathBuf,
    at: At<'_>,
) -> Result<(), DirectoryError> {
    let (mut restarts, mut passes) = (0, 0);
    while restarts < RESTARTS && passes < PASSES {
        let folder = match rustix::fs::openat(parent, name, walk::FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTDIR | Errno::LOOP) => match unlink(parent, name, path)? {
                Unlinked::Gone => return Ok(()),
                Unlinked::IsFolder => {
                    restarts += 1;
                    continue;
                }
            },
            Err(error) => return Err(failed(path, error)),
        };
        if Mount::of(&folder).map_err(|error| failed(path, error))? != at.mount {
            return Err(DirectoryError::mounted(path));
        }
        let lifted = at.lifted.get();
        let within =
            At { top: Some(at.top.unwrap_or_else(|| folder.as_fd())), depth: at.depth + 1, ..at };
        empty(folder.as_fd(), path, within)?;
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            // What was moved up is next.
            Err(Errno::NOTEMPTY | Errno::EXIST) if at.top.is_none() && at.lifted.get() > lifted => {
                passes += 1
            }
            // Something was put there since, or took its place.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => restarts += 1,
            Err(error) => return Err(failed(path, error)),
        }
    }
    Err(DirectoryError::io(path, "cannot be removed", io::Error::other("it changes all the while")))
}

fn empty(folder: BorrowedFd<'_>, path: &mut PathBuf, at: At<'_>) -> Result<(), DirectoryError> {
    for entry in Dir::read_from(folder).map_err(|error| failed(path, error))? {
        let entry = entry.map_err(|error| failed(path, error))?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        path.push(OsStr::from_bytes(name.to_bytes()));
        let may_be_folder = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if may_be_folder || matches!(unlink(folder, name, path)?, Unlinked::IsFolder) {
            match at.top.filter(|_| at.depth >= DEPTH) {
                Some(top) => lift(folder, name, top, path, at.lifted)?,
                None => remove(folder, name, path, at)?,
            }
        }
        path.pop();
    }
    Ok(())
}

/// Moves an entry to the top, under a name that is free there, or to the place of an empty folder.
fn lift(
    folder: BorrowedFd<'_>,
    name: &CStr,
    top: BorrowedFd<'_>,
    path: &Path,
    lifted: &Cell<u64>,
) -> Result<(), DirectoryError> {
    loop {
        lifted.set(lifted.get() + 1);
        match rustix::fs::renameat(folder, name, top, format!("deep-{}", lifted.get())) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR | Errno::ISDIR) => {}
            Err(error) => return Err(failed(path, error)),
        }
    }
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
