//! The folder: which files there are, and how they are written so that nobody ever finds half of
//! them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::snapshot::{MAX_REVISION, Saved, SnapshotError, mark};
use crate::yaml;

/// The file that makes a folder a snapshot.
pub(super) const MARK: &str = "snapshot.yaml";
/// What that file says it is.
pub(super) const FORMAT: &str = "embedded-apiserver/v1";

/// What names of objects are made of, but for colons and the like in names of roles.
const ODD: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// The longest part of a path: file systems take 255 bytes, and `.yaml` comes after it.
const LONGEST: usize = 200;
/// What is left of a longer one, before its hash.
const CUT: usize = 120;

/// Begins the line at the end of a file that tells whether it was changed since.
const SEAL: &str = "# as saved: ";

/// What was found in a folder.
#[derive(Debug)]
pub(super) struct Found {
    /// Of a saved snapshot, the revision it was taken at.
    pub(super) revision: Option<u64>,
    /// The files of objects of which something goes without saying until their next write.
    pub(super) unsaid: BTreeSet<PathBuf>,
    /// File by file, in the order of their paths.
    pub(super) objects: Vec<FoundObject>,
}

/// An object in a file.
#[derive(Debug)]
pub(super) struct FoundObject {
    pub(super) file: PathBuf,
    pub(super) object: Value,
    /// The file is as a server has written it: what is in it was in that server.
    pub(super) as_saved: bool,
}

/// Where a test kills the process: asked before each step, it says that there is no further one.
pub(super) type Killed<'a> = &'a mut dyn FnMut() -> bool;

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> SnapshotError {
    let path = path.to_owned();
    move |source| SnapshotError::Io { path, source }
}

/// Writes a snapshot beside the folder, then puts it in the folder's place. Wherever it is
/// `killed`, [`read`] finds the old snapshot or the new one.
pub(super) fn write(
    folder: &Path,
    revision: u64,
    objects: Vec<Saved>,
    killed: Killed<'_>,
) -> Result<(), SnapshotError> {
    let mut step = |path: &Path| {
        if killed() { Err(io_error(path)(io::ErrorKind::Interrupted.into())) } else { Ok(()) }
    };
    let folder = &with_a_name(folder)?;
    let (new, old) = (beside(folder, NEW), beside(folder, OLD));
    let there = place_of(folder);
    if there != *folder {
        // The last save was killed before it could put this in its place.
        step(folder)?;
        fs::rename(&there, folder).map_err(io_error(folder))?;
    }
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
    // What an earlier attempt left when it was cut short.
    for left in [&new, &old] {
        remove(left, &mut step)?;
    }
    write_files(&new, revision, objects, &mut step)?;
    if replaces {
        step(folder)?;
        fs::rename(folder, &old).map_err(io_error(folder))?;
    }
    step(folder)?;
    if let Err(error) = fs::rename(&new, folder) {
        if replaces {
            let _back = fs::rename(&old, folder);
        }
        return Err(io_error(folder)(error));
    }
    // The snapshot is in its place: what cannot be removed now is by the next save.
    if let Err(error) = remove(&old, &mut step) {
        tracing::debug!(%error, "the snapshot that was replaced is still there");
    }
    Ok(())
}

const NEW: &str = "new";
const OLD: &str = "old";

/// The folder by its full path, of which the last part is a name.
fn with_a_name(folder: &Path) -> Result<PathBuf, SnapshotError> {
    let full = match fs::canonicalize(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(meant(folder)),
        full => full,
    };
    let full = full.map_err(io_error(folder))?;
    // Who is in it would be in a folder that is no more.
    let is_current =
        std::env::current_dir().and_then(fs::canonicalize).is_ok_and(|current| current == full);
    if full.file_name().is_none() || is_current {
        return Err(SnapshotError::NotReplaceable { folder: folder.to_owned() });
    }
    Ok(full)
}

/// Where the snapshot of a folder is: there, or beside it, if the process was killed that was
/// putting it there.
fn place_of(folder: &Path) -> PathBuf {
    if fs::metadata(folder).is_ok() || folder.file_name().is_none() {
        return folder.to_owned();
    }
    let folder = meant(folder);
    let beside = [NEW, OLD].map(|word| beside(&folder, word));
    beside.into_iter().find(|place| place.join(MARK).is_file()).unwrap_or(folder)
}

/// The folder that is not there, or what a link to nothing names.
fn meant(folder: &Path) -> PathBuf {
    let mut folder = folder.to_owned();
    // A bound for links that name each other.
    for _ in 0..40 {
        match fs::read_link(&folder) {
            Ok(link) => folder = folder.parent().unwrap_or_else(|| Path::new("")).join(link),
            Err(_) => break,
        }
    }
    folder
}

fn beside(folder: &Path, word: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(folder.file_name().unwrap_or_default());
    name.push(".");
    name.push(word);
    folder.with_file_name(name)
}

