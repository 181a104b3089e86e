//! Where a claim's directory is, relative to the root. Only names that cannot climb out of it can
//! be expressed.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::names::{STATE_FOLDER, claim_uid_of, is_uid, volume_name};

/// The most components a `subdir` may have.
pub const SUBDIR_MAX_DEPTH: usize = 8;

/// A directory below the root: `<subdir components>/pvc-<claim uid>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    subdir: Vec<String>,
    name: String,
}

/// Why a path is none of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidLocation(String);

impl fmt::Display for InvalidLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidLocation {}

impl Location {
    /// The directory of the claim with this UID, below already substituted subdir components.
    ///
    /// # Errors
    /// When the UID is no UID or a component is not a plain name.
    pub fn new(subdir: Vec<String>, claim_uid: &str) -> Result<Self, InvalidLocation> {
        if !is_uid(claim_uid) {
            return Err(InvalidLocation(format!("{claim_uid:?} is no UID")));
        }
        if subdir.len() > SUBDIR_MAX_DEPTH {
            return Err(InvalidLocation(format!(
                "the subdir has {} components, at most {SUBDIR_MAX_DEPTH} are allowed",
                subdir.len()
            )));
        }
        if let Some(component) = subdir.iter().find(|component| !is_plain_name(component)) {
            return Err(InvalidLocation(format!(
                "the subdir component {component:?} is not a plain folder name"
            )));
        }
        Ok(Self { subdir, name: volume_name(claim_uid) })
    }

    /// Reads a volume's host path back.
    ///
    /// # Errors
    /// When the path does not lie below `root` in the form this type can express.
    pub fn of_host_path(root: &Path, host_path: &str) -> Result<Self, InvalidLocation> {
        let foreign = |why: &str| InvalidLocation(format!("the path {host_path:?} is {why}"));
        let below =
            Path::new(host_path).strip_prefix(root).map_err(|_| foreign("not below this root"))?;
        let mut components = Vec::new();
        for component in below.components() {
            match component {
                Component::Normal(name) => {
                    components.push(name.to_str().ok_or_else(|| foreign("not UTF-8"))?.to_owned())
                }
                _ => return Err(foreign("not a plain path")),
            }
        }
        let name = components.pop().ok_or_else(|| foreign("the root itself"))?;
        let uid = claim_uid_of(&name).ok_or_else(|| foreign("not named pvc-<uid>"))?;
        Self::new(components, uid)
    }

    /// The folders between the root and the directory, outermost first.
    #[must_use]
    pub fn subdir(&self) -> &[String] {
        &self.subdir
    }

    /// The directory's own name, which is also the volume's.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The UID of the claim.
    #[must_use]
    pub fn claim_uid(&self) -> &str {
        claim_uid_of(&self.name).unwrap_or_default()
    }

    /// The path below a root.
    #[must_use]
    pub fn below(&self, root: &Path) -> PathBuf {
        let mut path = root.to_path_buf();
        path.extend(&self.subdir);
        path.push(&self.name);
        path
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for folder in &self.subdir {
            write!(f, "{folder}/")?;
        }
        f.write_str(&self.name)
    }
}

/// A folder name that stays where it is put and cannot be taken for one of ours.
pub(crate) fn is_plain_name(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && !name.starts_with('.')
        && name != STATE_FOLDER
        && !name.starts_with("pvc-")
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_path_reads_back_as_the_location_it_came_from() {
        let location = Location::new(vec!["a".into(), "b".into()], "u-1").unwrap();
        let path = location.below(Path::new("/srv/volumes"));
        assert_eq!(path, Path::new("/srv/volumes/a/b/pvc-u-1"));
        assert_eq!(
            Location::of_host_path(Path::new("/srv/volumes/"), path.to_str().unwrap()),
            Ok(location)
        );
    }

    #[test]
    fn nothing_outside_the_root_can_be_expressed() {
        for path in [
            "/etc/pvc-u-1",
            "/srv/volumes",
            "/srv/volumes/../pvc-u-1",
            "/srv/volumes/a/../../pvc-u-1",
            "/srv/volumes/.hostpath-provisioner/pvc-u-1",
            "/srv/volumes/pvc-u-1/pvc-u-2",
            "/srv/volumes/other",
            "/srv/volumesX/pvc-u-1",
            "srv/volumes/pvc-u-1",
            "",
        ] {
            assert!(Location::of_host_path(Path::new("/srv/volumes"), path).is_err(), "{path}");
        }
        for component in ["", ".", "..", "a/b", "\0", ".hidden", "pvc-x", "a b", "\u{e9}"] {
            assert!(Location::new(vec![component.into()], "u-1").is_err(), "{component:?}");
        }
        assert!(Location::new(vec!["a".into(); SUBDIR_MAX_DEPTH + 1], "u-1").is_err());
        assert!(Location::new(vec![], "../u").is_err());
    }
}
