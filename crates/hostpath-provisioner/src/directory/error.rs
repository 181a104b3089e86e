//! Why a step on the disk was not taken, in words an operator can act on.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What kind of trouble it is; decides the reason that is shown and whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// Something that is no directory stands where one belongs.
    InTheWay,
    /// A directory stands there that is not this claim's.
    Foreign,
    /// The file system is full, or its quota is.
    NoSpace,
    /// The term of leadership is over, or a later one has begun on this root.
    Superseded,
    /// Anything else the file system said.
    Failed,
}

/// A refused or failed step on the disk.
#[derive(Debug)]
pub struct DirectoryError {
    pub(super) trouble: Trouble,
    pub(super) path: PathBuf,
    pub(super) what: String,
    pub(super) source: Option<io::Error>,
}

impl DirectoryError {
    pub(super) fn new(trouble: Trouble, path: &Path, what: impl Into<String>) -> Self {
        Self { trouble, path: path.to_path_buf(), what: what.into(), source: None }
    }

    pub(super) fn io(path: &Path, what: &str, source: io::Error) -> Self {
        let trouble = match source.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT) => Trouble::NoSpace,
            Some(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => Trouble::InTheWay,
            _ => Trouble::Failed,
        };
        Self { trouble, path: path.to_path_buf(), what: what.to_owned(), source: Some(source) }
    }

    /// What kind of trouble it is.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        self.trouble
    }

    pub(super) fn is_not_found(&self) -> bool {
        self.source.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)?;
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        match self.trouble {
            Trouble::InTheWay => f.write_str("; something that is no directory stands there: move it away"),
            Trouble::NoSpace => f.write_str("; make room on that file system"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for DirectoryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}
