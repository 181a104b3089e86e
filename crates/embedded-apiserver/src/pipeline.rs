//! The way of a request to the API: who asks, the log, the faults. Each has its own file; here is
//! their order.

use crate::body::{Body, Disconnected};
use crate::clock::Clock;
use crate::fault::{self, Fault, FaultPlan, Faults, FaultyWatch, Tampered};
use crate::identity::User;
use crate::introspection;
use crate::query;
use crate::request_info::{RequestInfo, Verb};
use crate::request_log::{self, Outcome, Recording, RequestLog};
use crate::status;
use crate::tokens::Tokens;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// What the builders of servers and proxies ask of a pipeline.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) tokens: Tokens,
    pub(crate) faults: FaultPlan,
    /// Entries kept.
    pub(crate) request_log: usize,
    pub(crate) introspection: bool,
    pub(crate) allow_non_loopback: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tokens: Tokens::default(),
            faults: FaultPlan::none(),
            request_log: request_log::DEFAULT_CAPACITY,
            introspection: false,
            allow_non_loopback: false,
        }
    }
}

impl Settings {
    /// # Panics
    ///
    /// The plan names a resource that no API server has.
    #[track_caller]
    pub(crate) fn set_faults(&mut self, plan: FaultPlan) {
        fault::assert_checked(&plan);
        self.faults = plan;
    }

    /// The pipeline, whose log's wall time follows `clock`.
    pub(crate) fn build(self, clock: Clock) -> Pipeline {
        Pipeline {
            log: RequestLog::new(self.request_log, clock),
            tokens: self.tokens,
            faults: Faults::new(self.faults),
            introspection: self.introspection,
            allow_non_loopback: self.allow_non_loopback,
        }
    }
}

/// What stands in front of the API: the embedded server's own, or one behind a proxy.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) log: RequestLog,
    pub(crate) tokens: Tokens,
    pub(crate) faults: Faults,
    pub(crate) introspection: bool,
    /// Whether a listener may be reached from other machines.
    pub(crate) allow_non_loopback: bool,
}

impl Pipeline {
    /// Serves one request; `api` answers it unless a layer does.
    ///
    /// # Errors
    ///
    /// [`Disconnected`] if a fault drops the connection.
    ///
    /// # Cancel safety
    ///
    /// A dropped future is a client that went away: the log says so, and `api` may or may not have
    /// been applied.
    pub(crate) async fn serve<F, Fut>(
        &self,
        request: Request<Bytes>,
        api: F,
    ) -> Result<Response<Body>, Disconnected>
    where
        F: FnOnce(Request<Bytes>) -> Fut + Send + 'static,
        Fut: Future<Output = Response<Body>> + Send + 'static,
    {
        if self.introspection && request.uri().path() == introspection::HEALTH {
            return Ok(introspection::healthy());
        }
        let info = RequestInfo::of(request.method(), request.uri());
        let content = request_log::of_request(&request);
        let authenticated = match request.extensions().get::<User>() {
            Some(user) => Ok(user.clone()),
            None => self.tokens.authenticate(request.headers()),
        };
        let Ok(user) = authenticated else {
            let nobody = User::anonymous();
            self.log.arrived(nobody.shared_name(), &info, content).finish(Outcome::Answered(401));
            return Ok(unauthorized());
        };
        if self.introspection && request.uri().path().starts_with(introspection::PREFIX) {
            return Ok(introspection::answer(self, &request));
        }
        let mut request = request;
        let name = Arc::clone(user.shared_name());
        request.extensions_mut().insert(user);
        let mut recording = self.log.arrived(&name, &info, content);
        let answer = self.under_faults(request, &name, &info, &mut recording, api).await;
        if let Ok(response) = &answer {
            recording.answered(response);
        }
        recording.finish(match &answer {
            Ok(response) => Outcome::Answered(response.status().as_u16()),
            Err(_) => Outcome::Disconnected,
        });
        answer
    }

    async fn under_faults<F, Fut>(
        &self,
        request: Request<Bytes>,
        user: &Arc<str>,
        info: &RequestInfo,
        recording: &mut Recording,
        api: F,
    ) -> Result<Response<Body>, Disconnected>
    where
        F: FnOnce(Request<Bytes>) -> Fut + Send + 'static,
        Fut: Future<Output = Response<Body>> + Send + 'static,
    {
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
        if let Err(unreachable) = self.faults.happen(&decision.effects) {
            return Ok(unreachable.into_response());
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
                    drop(api(request).await);
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
        let response = api(request).await;
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
        let decided = Tampered { injected, withheld: decision.withheld };
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
    let body = serde_json::json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    });
    status::json_response(StatusCode::UNAUTHORIZED, body.to_string())
}
