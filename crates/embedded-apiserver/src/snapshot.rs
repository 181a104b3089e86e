//! Snapshots: everything a server holds as a folder of YAML, one file an object, to look at, to
//! compare, to change by hand, and to start from. [`folder`] knows files, [`restore`] makes objects
//! of what is in them.

mod folder;
mod restore;
mod services;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::metadata;
use crate::resource::ServedResource;
use crate::rest::ApiState;
use crate::server::EmbeddedApiServer;
use crate::store::state::Place;

/// Why a snapshot is not written or read. Nothing has changed then: neither the server nor the
/// folder.
#[derive(Debug)]
#[non_exhaustive]
pub enum SnapshotError {
    /// A file or folder cannot be read or written.
    Io {
        /// Which one.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The folder to be written holds something else than a snapshot; nothing of that is touched.
    NotASnapshot {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder to be written cannot be replaced as a whole: it is the current one, or has no
    /// name of its own.
    NotReplaceable {
        /// The folder.
        folder: PathBuf,
    },
    /// A file holds no YAML, or no objects.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// An object cannot be what its file says.
    Object {
        /// The file.
        file: PathBuf,
        /// Kind and name, as far as the file says them.
        object: String,
        /// Which field is wrong, and how.
        why: String,
    },
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NotASnapshot { folder } => write!(
                f,
                "{} holds something that is no snapshot (it has no {}); give an empty folder or a name that is free",
                folder.display(),
                folder::MARK
            ),
            Self::NotReplaceable { folder } => write!(
                f,
                "{} cannot be replaced as a whole: it is the current folder, or has no name of its own; name one in it \
                 or beside it",
                folder.display()
            ),
            Self::Unreadable { file, why } => write!(f, "{}: {why}", file.display()),
            Self::Object { file, object, why } => write!(f, "{}: {object}: {why}", file.display()),
        }
    }
}

impl std::error::Error for SnapshotError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl EmbeddedApiServer {
    /// Writes everything that the server holds, as it is at one revision, into a folder: one YAML
    /// file an object, in `configmaps/NAMESPACE/NAME.yaml`,
    /// `leases.coordination.k8s.io/NAMESPACE/NAME.yaml`, `namespaces/NAME.yaml`. Two snapshots
    /// of the same state are the same bytes. Returns the number of objects.
    ///
    /// An earlier snapshot in that folder is replaced as a whole. If the process is killed
    /// meanwhile, wherever it was, a [`load`](Self::load) finds the old one or the new one:
    /// beside the folder, if it was killed between the two renames at the end; the next save
    /// cleans up. (Against a loss of power files are not synced.)
    ///
    /// Secrets are written as they are; so is what is being deleted. Objects of a definition are
    /// written in the version that it stores, served or not. Each file ends with a line that
    /// tells whether it is still as it was saved. Names that are too long for a file are cut,
    /// and told apart by a hash. Blocks while it writes.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] if the folder holds something else, is the current one, or cannot be
    /// written.
    #[doc(alias = "etcdctl snapshot save")]
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<usize, SnapshotError> {
        let (revision, objects) = everything(self.core().api());
        let count = objects.len();
        folder::write(folder.as_ref(), revision, objects, &mut || false)?;
        Ok(count)
    }

    /// Puts the objects of a folder into the server: a [saved](Self::save) one, or manifests
    /// written by hand (any `.yaml`, `.yml` and `.json` below it, several documents in a file
    /// and `List`s included). Returns their number.
    ///
    /// Objects keep uid, resourceVersion, times, generation, owners and status where their files
    /// say them, and get what is missing; they are defaulted and checked as in a create,
    /// unknown fields are refused. What is as it was saved comes back even if a create would
    /// refuse it today: an object that is older than the schema of its kind, or than the end of
    /// its namespace. Definitions come first, then namespaces. What has the same name is replaced,
    /// everything else stays; a Service that wants the address or a port of the nodes of one that
    /// stays is refused. An object without a namespace goes to `default`. Kinds that are
    /// registered in Rust must be registered before.
    ///
    /// To clients it is what restoring etcd from a backup is: watches of the kinds that were loaded
    /// end with 410 Expired, and begin anew. Blocks while it reads.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`] with the file and the field; the server is then as it was.
    #[doc(alias = "etcdctl snapshot restore")]
    pub fn load(&self, folder: impl AsRef<Path>) -> Result<usize, SnapshotError> {
        restore::restore(self.core().api(), folder::read(folder.as_ref())?)
    }
}

/// An object and where its file goes.
#[derive(Debug)]
struct Saved {
    /// Folders and the name, without what the file system may not like.
    path: Vec<String>,
    object: Value,
    /// Something of it goes without saying until its next write.
    unsaid: bool,
}

/// All objects at one revision, as they are stored. Of the two groups of Event one form is enough.
fn everything(core: &ApiState) -> (u64, Vec<Saved>) {
    let kinds = core.registry.read().stored();
    // Nothing is written: it is the one lock that is wanted.
    core.store.write(|state| {
        let mut all = Vec::new();
        for kind in &kinds {
            let place = Place { table: &kind.storage, namespace: None, from: None };
            let objects = state.snapshot(&place, None).unwrap_or_default();
            for stored in objects {
                let mut object = stored.object();
                // Kept as text beside the object.
                if let Ok(managed) = serde_json::from_str::<Value>(stored.managed()) {
                    metadata::set(&mut object, "managedFields", managed);
                }
                object.insert("apiVersion".to_owned(), kind.api_version().into());
                object.insert("kind".to_owned(), kind.kind().into());
                let mut path = vec![kind.qualified_plural()];
                if kind.is_namespaced() {
                    path.push(stored.key.namespace().to_owned());
                }
                path.push(stored.key.name().to_owned());
                all.push(Saved {
                    path,
                    object: Value::Object(object),
                    unsaid: stored.leaves_unsaid(),
                });
            }
        }
        (state.revision(), all)
    })
}

/// The file that says that a folder is a snapshot, of which revision, and of the files of which
/// objects something goes without saying.
fn mark(revision: u64, unsaid: &[String]) -> Value {
    let mut mark =
        json!({ "apiVersion": folder::FORMAT, "kind": "Snapshot", "revision": revision });
    if !unsaid.is_empty() {
        mark["unsaid"] = unsaid.into();
    }
    mark
}

/// The highest revision that is taken from a file: a server that goes on from there does not come
/// to the end of numbers.
const MAX_REVISION: u64 = 1 << 62;

/// How an error names an object.
fn named(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind").unwrap_or("an object without kind");
    match (text("/metadata/namespace"), text("/metadata/name")) {
        (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind} {name}"),
        (_, None) => format!("{kind} without a name"),
    }
}

/// The kind that an object says to be.
fn kind_of<'a>(
    kinds: impl Iterator<Item = &'a std::sync::Arc<ServedResource>>,
    object: &Value,
) -> Option<&'a std::sync::Arc<ServedResource>> {
    let text = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
    let (version, name) = (text("apiVersion"), text("kind"));
    let mut kinds = kinds;
    kinds.find(|kind| kind.kind() == name && kind.api_version() == version)
}
