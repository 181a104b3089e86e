//! Requests about one object of an API server, and what their answers mean. By hand: kube keeps no
//! headers, and `Retry-After` is one. Nobody repeats them.

use std::time::Duration;

use k8s_openapi::serde::de::DeserializeOwned;
use kube::Client;
#[cfg(feature = "coordinated")]
use kube::api::DeleteParams;
use kube::api::{DynamicObject, GetParams, PostParams, Request};
use kube::client::Body;
use kube::core::Status;

use crate::error::{StoreError, shown};

/// Where the object is, and for how long an answer is waited for.
#[derive(Clone)]
pub(crate) struct Requests {
    pub(crate) client: Client,
    /// Of all objects of its kind in its namespace.
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) timeout: Duration,
}

/// A request about the object.
pub(crate) enum Call<'a> {
    Get,
    Create(&'a DynamicObject),
    Replace(&'a DynamicObject),
    #[cfg(feature = "coordinated")]
    Delete(&'a DeleteParams),
}

/// Why a request brought nothing, with the server's own words if it is that.
pub(crate) struct Refusal {
    error: StoreError,
    status: Status,
}

impl Refusal {
    /// Whether the API server says that there is nothing of this name.
    fn is_about(&self, name: &str) -> bool {
        self.status.reason == "NotFound"
            && self.status.details.as_ref().is_some_and(|details| details.name == name)
    }

    #[cfg(feature = "coordinated")]
    /// Whether the API server says that it has no such resource, or no such version of its group:
    /// it names nothing then, and has details all the same. (So does kube-apiserver 1.36 for
    /// its own groups. Who has never heard of it says 404 in other words.)
    pub(crate) fn is_of_no_resource(&self) -> bool {
        self.status.reason == "NotFound"
            && self
                .status
                .details
                .as_ref()
                .is_some_and(|details| details.name.is_empty() && details.kind.is_empty())
    }

    #[cfg(feature = "coordinated")]
    /// The error, where a 404 means no more than that the question is not let through.
    pub(crate) fn not_allowed(self) -> StoreError {
        match self.error {
            StoreError::NotFound => {
                StoreError::Rejected { code: 404, message: shown(&self.status.message) }
            }
            error => error,
        }
    }

    /// What is known when somebody in between has said this.
    fn unknown(&self) -> StoreError {
        StoreError::unknown(format!("status {}: {}", self.status.code, shown(&self.status.message)))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self { error, status: Status::default() }
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        refusal.error
    }
}

impl Requests {
    /// Gives up the call after the time-out.
    pub(crate) async fn within<R>(
        &self,
        call: impl Future<Output = Result<R, StoreError>> + Send,
    ) -> Result<R, StoreError> {
        match tokio::time::timeout(self.timeout, call).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::unknown("no answer within the request time-out")),
        }
    }

    /// One request, and what it is answered with.
    pub(crate) async fn send<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Refusal> {
        let to = Request::new(&self.url);
        let json = |object| serde_json::to_vec(object).map_err(|error| unsent(&error));
        let request = match call {
            Call::Get => to.get(&self.name, &GetParams::default()),
            Call::Create(object) => to.create(&PostParams::default(), json(object)?),
            Call::Replace(object) => to.replace(&self.name, &PostParams::default(), json(object)?),
            #[cfg(feature = "coordinated")]
            Call::Delete(params) => to.delete(&self.name, params),
        };
        let request = request.map_err(|error| unsent(&error))?.map(Body::from);
        let exchange = async {
            let response = self.client.send(request).await.map_err(from_kube)?;
            let asked = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
            let (status, asked) = (response.status(), asked.and_then(seconds));
            let body = response.into_body().collect_bytes().await.map_err(from_kube)?;
            Ok((status, asked, body))
        };
        let (status, asked, body) = self.within(exchange).await?;
        if status.is_client_error() || status.is_server_error() {
            let code = status.as_u16();
            // The answer's own code: who stands in between may wrap what somebody else has said.
            let status = match serde_json::from_slice::<Status>(&body) {
                Ok(status) => status.with_code(code),
                Err(_) => {
                    Status::failure(String::from_utf8_lossy(&body).trim(), "").with_code(code)
                }
            };
            return Err(Refusal { error: from_status(&status, asked), status });
        }
        Ok(serde_json::from_slice(&body)
            .map_err(|error| StoreError::unknown(format!("the answer is no object: {error}")))?)
    }

    /// As [`send`](Self::send), but that the object is missing is the API server's word about this
    /// very one. Somebody in between may say 404 too, of a path or of a server that it does not
    /// know: that says nothing of the object.
    pub(crate) async fn send_about<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
    ) -> Result<T, StoreError> {
        self.send(call).await.map_err(|refusal| match refusal.error {
            StoreError::NotFound if !refusal.is_about(&self.name) => refusal.unknown(),
            error => error,
        })
    }

    #[cfg(feature = "coordinated")]
    /// The same of an object that is missing too where the API server has none of its kind.
    pub(crate) async fn send_about_any<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
    ) -> Result<T, StoreError> {
        self.send(call).await.map_err(|refusal| match refusal.error {
            StoreError::NotFound
                if !refusal.is_about(&self.name) && !refusal.is_of_no_resource() =>
            {
                refusal.unknown()
            }
            error => error,
        })
    }

    /// Makes the object. A conflict means that there is one, and nothing else.
    pub(crate) async fn create(&self, object: &DynamicObject) -> Result<DynamicObject, StoreError> {
        match self.send(Call::Create(object)).await {
            Ok(object) => Ok(object),
            // A quota that is used up is a conflict too: it does not mean that another has made the
            // object.
            Err(Refusal { error: StoreError::Conflict, status })
                if status.reason != "AlreadyExists" =>
            {
                Err(StoreError::Rejected { code: 409, message: shown(&status.message) })
            }
            Err(refusal) if refusal.error == StoreError::NotFound => {
                let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
                Err(if refusal.is_about(namespace) {
                    StoreError::Rejected { code: 404, message: format!("no namespace {namespace}") }
                } else if refusal.status.reason.is_empty() {
                    refusal.unknown()
                } else {
                    StoreError::Rejected { code: 404, message: shown(&refusal.status.message) }
                })
            }
            Err(refusal) => Err(refusal.error),
        }
    }
}

pub(crate) fn from_kube(error: kube::Error) -> StoreError {
    match error {
        kube::Error::Api(status) => from_status(&status, None),
        kube::Error::BuildRequest(error) => unsent(&error),
        // Anything else may have happened after the request was sent.
        other => StoreError::unknown(shown(&other.to_string())),
    }
}

/// A `Retry-After` in seconds; one that is a date is not followed, because it is of another's
/// clock.
fn seconds(text: &str) -> Option<Duration> {
    text.trim().parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// A request that could not be made.
fn unsent(error: &dyn std::error::Error) -> StoreError {
    StoreError::Rejected { code: 0, message: shown(&error.to_string()) }
}

/// `asked`: what the header of the answer says. A server that has no time for more refuses in plain
/// text (API Priority and Fairness does), and then the header alone says for how long.
pub(super) fn from_status(status: &Status, asked: Option<Duration>) -> StoreError {
    match status.code {
        404 => StoreError::NotFound,
        409 => StoreError::Conflict,
        410 => StoreError::Expired,
        429 => {
            let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            let told = (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)));
            StoreError::TooManyRequests { retry_after: told.max(asked) }
        }
        code @ 400..=499 if code != 408 => {
            StoreError::Rejected { code, message: shown(&status.message) }
        }
        code => StoreError::unknown(format!("status {code}: {}", shown(&status.message))),
    }
}
