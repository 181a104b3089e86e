//! Impersonation and authorization of a request, after authentication.

use bytes::Bytes;
use http::Request;

use crate::access::attributes::Attributes;
use crate::access::authorizer::Authorizer;
use crate::access::impersonation;
use crate::access::refusal::forbidden;
use crate::access::user::user_of;
use crate::api::status::Status;
use api_front::RequestInfo;

/// Applies impersonation, then authorizes the request.
pub(crate) fn admit(
    access: &Authorizer,
    request: Request<Bytes>,
) -> Result<Request<Bytes>, Status> {
    let mut request = impersonation::apply(access, request)?;
    if access.is_enabled() {
        let info = RequestInfo::of(request.method(), request.uri());
        let user = user_of(&mut request);
        let asked = Attributes::of(request.method(), &info);
        access.authorize(&user, &asked).map_err(|reason| forbidden(&user, &asked, &reason))?;
    }
    Ok(request)
}
