//! An answer that breaks off in the middle of its body: half of it arrives, then the connection goes, or nothing more comes.

use super::plan::Fault;
use crate::body::{Body, Disconnected};
use crate::request_log::Tracer;
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::Response;

/// Half of the answer, if the fault is one of those; the head still tells the whole length. What arrives is traced.
pub(crate) fn torn(
    response: Response<Body>,
    fault: Option<&Fault>,
    tracer: impl FnOnce() -> Tracer,
) -> Response<Body> {
    let stalls = match fault {
        Some(Fault::DropMidAnswer) => false,
        Some(Fault::StallMidAnswer) => true,
        _ => return response,
    };
    let Some(whole) = response.body().bytes().cloned() else { return response };
    let mut response = response.map(|_| {
        let half = whole.slice(..whole.len() / 2);
        let rest = stream::once(async move {
            if stalls {
                std::future::pending::<()>().await;
            }
            // Not at once: the half must be on its way before the connection goes.
            tokio::task::yield_now().await;
            Err(Disconnected::new())
        });
        let half = (!half.is_empty()).then_some(Ok::<Bytes, _>(half));
        let tracer = tracer();
        let parts = stream::iter(half).chain(rest).inspect(move |part| tracer.chunk(Some(part)));
        Body::transfer(parts, Some(whole.len() as u64))
    });
    if let Some(fault) = fault {
        super::answer::mark(&mut response, fault);
    }
    response
}
