//! An answer that breaks off in the middle of its body: half of its first piece arrives, then the
//! connection goes or falls silent.

use super::kind::Fault;
use crate::body::{Body, Disconnected};
use crate::request_log::Tracer;
use futures::future;
use futures::stream::{self, StreamExt};
use http::Response;
use http_body::Body as _;

/// Half of the answer, if the fault says so; the head still has the whole length. The half is
/// traced.
///
/// An answer of a server behind a proxy may come in several pieces. Then the first one is halved:
/// an answer without an end, such as a log that is followed, has no other half.
pub(crate) fn torn(
    response: Response<Body>,
    fault: Option<&Fault>,
    tracer: impl FnOnce() -> Tracer,
) -> Response<Body> {
    let (fault, stalls) = match fault {
        Some(fault @ Fault::DropMidAnswer) => (fault, false),
        Some(fault @ Fault::StallMidAnswer) => (fault, true),
        _ => return response,
    };
    if response.body().is_watch() || response.body().is_end_stream() {
        return response;
    }
    let mut response = response.map(|body| {
        let length = body.size_hint().exact();
        let half = body
            .into_stream()
            .take(1)
            .map(|piece| piece.map(|piece| piece.slice(..piece.len() / 2)))
            .filter(|half| future::ready(!half.as_ref().is_ok_and(bytes::Bytes::is_empty)));
        let rest = stream::once(async move {
            if stalls {
                std::future::pending::<()>().await;
            }
            // Not at once: the half must be on its way before the connection goes.
            tokio::task::yield_now().await;
            Err(Disconnected::new())
        });
        let tracer = tracer();
        Body::transfer(half.chain(rest).inspect(move |part| tracer.chunk(Some(part))), length)
    });
    super::answer::mark(&mut response, fault);
    response
}
