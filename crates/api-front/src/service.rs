//! A front and its backend as a tower service: reads the body, then sends the request through the
//! pipeline.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;
use tower::Service;

use crate::backend::Backend;
use crate::body::{Body, Disconnected};
use crate::front::Front;
use crate::pipeline::Call;
use crate::status::failure_response;
use crate::user::User;

/// The largest body of a request, as kube-apiserver's.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// How long the body of a request of a socket may take: `--request-timeout` of kube-apiserver.
const BODY: Duration = Duration::from_secs(60);

/// A [`Front`] before a [`Backend`], as a [`tower::Service`]; from [`Front::service`].
///
/// Give it to `kube::Client::new`, or send it any [`http::Request`]. Always ready; clones share
/// front and backend.
///
/// # Cancel safety
///
/// A call that is dropped before its answer may or may not have been applied, as with a real
/// connection. A watch ends when its body is dropped.
#[derive(Clone)]
pub struct FrontService<B> {
    front: Front,
    backend: B,
    user: Option<User>,
    trusts_callers: bool,
    from_socket: bool,
}

impl Front {
    /// The front before a server. Requests need a user: by a token, or by
    /// [`as_user`](FrontService::as_user).
    pub fn service<B: Backend>(&self, backend: B) -> FrontService<B> {
        let front = self.clone();
        FrontService { front, backend, user: None, trusts_callers: false, from_socket: false }
    }
}

impl<B: Backend> FrontService<B> {
    /// The same service, whose requests are made by `user`. A `&str` will do.
    #[must_use]
    pub fn as_user(mut self, user: impl Into<User>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// The same service, whose requests without credentials are made by [`User::admin`]: for a
    /// server in this process. Listeners do not trust.
    #[must_use]
    pub fn trust_callers(mut self) -> Self {
        self.trusts_callers = true;
        self
    }

    /// The same service for requests of a socket.
    #[cfg(feature = "listen")]
    pub(crate) fn for_socket(mut self) -> Self {
        self.from_socket = true;
        self
    }

    /// The user of a request, if its token does not name it.
    fn user_of(&self, headers: &HeaderMap) -> Option<User> {
        let is_trusted = self.trusts_callers
            && !self.from_socket
            && !headers.contains_key(header::AUTHORIZATION);
        self.user.clone().or_else(|| is_trusted.then(User::admin))
    }

    #[cfg(feature = "listen")]
    pub(crate) const fn front(&self) -> &Front {
        &self.front
    }
}

impl<B> fmt::Debug for FrontService<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontService").field("user", &self.user).finish_non_exhaustive()
    }
}

impl<B, P> Service<Request<P>> for FrontService<B>
where
    B: Backend,
    P: http_body::Body<Data = Bytes> + Send + 'static,
    P::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Disconnected;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Disconnected>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Disconnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<P>) -> Self::Future {
        let (front, backend, from_socket) =
            (self.front.clone(), self.backend.clone(), self.from_socket);
        let user = self.user_of(request.headers());
        Box::pin(async move {
            backend.on_arrival();
            let (mut parts, body) = request.into_parts();
            if let Some(user) = user {
                parts.extensions.insert(user);
            }
            let read = Limited::new(body, MAX_BODY).collect();
            // The sender of a body in this process is waited for.
            let read = if from_socket { timeout(BODY, read).await } else { Ok(read.await) };
            let (body, unread) = match read {
                Ok(Ok(body)) => (body.to_bytes(), None),
                Err(_) => (Bytes::new(), Some(Box::new(too_slow()))),
                Ok(Err(error)) => (Bytes::new(), Some(Box::new(unreadable(&*error)))),
            };
            let request = Request::from_parts(parts, body);
            front.parts().serve(request, Call { backend, unread }).await
        })
    }
}

fn too_slow() -> Response<Body> {
    let why = "request did not complete within the allotted timeout";
    failure_response(504, "Timeout", why)
}

fn unreadable(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Response<Body> {
    if error.is::<LengthLimitError>() {
        let why = format!("Request entity too large: limit is {MAX_BODY}");
        return failure_response(413, "RequestEntityTooLarge", &why);
    }
    let why = format!("the body of the request could not be read: {error}");
    failure_response(400, "BadRequest", &why)
}
