//! The API server behind a front.

use crate::body::Body;
use crate::fault::Effect;
use crate::user::User;
use bytes::Bytes;
use http::{Request, Response};
use std::future::Future;

/// An API server behind a [`Front`](crate::Front): it answers the requests that no fault has
/// stopped.
///
/// The extensions of each request hold its [`User`]. Each request clones the backend:
/// make that cheap.
pub trait Backend: Clone + Send + Sync + 'static {
    /// Answers a request.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped if the client goes away: the request may or may not be applied then.
    fn answer(&self, request: Request<Bytes>) -> impl Future<Output = Response<Body>> + Send;

    /// Decides whether the user may make this request; by default every user may.
    ///
    /// It comes before the errors of the body: a request that is forbidden and too large is
    /// answered 403. Impersonation replaces the [`User`] of the request here.
    ///
    /// # Errors
    ///
    /// The answer to a request that is forbidden.
    #[expect(
        clippy::result_large_err,
        reason = "an answer is an answer; few requests get this one"
    )]
    fn authorize(&self, request: Request<Bytes>) -> Result<Request<Bytes>, Response<Body>> {
        Ok(request)
    }

    /// The user of a bearer token that the server has issued itself. `None`: it did not issue this
    /// token, which is the default.
    ///
    /// # Errors
    ///
    /// Says why its own token is no longer valid. The request is answered 401.
    #[doc(alias = "AuthenticateToken")]
    fn user_of_token(&self, token: &str) -> Result<Option<User>, String> {
        let _ = token;
        Ok(None)
    }

    /// Called for each request that arrives, in a tokio context, before its body is read.
    fn on_arrival(&self) {}

    /// Lets a fault change the server itself, and returns whether the server can do that. By
    /// default it cannot: then the request is answered 501.
    fn apply(&self, effect: Effect) -> bool {
        let _ = effect;
        false
    }
}
