//! Refusals: a layer around the client that notices when the server answers 403, remembers for
//! which verb and resource, and changes nothing.

use std::fmt;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::ClientBuilder;
use tower::{Layer, Service};

use super::{Permission, Permissions};

impl Permissions {
    /// What notices refusals, for a client's service.
    #[must_use]
    pub fn layer(&self) -> NoticeRefusalsLayer {
        NoticeRefusalsLayer { permissions: self.clone() }
    }

    /// A client that notices refusals.
    ///
    /// # Errors
    /// As `kube::Client::try_from`: certificates that cannot be read.
    pub fn client(&self, cluster: kube::Config) -> Result<Client, kube::Error> {
        Ok(ClientBuilder::try_from(cluster)?.with_layer(&self.layer()).build())
    }
}

/// Puts [`NoticeRefusals`] around a client's service; see [`Permissions::layer`].
#[derive(Clone)]
pub struct NoticeRefusalsLayer {
    permissions: Permissions,
}

impl fmt::Debug for NoticeRefusalsLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoticeRefusalsLayer").finish_non_exhaustive()
    }
}

impl<S> Layer<S> for NoticeRefusalsLayer {
    type Service = NoticeRefusals<S>;

    fn layer(&self, inner: S) -> Self::Service {
        NoticeRefusals { inner, permissions: self.permissions.clone() }
    }
}

/// Passes requests on, and notices which are refused for lack of a permission.
#[derive(Clone)]
pub struct NoticeRefusals<S> {
    inner: S,
    permissions: Permissions,
}

impl<S> fmt::Debug for NoticeRefusals<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoticeRefusals").finish_non_exhaustive()
    }
}

impl<S, B, A> Service<Request<B>> for NoticeRefusals<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let uri = request.uri();
        let place = Permission::of_request(request.method().as_str(), uri.path(), uri.query());
        let answering = self.inner.call(request);
        let Some(place) = place else { return answering.boxed() };
        let permissions = self.permissions.clone();
        answering
            .inspect(move |answer| match answer {
                Ok(answer) if answer.status() == StatusCode::FORBIDDEN => {
                    permissions.refused(place)
                }
                // Before 403 comes 401; after it come all answers that speak about the object.
                Ok(answer) if is_beyond_authorization(answer.status()) => permissions.passed(place),
                _ => {}
            })
            .boxed()
    }
}

/// Whether the server has looked at a request's permission, and found it.
fn is_beyond_authorization(status: StatusCode) -> bool {
    status.is_success()
        || matches!(
            status,
            StatusCode::NOT_FOUND
                | StatusCode::CONFLICT
                | StatusCode::GONE
                | StatusCode::UNPROCESSABLE_ENTITY
        )
}
