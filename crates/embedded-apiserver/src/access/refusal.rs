//! What a user who may not do something is told.

use crate::access::attributes::Attributes;
use crate::api::status::Status;
use api_front::User;

/// A refusal, in the real server's words.
pub(super) fn forbidden(user: &User, asked: &Attributes<'_>, reason: &str) -> Status {
    // HTML in a message is made harmless, as in
    // k8s.io/apiserver/pkg/endpoints/handlers/responsewriters.
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
