//! The 403 of a refused request.

use crate::access::attributes::Attributes;
use crate::api::status::Status;
use api_front::User;

/// The error, in upstream's words.
pub(super) fn forbidden(user: &User, asked: &Attributes<'_>, reason: &str) -> Status {
    // Escapes HTML, as k8s.io/apiserver/pkg/endpoints/handlers/responsewriters.
    let said = format!("User {:?} {asked}", user.name());
    let said = said.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let why = if reason.is_empty() { said } else { format!("{said}: {reason}") };
    match asked {
        Attributes::Resource { group, resource, name, .. } => {
            Status::refused(group, resource, name, &why)
        }
        Attributes::Path { .. } => Status::refused("", "", "", &why),
    }
}
