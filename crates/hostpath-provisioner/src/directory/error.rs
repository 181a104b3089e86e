//! Why a step on the disk was not taken, in words an operator can act on.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The longest path that an error shows, in bytes. The cause and the remedy follow it in a message
/// of limited length.
const PATH_MAX_BYTES: usize = 768;

/// What kind of trouble it is; decides the reason that is shown and whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// Something that is no directory stands where one belongs.
    InTheWay,
    /// A directory stands there that is not this claim's.
    Foreign,
    /// Another file system is mounted there, or the same one once more.
    Mounted,
    /// The process may not remove it.
    Denied,
    /// The file system is full, or its quota is.
    NoSpace,
    /// Nothing is removed on this root until an operator confirms it.
    Paused,
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

    /// A mount at this path: nothing behind it is ours.
    pub(super) fn mounted(path: &Path) -> Self {
        Self::new(Trouble::Mounted, path, "a file system is mounted there")
    }

    /// A removal that the system refused.
    pub(super) fn denied(path: &Path, source: io::Error) -> Self {
        Self { source: Some(source), ..Self::new(Trouble::Denied, path, "cannot be removed") }
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
        if !self.path.as_os_str().is_empty() {
            write!(f, "{}: ", shortened(&self.path))?;
        }
        f.write_str(&self.what)?;
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        match self.trouble {
            Trouble::InTheWay => f.write_str("; something that is no directory stands there: move it away"),
            Trouble::Mounted => f.write_str("; unmount it"),
            Trouble::Denied => f.write_str(
                "; remove it by hand (if immutable, chattr -i), or run with DAC_OVERRIDE and FOWNER",
            ),
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

/// A path without its middle, if it is long: where it begins and what it ends in say most.
pub(super) fn shortened(path: &Path) -> String {
    let whole = path.display().to_string();
    if whole.len() <= PATH_MAX_BYTES {
        return whole;
    }
    let half = PATH_MAX_BYTES / 2 - 2;
    let begin = (0..=half).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
    let end = (whole.len() - half..=whole.len()).find(|at| whole.is_char_boundary(*at));
    let (begin, end) = (whole.get(..begin), end.and_then(|end| whole.get(end..)));
    format!("{}...{}", begin.unwrap_or_default(), end.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{MESSAGE_MAX_BYTES, shown};

    #[test]
    fn a_long_path_leaves_room_for_what_is_wrong_and_the_remedy() {
        let path = PathBuf::from(format!(
            "/srv/{}/pvc-u-1/{}/last",
            "\u{e9}".repeat(900),
            "x".repeat(2000)
        ));
        let source = io::Error::from(rustix::io::Errno::PERM);
        let text = DirectoryError::denied(&path, source).to_string();
        assert!(
            text.len() <= MESSAGE_MAX_BYTES && shown(&text) == text,
            "{} bytes: {text}",
            text.len()
        );
        assert!(
            text.starts_with("/srv/") && text.contains("x/last: cannot be removed: Operation not")
        );
        assert!(text.ends_with("or run with DAC_OVERRIDE and FOWNER"), "{text}");
    }
}
