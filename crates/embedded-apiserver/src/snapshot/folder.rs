//! The folder: which files there are, and how they are written so that nobody ever finds half of them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::snapshot::{Saved, SnapshotError, mark};
use crate::yaml;

/// The file that makes a folder a snapshot.
pub(super) const MARK: &str = "snapshot.yaml";
/// What that file says it is.
pub(super) const FORMAT: &str = "embedded-apiserver/v1";

/// What names of objects are made of, but for colons and the like in names of roles.
const ODD: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// What was found in a folder.
#[derive(Debug)]
pub(super) struct Found {
    /// Of a saved snapshot, the revision it was taken at.
    pub(super) revision: Option<u64>,
    /// The files of objects of which something goes without saying until their next write.
    pub(super) unsaid: BTreeSet<PathBuf>,
    /// File by file, in the order of their paths.
    pub(super) objects: Vec<(PathBuf, Value)>,
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> SnapshotError {
    let path = path.to_owned();
    move |source| SnapshotError::Io { path, source }
}

/// Writes a snapshot beside the folder, then puts it in the folder's place.
pub(super) fn write(folder: &Path, revision: u64, objects: Vec<Saved>) -> Result<(), SnapshotError> {
    let replaces = match fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() && !folder.join(MARK).is_file() {
                return Err(SnapshotError::NotASnapshot { folder: folder.to_owned() });
            }
            true
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(io_error(folder)(error)),
    };
    let (new, old) = (beside(folder, "new"), beside(folder, "old"));
    // What an earlier attempt left when it was cut short.
    for left in [&new, &old] {
        remove(left)?;
    }
    let written = write_files(&new, revision, objects);
    if written.is_err() {
        // The error that is reported is the first one.
        let _left = remove(&new);
    }
    written?;
    if replaces {
        fs::rename(folder, &old).map_err(io_error(folder))?;
    }
    if let Err(error) = fs::rename(&new, folder) {
        if replaces {
            let _back = fs::rename(&old, folder);
        }
        return Err(io_error(folder)(error));
    }
    remove(&old)
}

fn beside(folder: &Path, word: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(folder.file_name().unwrap_or_default());
    name.push(".");
    name.push(word);
    folder.with_file_name(name)
}

fn remove(folder: &Path) -> Result<(), SnapshotError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(folder)(error)),
        _ => Ok(()),
    }
}

fn write_files(folder: &Path, revision: u64, objects: Vec<Saved>) -> Result<(), SnapshotError> {
    fs::create_dir_all(folder).map_err(io_error(folder))?;
    let mut all_unsaid = Vec::new();
    for Saved { path, object, unsaid } in objects {
        let parts: Vec<_> = path.iter().map(|part| utf8_percent_encode(part, ODD).to_string()).collect();
        let name = format!("{}.yaml", parts.join("/"));
        let file = folder.join(&name);
        if unsaid {
            all_unsaid.push(name);
        }
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(io_error(parent))?;
        }
        write_file(&file, &object)?;
    }
    // Last: what has no mark is no snapshot.
    write_file(&folder.join(MARK), &mark(revision, &all_unsaid))
}

fn write_file(file: &Path, value: &Value) -> Result<(), SnapshotError> {
    let text =
        yaml::from_json(value).map_err(|why| SnapshotError::Unreadable { file: file.to_owned(), why })?;
    fs::write(file, text).map_err(io_error(file))
}

/// Reads every file of objects below a folder.
pub(super) fn read(folder: &Path) -> Result<Found, SnapshotError> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    let mut found = Found { revision: None, unsaid: BTreeSet::new(), objects: Vec::new() };
    for file in files {
        let text = fs::read_to_string(&file).map_err(io_error(&file))?;
        let unreadable = |why: String| SnapshotError::Unreadable { file: file.clone(), why };
        for document in yaml::documents(&text).map_err(unreadable)? {
            let value = serde_json::from_slice(&document).map_err(|error| unreadable(error.to_string()))?;
            match value {
                Value::Object(ref members)
                    if members.get("apiVersion").is_some_and(|version| version == FORMAT) =>
                {
                    found.revision = members.get("revision").and_then(Value::as_u64);
                    if found.revision.is_none() {
                        return Err(unreadable("revision: expected a number".to_owned()));
                    }
                    let unsaid = members.get("unsaid").and_then(Value::as_array).into_iter().flatten();
                    found.unsaid.extend(unsaid.filter_map(Value::as_str).map(|name| folder.join(name)));
                }
                Value::Object(_) => flatten(&file, value, &mut found.objects),
                _ => return Err(unreadable("a document that is no object".to_owned())),
            }
        }
    }
    Ok(found)
}

/// A list stands for its items.
fn flatten(file: &Path, mut value: Value, into: &mut Vec<(PathBuf, Value)>) {
    let is_list = value.get("kind").is_some_and(|kind| kind == "List");
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => {
            items.into_iter().for_each(|item| flatten(file, item, into));
        }
        taken => {
            if let Some(items) = taken {
                value["items"] = items;
            }
            into.push((file.to_owned(), value));
        }
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), SnapshotError> {
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let entry = entry.map_err(io_error(folder))?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json") {
            files.push(path);
        }
    }
    Ok(())
}
