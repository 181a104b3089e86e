//! The way of a request through a front: user, log, faults, backend. Each has its own file; here is
//! their order.

use crate::backend::Backend;
use crate::body::{Body, Disconnected};
use crate::fault::{self, Effect, Fault, FaultyWatch, WatchDecision};
use crate::front::Parts;
use crate::introspection;
use crate::query;
use crate::request_info::{RequestInfo, Verb};
use crate::request_log::{self, Outcome, Recording};
use crate::status::failure_response;
use crate::user::User;
use bytes::Bytes;
use http::{Request, Response};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The server behind the front, and the answer to a request whose body could not be read.
pub(crate) struct Call<B> {
    pub(crate) backend: B,
    /// Boxed: it moves with each request, and few have it.
    pub(crate) unread: Option<Box<Response<Body>>>,
}

impl<B: Backend> Call<B> {
    async fn answer(self, request: Request<Bytes>) -> Response<Body> {
        // A user that may not make the request learns that first.
        let request = match self.backend.authorize(request) {
            Ok(request) => request,
            Err(forbidden) => return forbidden,
        };
        match self.unread {
            Some(response) => *response,
            None => self.backend.answer(request).await,
        }
    }

    /// # Errors
    ///
    /// 501 if the server cannot do it: it is another one, and its history and clock are out of
    /// reach.
    #[expect(clippy::result_large_err, reason = "few requests get this answer")]
    fn apply(&self, effects: &[Effect]) -> Result<(), Response<Body>> {
        match effects.iter().find(|effect| !self.backend.apply(**effect)) {
            None => Ok(()),
            Some(effect) => {
                let what = format!("the fault {} in front of another API server", effect.word());
                let why = format!("api-front does not implement {what}");
                Err(failure_response(501, "NotImplemented", &why))
            }
        }
    }
}

impl Parts {
    /// Serves one request. The server behind answers it unless a layer does.
    ///
    /// # Errors
    ///
    /// [`Disconnected`] if a fault drops the connection.
    ///
    /// # Cancel safety
    ///
    /// A dropped future is a client that went away: the log says so, and the request may or may not
    /// be applied.
    pub(crate) async fn serve<B: Backend>(
        &self,
        request: Request<Bytes>,
        call: Call<B>,
    ) -> Result<Response<Body>, Disconnected> {
        if self.introspection && request.uri().path() == introspection::HEALTH {
            return Ok(introspection::healthy());
        }
        let info = RequestInfo::of(request.method(), request.uri());
        let content = request_log::of_request(&request);
        let authenticated = match request.extensions().get::<User>() {
            Some(user) => Ok(user.clone()),
            None => self
                .tokens
                .authenticate(request.headers(), |token| call.backend.user_of_token(token)),
        };
        let Ok(user) = authenticated else {
            let nobody = User::anonymous();
            self.log.arrived(nobody.shared_name(), &info, content).finish(Outcome::Answered(401));
            return Ok(unauthorized());
        };
        if self.introspection && request.uri().path().starts_with(introspection::PREFIX) {
            return Ok(introspection::answer(&self.log, &self.faults, &request));
        }
        let mut request = request;
        let name = Arc::clone(user.shared_name());
        request.extensions_mut().insert(user);
        let mut recording = self.log.arrived(&name, &info, content);
        let answer = self.under_faults(request, &name, &info, &mut recording, call).await;
        if let Ok(response) = &answer {
            recording.answered(response);
        }
        recording.finish(match &answer {
            Ok(response) => Outcome::Answered(response.status().as_u16()),
            Err(_) => Outcome::Disconnected,
        });
        answer
    }

    async fn under_faults<B: Backend>(
        &self,
        request: Request<Bytes>,
        user: &Arc<str>,
        info: &RequestInfo,
        recording: &mut Recording,
        call: Call<B>,
    ) -> Result<Response<Body>, Disconnected> {
        self.faults.connected(user).await;
        let resumes = resumes(info, request.uri().query().unwrap_or_default());
        let decision = self.faults.decide(user, info, resumes, request.body());
        let follows =
            decision.fault.as_ref().is_some_and(|injection| injection.fault.follows_success());
        let word = if follows { decision.word_beside_fault() } else { decision.word() };
        if let Some(word) = word {
            recording.faulted(word);
        }
        if !decision.delay.is_zero() {
            sleep(decision.delay).await;
            // The connection may have been cut while the request waited.
            self.faults.connected(user).await;
        }
        if let Err(refused) = call.apply(&decision.effects) {
            return Ok(refused);
        }
        let injected = decision.fault;
        match injected.as_ref().map(|injection| &injection.fault) {
            Some(Fault::NeverAnswer) => return pending().await,
            Some(Fault::DropBefore) => {
                self.faults.connected(user).await;
                return Err(Disconnected::new());
            }
            Some(Fault::ApplyLate { after_ms }) => {
                let after = Duration::from_millis(*after_ms);
                // In a task of its own: it is applied even if the client gives up before.
                tokio::spawn(async move {
                    sleep(after).await;
                    drop(call.answer(request).await);
                });
                return pending().await;
            }
            Some(fault) if !fault.is_applied() => {
                if let Some(response) = fault::response(fault, user, info) {
                    self.faults.connected(user).await;
                    return Ok(response);
                }
            }
            _ => {}
        }
        let response = call.answer(request).await;
        match injected.as_ref().map(|injection| &injection.fault) {
            Some(Fault::DropAfter) => {
                self.faults.connected(user).await;
                return Err(Disconnected::new());
            }
            Some(Fault::ApplyNeverAnswer) => return pending().await,
            _ => {}
        }
        self.faults.connected(user).await;
        let fault = injected.as_ref().map(|injection| &injection.fault);
        if let Some(fault) = fault.filter(|fault| fault.follows_success()) {
            let refused =
                response.status().is_client_error() || response.status().is_server_error();
            if let Some(instead) = fault::response(fault, user, info).filter(|_| !refused) {
                recording.faulted(fault.as_str());
                return Ok(instead);
            }
        }
        let response = fault::torn(response, fault, || recording.tracer());
        if !response.body().is_watch() {
            return Ok(response);
        }
        let decided = WatchDecision { injected, withheld: decision.withheld };
        let tracer = recording.tracer();
        Ok(response
            .map(|body| FaultyWatch::wrap(body, &self.faults, user, info.clone(), decided, tracer)))
    }
}

/// Whether the request names a point in the past: a watch from a version, a page of a list, a list
/// of an exact version.
fn resumes(info: &RequestInfo, query: &str) -> bool {
    let mut from = false;
    let mut exact = false;
    for (key, value) in query::pairs(query) {
        match &*key {
            "resourceVersion" => from = !matches!(&*value, "" | "0"),
            "resourceVersionMatch" => exact = value == "Exact",
            "continue" if !value.is_empty() => return true,
            // The initial events make a fresh start.
            "sendInitialEvents" if value != "false" => return false,
            _ => {}
        }
    }
    from && (info.verb == Verb::Watch || exact)
}

fn unauthorized() -> Response<Body> {
    failure_response(401, "Unauthorized", "Unauthorized")
}
