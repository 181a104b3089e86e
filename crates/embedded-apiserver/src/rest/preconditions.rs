//! Preconditions in the body of an update: name, uid, resourceVersion.

use crate::api::metadata::{self, Object};
use crate::api::status::Status;
use crate::rest::route::Target;
use crate::rest::version::parse_version;
use crate::strategy::resource::ServedResource;

/// A resourceVersion must be a number, even if there is no object.
pub(super) fn check_number(object: &Object) -> Result<(), Status> {
    let version = metadata::text(object, "resourceVersion");
    parse_version(version).map(drop).map_err(|why| Status::unknown(why.plain()))
}

/// The conflict of an update with another uid, in the words of upstream's store.
pub(super) fn other_uid(
    target: &Target,
    name: &str,
    (wanted, found): (&str, &str),
    dry_run: bool,
) -> Status {
    let why = format!("UID in precondition: {wanted}, UID in object meta: {found}");
    unmet(&target.kind, target.namespace.as_deref(), name, &why, dry_run)
}

/// An unmet precondition, in the words of upstream's store.
pub(super) fn unmet(
    kind: &ServedResource,
    namespace: Option<&str>,
    name: &str,
    why: &str,
    dry_run: bool,
) -> Status {
    let place = kind.strategy().storage_prefix(kind);
    let parts =
        [if dry_run { "" } else { "/registry" }, &place].into_iter().chain(namespace).chain([name]);
    let key = parts.collect::<Vec<_>>().join("/");
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
         failed: {why}"
    );
    Status::conflict(kind, name, &why)
}

/// The name in the body must be that of the path.
pub(super) fn check_said_name(object: &Object, name: &str) -> Result<(), Status> {
    match metadata::text(object, "name") {
        said if said == name => Ok(()),
        "" => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        said => Err(Status::bad_request(format!(
            "the name of the object ({said}) does not match the name on the URL ({name})"
        ))),
    }
}
