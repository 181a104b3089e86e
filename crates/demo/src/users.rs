//! The users of a run's API server: their names, their tokens, and the files by which they find it.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::cli::ServeOptions;

/// Who creates and deletes claims.
pub(crate) const WRITER: &str = "writer";
/// Who only reads, and judges.
pub(crate) const JUDGE: &str = "judge";
/// Who looks around, with kubectl or otherwise.
pub(crate) const VISITOR: &str = "visitor";

/// A user, and the token by which the front knows it.
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) token: String,
    pub(crate) is_replica: bool,
}

/// All users of a run, each with a token of its own.
pub(crate) fn users(options: &ServeOptions) -> Vec<User> {
    let people = [WRITER, JUDGE, VISITOR].map(|name| (name.to_owned(), false));
    let replicas = options.replicas.iter().map(|name| (name.clone(), true));
    people
        .into_iter()
        .chain(replicas)
        // Drawn from the system, not from the seed: a token is a secret.
        .map(|(name, is_replica)| User { name, token: token(), is_replica })
        .collect()
}

pub(crate) fn token() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Where a user's kubeconfig is.
pub(crate) fn kubeconfig(dir: &Path, user: &str) -> PathBuf {
    dir.join(format!("kubeconfig-{user}.yaml"))
}

/// Where the visitor's header for `curl --header @FILE` is: a token does not belong on a command
/// line.
pub(crate) fn authorization(dir: &Path) -> PathBuf {
    dir.join("authorization")
}
