//! Who we are: the names by which this provisioner tells its own objects from others'.

use std::path::PathBuf;

/// The identity of one deployment of the provisioner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Us {
    /// `StorageClass.provisioner` of the class, and the value of the annotations on claims and
    /// volumes.
    pub provisioner: String,
    /// The one StorageClass that is served.
    pub storage_class: String,
    /// The absolute path of the root, as it stands in volumes.
    pub root: PathBuf,
    /// The label, as key and value, of the nodes on which the root is; volumes say so, if it is
    /// known.
    pub node_label: Option<(String, String)>,
}
