//! The resourceVersion of a request: parsing, and waiting for it.

use std::time::Duration;

use crate::api::query::no_number;
use crate::api::status::Status;
use crate::rest::state::ApiState;

/// A text that is no revision. Each verb reports it with another code.
#[derive(Debug)]
pub(super) struct WrongVersion(String);

impl WrongVersion {
    /// The error of an object's own resourceVersion.
    pub(super) fn plain(&self) -> String {
        no_number(&self.0)
    }

    /// The error of a read option.
    pub(super) fn of_option(&self) -> String {
        format!("resourceVersion: {}", self.plain())
    }
}

/// Parses a resourceVersion. Empty and `0` are 0.
pub(super) fn parse_version(version: &str) -> Result<u64, WrongVersion> {
    if version.is_empty() {
        return Ok(0);
    }
    let plain = version.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain.then(|| version.parse().ok()).flatten();
    number.ok_or_else(|| WrongVersion(version.to_owned()))
}

/// How long a read waits for a future revision.
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) async fn wait_for(api: &ApiState, revision: u64) -> Result<(), Status> {
    if revision <= api.store.revision() {
        return Ok(());
    }
    let mut newest = api.store.newest();
    match tokio::time::timeout(PATIENCE, newest.until(|reached| *reached >= revision)).await {
        Ok(_) => Ok(()),
        Err(_) => Err(Status::revision_too_large(revision, api.store.revision())),
    }
}
