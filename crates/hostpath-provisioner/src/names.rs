//! Every name that others may look for: annotations, finalizer, files, folders. What they mean is
//! decided elsewhere.

/// The default `StorageClass.provisioner`, and the value of [`STORAGE_PROVISIONER`] on claims that
/// are ours.
pub const PROVISIONER: &str = "hostpath.wq-rs.dev/provisioner";

/// On a claim, written by Kubernetes' volume binder: who is asked to provision it.
pub const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// The older name of [`STORAGE_PROVISIONER`]; the binder writes both.
pub const STORAGE_PROVISIONER_BETA: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// On a claim, written by the scheduler for a class that waits for its first consumer.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// On a volume: who made it.
pub const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Holds a volume until its directory has been taken back. The name is upstream's.
pub const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// On a claim that waits: why, as one word of [`crate::Reason`].
pub const WAITING_REASON: &str = "hostpath.wq-rs.dev/waiting-reason";
/// On a claim that waits: why, as a sentence.
pub const WAITING_MESSAGE: &str = "hostpath.wq-rs.dev/waiting-message";

/// In `deploy/`: what grants the permissions outside of the Lease's namespace.
pub(crate) const CLUSTER_ROLE_FILE: &str = "30-cluster-role.yaml";
/// In `deploy/`: what grants the permissions on the Lease.
pub(crate) const ROLE_FILE: &str = "20-role.yaml";

/// The file inside each directory that says whose it is; see [`crate::Marker`].
pub const MARKER_FILE: &str = ".hostpath-provisioner.json";
/// The folder below the root where the provisioner keeps what is its own.
pub const STATE_FOLDER: &str = ".hostpath-provisioner";
/// In the state folder: directories that are being made.
pub const STAGING_FOLDER: &str = "staging";
/// In the state folder: directories that are being removed.
pub const TRASH_FOLDER: &str = "trash";
/// In the state folder: one empty file for each directory that outlives its volume.
pub const RETAINED_FOLDER: &str = "retained";
/// In the state folder: whose root this is and which term was begun last; see [`crate::Term`].
pub const TERM_FILE: &str = "term.json";
/// In the state folder: why nothing is removed on this root, until the file is removed.
pub const RESTORED_FILE: &str = "restored.json";

/// The name of the volume, and of the directory, of the claim with this UID (upstream's rule, so
/// that a second attempt finds the first).
#[must_use]
pub fn volume_name(claim_uid: &str) -> String {
    format!("pvc-{claim_uid}")
}

/// The claim UID in a volume's or directory's name, if it has the form of [`volume_name`].
#[must_use]
pub fn claim_uid_of(volume_name: &str) -> Option<&str> {
    volume_name.strip_prefix("pvc-").filter(|uid| is_uid(uid))
}

/// Whether a string can be an object's UID and a part of a file name. The API promises no format;
/// ours is the safe part of what exists.
#[must_use]
pub fn is_uid(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_name_leads_back_to_the_claim() {
        assert_eq!(claim_uid_of(&volume_name("a-1")), Some("a-1"));
        for foreign in ["pvc-", "pv-a", "pvc-../x", "pvc-a/b", "pvc-a.b", "", "pvc-\u{e9}"] {
            assert_eq!(claim_uid_of(foreign), None, "{foreign}");
        }
    }
}
