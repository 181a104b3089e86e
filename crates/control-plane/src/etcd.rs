//! etcd's own HTTP interface, on loopback and without TLS: is it ready, and what to forget.

use std::time::Duration;

use crate::error::Error;

const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn is_ready(port: u16) -> bool {
    agent()
        .get(format!("http://127.0.0.1:{port}/health"))
        .call()
        .is_ok_and(|answer| answer.status() == 200)
}

/// Forgets all before the current revision, in the file too, and returns that revision.
pub(crate) fn compact(port: u16) -> Result<u64, Error> {
    let (_, answer) = post(port, "range", r#"{"key":"Lw==","count_only":true}"#)?;
    let revision = revision(&answer)
        .ok_or_else(|| Error::Etcd(format!("no revision in its answer {answer:?}")))?;
    let (status, answer) =
        post(port, "compaction", &format!(r#"{{"revision":"{revision}","physical":true}}"#))?;
    // Nothing was written since the last time, or the API server compacts too.
    if status == 200 || answer.contains("has been compacted") {
        Ok(revision)
    } else {
        Err(Error::Etcd(format!("compaction: {answer}")))
    }
}

/// A proxy that the environment names has no way to this machine's loopback.
fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false)
        .proxy(None)
        .build()
        .into()
}

fn post(port: u16, verb: &str, body: &str) -> Result<(u16, String), Error> {
    let failed = |error: ureq::Error| Error::Etcd(format!("{verb}: {error}"));
    let mut answer =
        agent().post(format!("http://127.0.0.1:{port}/v3/kv/{verb}")).send(body).map_err(failed)?;
    let text = answer.body_mut().read_to_string().map_err(failed)?;
    Ok((answer.status().as_u16(), text))
}

/// The member `"revision":"N"` of the header, which comes first.
fn revision(answer: &str) -> Option<u64> {
    let (_, rest) = answer.split_once("\"revision\":\"")?;
    rest.split('"').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::revision;

    #[test]
    fn the_revision_is_read_from_the_header() {
        let answer =
            r#"{"header":{"cluster_id":"1", "revision":"204", "raft_term":"2"},"count":"3"}"#;
        assert_eq!(revision(answer), Some(204));
        assert_eq!(revision("{}"), None);
    }
}
