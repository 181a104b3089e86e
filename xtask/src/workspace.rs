//! What cargo says of the workspace: its root, its packages, which of them are published; and
//! commands at its root.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand, Package};

/// `cargo metadata` of this workspace, parsed once.
#[derive(Debug)]
pub(crate) struct Workspace {
    metadata: Metadata,
    effort: u32,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        // As cargo says it now: checkouts that share a target folder may share this program.
        let folder = std::env::var_os("CARGO_MANIFEST_DIR")
            .unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let manifest = Path::new(&folder).join("../Cargo.toml");
        let metadata = MetadataCommand::new()
            .manifest_path(&manifest)
            .other_options(vec!["--locked".to_owned()])
            .exec()
            .with_context(|| {
                format!(
                    "cannot read {}; if Cargo.lock is out of date, run `cargo check`",
                    manifest.display()
                )
            })?;
        Ok(Self { metadata, effort: 1 })
    }

    pub(crate) fn with_effort(self, effort: u32) -> Self {
        Self { effort, ..self }
    }

    /// How many times as much searches play.
    pub(crate) const fn effort(&self) -> u32 {
        self.effort
    }

    pub(crate) fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    /// Where cargo puts what it builds.
    pub(crate) fn target_dir(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// Where cargo puts programs of the `dev` profile.
    pub(crate) fn debug_dir(&self) -> PathBuf {
        self.target_dir().join("debug")
    }

    pub(crate) fn packages(&self) -> Vec<&Package> {
        self.metadata.workspace_packages()
    }

    pub(crate) fn published(&self) -> impl Iterator<Item = &Package> {
        self.packages().into_iter().filter(|package| is_published(package))
    }

    pub(crate) fn unpublished(&self) -> impl Iterator<Item = &Package> {
        self.packages().into_iter().filter(|package| !is_published(package))
    }

    /// The cargo that started us, at the root of the workspace.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        self.program(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), args)
    }

    /// `program args…` at the root of the workspace, as if it were called by hand: of what cargo
    /// tells its programs there are build scripts (ring's) that look at it, and would run again
    /// at every turn from one to the other.
    pub(crate) fn program(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.root());
        for (name, _) in std::env::vars_os() {
            let of_a_package = |prefix| name.as_encoded_bytes().starts_with(prefix);
            if of_a_package(b"CARGO_PKG_") || of_a_package(b"CARGO_MANIFEST_") {
                command.env_remove(name);
            }
        }
        command
    }
}

/// A package is published unless its manifest says `publish = false`.
pub(crate) fn is_published(package: &Package) -> bool {
    package.publish.as_ref().is_none_or(|registries| !registries.is_empty())
}
