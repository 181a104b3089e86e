//! Names of admission's objects that are for files on the server's disk.

use crate::api::metadata::{self, Object};

const SUFFIX: &str = ".static.k8s.io";

#[doc(alias = "WarningsForStaticSuffix")]
pub(super) fn warnings(object: &Object) -> Vec<String> {
    let why = format!(
        "metadata.name: names ending with {SUFFIX:?} are reserved for static manifest-based \
         configurations and cannot be managed via the API"
    );
    Some(why).filter(|_| metadata::text(object, "name").ends_with(SUFFIX)).into_iter().collect()
}
