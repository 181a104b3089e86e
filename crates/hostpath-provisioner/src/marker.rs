//! The small file inside each directory: whose it is, and who made it in which term. Parsing and
//! printing; no I/O.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Markers larger than this are not read: a tenant can write into the directory.
pub const MARKER_MAX_BYTES: usize = 16 * 1024;

/// What the marker file (`.hostpath-provisioner.json`) says.
///
/// The workload that uses the volume can change this file, so it is believed only where a lie hurts
/// the liar alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The UID of the claim the directory was made for.
    pub claim_uid: String,
    /// The claim's namespace.
    pub claim_namespace: String,
    /// The claim's name.
    pub claim_name: String,
    /// The name of the PersistentVolume.
    pub volume: String,
    /// The replica that made the directory.
    pub identity: String,
    /// The term of leadership in which it was made.
    pub fence: Fence,
}

/// A term of leadership, in the form of lease-election's fence token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// The Lease's UID.
    pub uid: String,
    /// The Lease's resource version after the write that began the term.
    pub resource_version: String,
    /// The Lease's count of transitions.
    pub transitions: i32,
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.uid, self.resource_version)
    }
}

/// Why a marker cannot be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMarker(String);

impl InvalidMarker {
    pub(crate) fn because(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl fmt::Display for InvalidMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidMarker {}

impl Marker {
    /// The file's content, ending in a newline.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Strings and an integer: there is nothing in it that JSON cannot hold.
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Reads a marker file's content.
    ///
    /// # Errors
    /// When it is too large, not JSON of this form, or without a usable claim UID.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidMarker> {
        if bytes.len() > MARKER_MAX_BYTES {
            return Err(InvalidMarker(format!(
                "the marker has more than {MARKER_MAX_BYTES} bytes"
            )));
        }
        let marker: Self = serde_json::from_slice(bytes)
            .map_err(|error| InvalidMarker(format!("the marker is no marker: {error}")))?;
        if !crate::names::is_uid(&marker.claim_uid) {
            return Err(InvalidMarker("the marker's claim_uid is no UID".to_owned()));
        }
        Ok(marker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn marker() -> Marker {
        Marker {
            claim_uid: "u-1".into(),
            claim_namespace: "shop".into(),
            claim_name: "data".into(),
            volume: "pvc-u-1".into(),
            identity: "host_1".into(),
            fence: Fence { uid: "l-1".into(), resource_version: "42".into(), transitions: 3 },
        }
    }

    #[test]
    fn a_marker_reads_back_as_written() {
        assert_eq!(Marker::parse(&marker().to_bytes()), Ok(marker()));
    }

    #[test]
    fn the_fields_have_the_names_others_read() {
        let value: serde_json::Value = serde_json::from_slice(&marker().to_bytes()).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "claim_uid": "u-1", "claim_namespace": "shop", "claim_name": "data", "volume": "pvc-u-1",
                "identity": "host_1", "fence": {"uid": "l-1", "resource_version": "42", "transitions": 3},
            })
        );
    }

    #[test]
    fn hostile_content_is_refused_not_believed() {
        for hostile in ["", "null", "[]", "{}", "{\"claim_uid\":1}"] {
            assert!(Marker::parse(hostile.as_bytes()).is_err(), "{hostile}");
        }
        assert!(Marker::parse(&vec![b' '; MARKER_MAX_BYTES + 1]).is_err());
        let climbing = Marker { claim_uid: "../../etc".into(), ..marker() };
        assert!(Marker::parse(&climbing.to_bytes()).is_err());
    }
}