/// Removes a folder, first what makes it a snapshot: half of one is none.
fn remove(
    folder: &Path,
    step: &mut impl FnMut(&Path) -> Result<(), SnapshotError>,
) -> Result<(), SnapshotError> {
    let unless_gone = |done: io::Result<()>| match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(folder)(error)),
        _ => Ok(()),
    };
    if fs::symlink_metadata(folder).is_err() {
        return Ok(());
    }
    step(folder)?;
    unless_gone(fs::remove_file(folder.join(MARK)))?;
    step(folder)?;
    unless_gone(fs::remove_dir_all(folder))
}

/// The name of a file or folder for a part of a path.
fn name_of(part: &str) -> String {
    let mut name = utf8_percent_encode(part, ODD).to_string();
    if name.starts_with('.') {
        // Such files are hidden, and not read.
        name.replace_range(..1, "%2E");
    }
    if name.len() > LONGEST {
        let hash = hex(&Sha256::digest(name.as_bytes()));
        name.truncate(CUT);
        name.push('~');
        name.push_str(&hash);
    }
    name
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_files(
    folder: &Path,
    revision: u64,
    objects: Vec<Saved>,
    step: &mut impl FnMut(&Path) -> Result<(), SnapshotError>,
) -> Result<(), SnapshotError> {
    fs::create_dir_all(folder).map_err(io_error(folder))?;
    let mut all_unsaid = Vec::new();
    for Saved { path, object, unsaid } in objects {
        let parts: Vec<_> = path.iter().map(|part| name_of(part)).collect();
        let name = format!("{}.yaml", parts.join("/"));
        let file = folder.join(&name);
        if unsaid {
            all_unsaid.push(name);
        }
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(io_error(parent))?;
        }
        step(&file)?;
        write_file(&file, &object)?;
    }
    // Last: what has no mark is no snapshot.
    step(folder)?;
    write_file(&folder.join(MARK), &mark(revision, &all_unsaid))
}

fn write_file(file: &Path, value: &Value) -> Result<(), SnapshotError> {
    let text = yaml::from_json(value)
        .map_err(|why| SnapshotError::Unreadable { file: file.to_owned(), why })?;
    fs::write(file, sealed(text)).map_err(io_error(file))
}

/// A text with a last line that no longer fits when something before it is changed.
fn sealed(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let seal = hex(&Sha256::digest(text.as_bytes()));
    text + SEAL + &seal + "\n"
}

/// Whether a text is as it was [`sealed`].
fn is_sealed(text: &str) -> bool {
    let last = text.strip_suffix('\n').and_then(|text| text.rfind('\n'));
    let parts = last.and_then(|last| text.split_at_checked(last.saturating_add(1)));
    parts.is_some_and(|(before, _)| sealed(before.to_owned()) == text)
}

/// Reads every file of objects below a folder.
pub(super) fn read(folder: &Path) -> Result<Found, SnapshotError> {
    let folder = &place_of(folder);
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    let mut found = Found { revision: None, unsaid: BTreeSet::new(), objects: Vec::new() };
    for file in files {
        let text = fs::read_to_string(&file).map_err(io_error(&file))?;
        let as_saved = is_sealed(&text);
        let unreadable = |why: String| SnapshotError::Unreadable { file: file.clone(), why };
        for document in yaml::documents(&text).map_err(unreadable)? {
            let value =
                serde_json::from_slice(&document).map_err(|error| unreadable(error.to_string()))?;
            match value {
                Value::Object(ref members)
                    if members.get("apiVersion").is_some_and(|version| version == FORMAT) =>
                {
                    found.revision = members.get("revision").and_then(Value::as_u64);
                    match found.revision {
                        None => return Err(unreadable("revision: expected a number".to_owned())),
                        Some(revision) if revision > MAX_REVISION => {
                            let why = format!("revision: {revision} is more than {MAX_REVISION}");
                            return Err(unreadable(why));
                        }
                        Some(_) => {}
                    }
                    let unsaid =
                        members.get("unsaid").and_then(Value::as_array).into_iter().flatten();
                    found
                        .unsaid
                        .extend(unsaid.filter_map(Value::as_str).map(|name| folder.join(name)));
                }
                Value::Object(_) => flatten(&file, value, as_saved, &mut found.objects),
                _ => return Err(unreadable("a document that is no object".to_owned())),
            }
        }
    }
    Ok(found)
}

/// A list stands for its items.
fn flatten(file: &Path, mut value: Value, as_saved: bool, into: &mut Vec<FoundObject>) {
    let is_list = value.get("kind").is_some_and(|kind| kind == "List");
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => {
            items.into_iter().for_each(|item| flatten(file, item, as_saved, into));
        }
        taken => {
            if let Some(items) = taken {
                value["items"] = items;
            }
            into.push(FoundObject { file: file.to_owned(), object: value, as_saved });
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
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json")
        {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
