//! Opening folders one component at a time, so that no symbolic link below the root is ever
//! followed.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::marker::{InvalidMarker, MARKER_MAX_BYTES, Marker};
use crate::names::MARKER_FILE;

/// How a folder is opened: not through a link.
pub(super) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const MARKER_BYTES: &[u8] = MARKER_FILE.as_bytes();

/// Opens a folder inside another one.
pub(super) fn open_folder(parent: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(parent, name, FOLDER, Mode::empty())
}

/// Makes everything that happened to the entries of a folder durable.
pub(super) fn sync(folder: impl AsFd) -> Result<(), Errno> {
    match rustix::fs::fsync(folder) {
        // Some file systems cannot sync a folder; there is nothing better to do on them.
        Err(Errno::INVAL | Errno::NOTSUP | Errno::ROFS) => Ok(()),
        other => other,
    }
}

/// Whether an entry exists, of whatever type.
pub(super) fn exists(parent: impl AsFd, name: &str) -> Result<bool, Errno> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Moves a folder to a name that must be free.
///
/// Where the file system has no such call (NFS, for one) a look comes before the move; only an
/// empty folder can then be lost to somebody who makes one between the two, and no file.
pub(super) fn rename_to_free(
    from: impl AsFd,
    old: &str,
    to: impl AsFd,
    new: &str,
) -> Result<(), Errno> {
    let (from, to) = (from.as_fd(), to.as_fd());
    match rustix::fs::renameat_with(from, old, to, new, rustix::fs::RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            if exists(to, new)? {
                return Err(Errno::EXIST);
            }
            rustix::fs::renameat(from, old, to, new)
        }
        other => other,
    }
}

/// Whether a directory holds anything but its marker.
pub(super) fn holds_data(directory: impl AsFd) -> Result<bool, Errno> {
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b".." | MARKER_BYTES) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What was found where a marker belongs.
pub(super) enum Found {
    Marker(Marker),
    Nothing,
    Invalid(InvalidMarker),
}

/// Reads the marker of an opened directory, which a tenant may have replaced by anything: a link, a
/// pipe, a huge file.
pub(super) fn read_marker(directory: impl AsFd) -> io::Result<Found> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let invalid = |why: &str| Ok(Found::Invalid(InvalidMarker::because(why)));
    let fd = match rustix::fs::openat(directory, MARKER_FILE, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(Found::Nothing),
        Err(Errno::LOOP | Errno::NXIO | Errno::ACCESS | Errno::PERM) => {
            return invalid("the marker cannot be opened as a file");
        }
        Err(error) => return Err(error.into()),
    };
    if FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) != FileType::RegularFile {
        return invalid("the marker is no file");
    }
    let mut bytes = Vec::new();
    File::from(fd).take(MARKER_MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(match Marker::parse(&bytes) {
        Ok(marker) => Found::Marker(marker),
        Err(error) => Found::Invalid(error),
    })
}
