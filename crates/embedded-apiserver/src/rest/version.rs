//! A resourceVersion that a request names: what it must be, and the wait for it.

use std::time::Duration;

use crate::api::query::no_number;
use crate::api::status::Status;
use crate::rest::state::ApiState;

/// Not a revision: each verb answers that with another code.
#[derive(Debug)]
pub(super) struct WrongVersion(String);

impl WrongVersion {
    /// As of an object's own version.
    pub(super) fn plain(&self) -> String {
        no_number(&self.0)
    }

    /// As of an option of a read.
    pub(super) fn of_option(&self) -> String {
        format!("resourceVersion: {}", self.plain())
    }
}

/// A resourceVersion as sent: empty and `0` are 0.
pub(super) fn parse_version(version: &str) -> Result<u64, WrongVersion> {
    if version.is_empty() {
        return Ok(0);
    }
    let plain = version.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain.then(|| version.parse().ok()).flatten();
    number.ok_or_else(|| WrongVersion(version.to_owned()))
}

/// How long a read waits for a revision that has not been written yet.
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
