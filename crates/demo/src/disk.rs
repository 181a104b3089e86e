//! What lies on the disk: volume directories with their markers, and whatever should not be there.
//! Reads only.
//!
//! The marker is read with this file's own type, not the provisioner's: the judge must not share
//! the code it judges.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The file in every volume's directory that says whose it is.
pub(crate) const MARKER: &str = ".hostpath-provisioner.json";
/// How a volume's directory is called: this, and the claim's UID.
pub(crate) const PREFIX: &str = "pvc-";
/// The provisioner's own folder under the root. It may hold these, and the folders must be empty
/// when all work is done.
const STATE: &str = ".hostpath-provisioner";
const STATE_FOLDERS: [&str; 3] = ["staging", "trash", "retained"];
const STATE_FILE: &str = "term.json";

/// A file of the demo's own that keeps a namespace's folder from being empty: the provisioner
/// removes empty ones, and a folder made anew is not the one that [`crate::births`] watches.
pub(crate) const KEEPER: &str = ".demo-keeps-this-folder";

/// What a marker says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Marker {
    pub(crate) claim_uid: String,
    pub(crate) claim_namespace: String,
    pub(crate) claim_name: String,
    pub(crate) volume: String,
    /// The replica that made the directory.
    pub(crate) identity: String,
    pub(crate) fence: Fence,
}

/// The term in which a directory was made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Fence {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) transitions: i64,
}

/// A volume's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    /// The marker in it, or why there is none to be read.
    pub(crate) marker: Result<Marker, String>,
}

impl Directory {
    /// Looks into the directory at `path`.
    pub(crate) fn read(path: PathBuf) -> Self {
        let marker = read_marker(&path);
        Self { path, marker }
    }

    /// Whose it is: by its marker, and without a readable one by its name.
    pub(crate) fn claim_uid(&self) -> Option<&str> {
        match &self.marker {
            Ok(marker) => Some(&marker.claim_uid),
            Err(_) => self.path.file_name()?.to_str()?.strip_prefix(PREFIX),
        }
    }
}

/// All that lies under a root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Volume directories, by path.
    pub(crate) directories: Vec<Directory>,
    /// Whatever is neither such a directory nor an expected folder.
    pub(crate) strays: Vec<PathBuf>,
}

/// Whether this is the name of a volume's directory.
pub(crate) fn is_volume_name(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Walks `root`: volume directories in it and in the folders named by `folders`, and everything
/// else as a stray.
pub(crate) fn walk(root: &Path, folders: &[String]) -> io::Result<Contents> {
    let mut contents = Contents::default();
    let state = root.join(STATE);
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        let entries = match fs::read_dir(&folder) {
            // Taken away between being listed and being looked into.
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder != root => continue,
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_folder = entry.file_type()?.is_dir();
            let in_state = folder.starts_with(&state);
            let ours = !in_state && folder != root && !is_folder && name == KEEPER;
            if ours || (folder == state && !is_folder && name == STATE_FILE) {
                // Meant to stay.
            } else if is_folder && is_volume_name(&name) && !in_state {
                contents.directories.push(Directory::read(entry.path()));
            } else if is_folder
                && folder == root
                && (name == STATE || folders.iter().any(|expected| *expected == name))
                || is_folder && folder == state && STATE_FOLDERS.contains(&&*name)
            {
                pending.push(entry.path());
            } else {
                contents.strays.push(entry.path());
            }
        }
    }
    contents.directories.sort_by(|a, b| a.path.cmp(&b.path));
    contents.strays.sort();
    Ok(contents)
}

fn read_marker(directory: &Path) -> Result<Marker, String> {
    let text = fs::read(directory.join(MARKER))
        .map_err(|error| format!("its marker {MARKER} cannot be read: {error}"))?;
    serde_json::from_slice(&text)
        .map_err(|error| format!("its marker {MARKER} is not as agreed: {error}"))
}
