//! Loads the manifests of a folder.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::api::metadata;
use crate::api::yaml;
use crate::controllers::definitions::reconcile_all;
use crate::rest::{self, ApiState};
use crate::server::handle::EmbeddedApiServer;
use crate::strategy::crd;
use crate::strategy::registry::Registry;
use crate::strategy::resource::ServedResource;

#[cfg(feature = "webhooks")]
mod webhooks;

/// A folder of manifests cannot be loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum ManifestError {
    /// A file or folder cannot be read.
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is not YAML, or does not contain objects.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error and its place.
        why: String,
    },
    /// The server refuses an object.
    Object {
        /// The file.
        file: PathBuf,
        /// Kind and name, as far as the file has them.
        object: String,
        /// The wrong field and the reason.
        why: String,
    },
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Unreadable { file, why } => write!(f, "{}: {why}", file.display()),
            Self::Object { file, object, why } => write!(f, "{}: {object}: {why}", file.display()),
        }
    }
}

impl std::error::Error for ManifestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl EmbeddedApiServer {
    /// Loads the manifests of a folder. Returns the number of objects.
    ///
    /// Reads every `.yaml`, `.yml` and `.json` below the folder. A file may have several documents
    /// and `List`s. Files with a leading dot are skipped. Definitions are first, then namespaces,
    /// then all others in the order of the files.
    ///
    /// Creates or replaces each object with the field manager `embedded-apiserver`. Unknown fields
    /// are errors. The default namespace is `default`. Kinds that are registered in Rust must be
    /// registered before. Blocks while it reads.
    ///
    /// # Errors
    ///
    /// [`ManifestError`] with the file and the field. If the server refuses an object, the objects
    /// before it are stored.
    #[doc(alias = "CRDDirectoryPaths")]
    #[doc(alias = "kubectl create -f")]
    pub fn load(&self, folder: impl AsRef<Path>) -> Result<usize, ManifestError> {
        self.put_all(read(folder.as_ref())?)
    }

    /// Loads the manifests of a folder, with the webhooks that the test serves itself.
    ///
    /// As [`load`](Self::load), but in webhook configurations and in the conversions of definitions
    /// each `clientConfig.service` becomes a `url` and a `caBundle`. The URL is `base`, such as
    /// `https://127.0.0.1:9443`, and the path of the service. `ca` is the authority's certificate
    /// as PEM. A `clientConfig` with a `url` stays as it is.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    #[cfg(feature = "webhooks")]
    #[doc(alias = "WebhookInstallOptions")]
    pub fn load_webhooks(
        &self,
        folder: impl AsRef<Path>,
        base: &str,
        ca: impl AsRef<[u8]>,
    ) -> Result<usize, ManifestError> {
        let mut manifests = read(folder.as_ref())?;
        let objects = manifests.iter_mut().map(|manifest| &mut manifest.object);
        objects.for_each(|object| webhooks::redirect(object, base, ca.as_ref()));
        self.put_all(manifests)
    }

    fn put_all(&self, mut manifests: Vec<Manifest>) -> Result<usize, ManifestError> {
        manifests.sort_by_key(|manifest| phase(&manifest.object));
        let count = manifests.len();
        for Manifest { file, object } in manifests {
            let name = named(&object);
            put(self.core().api(), object).map_err(|why| ManifestError::Object {
                file,
                object: name,
                why,
            })?;
        }
        Ok(count)
    }
}

/// An object in a file.
#[derive(Debug)]
struct Manifest {
    file: PathBuf,
    object: Value,
}

/// Definitions before their objects, namespaces before their content.
fn phase(object: &Value) -> u8 {
    match object.get("kind").and_then(Value::as_str) {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        _ => 2,
    }
}

/// An object's name in errors.
pub(crate) fn named(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind").unwrap_or("an object without kind");
    match (text("/metadata/namespace"), text("/metadata/name")) {
        (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
        (None, Some(name)) => format!("{kind} {name}"),
        (_, None) => format!("{kind} without a name"),
    }
}

/// The declared kind of an object.
pub(crate) fn kind_of(registry: &Registry, object: &Value) -> Result<Arc<ServedResource>, String> {
    let text = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
    let (version, name) = (text("apiVersion"), text("kind"));
    let mut kinds = registry.kinds();
    kinds
        .find(|kind| kind.kind() == name && kind.api_version() == version)
        .cloned()
        .ok_or_else(|| format!("apiVersion, kind: no kind {name:?} is served in {version:?}"))
}

fn put(api: &ApiState, object: Value) -> Result<(), String> {
    let kind = kind_of(&api.registry.read(), &object)?;
    let Value::Object(object) = object else { return Err("not an object".to_owned()) };
    let namespace = match (kind.is_namespaced(), metadata::text(&object, "namespace")) {
        (true, "") => Some("default".to_owned()),
        (true, namespace) => Some(namespace.to_owned()),
        (false, _) => None,
    };
    rest::at_once(rest::put(api, &kind, namespace.as_deref(), object))
        .map_err(|status| status.message().to_owned())?;
    if *kind.storage == *crd::TABLE {
        // Serves the definition's kinds for the following objects.
        reconcile_all(api);
    }
    Ok(())
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> ManifestError {
    let path = path.to_owned();
    move |source| ManifestError::Io { path, source }
}

/// Reads every file of objects below a folder, sorted by path.
fn read(folder: &Path) -> Result<Vec<Manifest>, ManifestError> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    let mut manifests = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(io_error(&file))?;
        let unreadable = |why: String| ManifestError::Unreadable { file: file.clone(), why };
        for document in yaml::documents(&text).map_err(unreadable)? {
            let value: Value =
                serde_json::from_slice(&document).map_err(|error| unreadable(error.to_string()))?;
            if !value.is_object() {
                return Err(unreadable("a document that is no object".to_owned()));
            }
            flatten(&file, value, &mut manifests);
        }
    }
    Ok(manifests)
}

/// Replaces a list by its items.
fn flatten(file: &Path, mut object: Value, into: &mut Vec<Manifest>) {
    let is_list = object.get("kind").is_some_and(|kind| kind == "List");
    match object.get_mut("items") {
        Some(Value::Array(items)) if is_list => {
            std::mem::take(items).into_iter().for_each(|item| flatten(file, item, into));
        }
        _ => into.push(Manifest { file: file.to_owned(), object }),
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), ManifestError> {
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
