//! Requests: requests about one object of an API server, and what their answers mean. They bypass
//! kube's own calls, which drop the header `Retry-After`, and are never retried.

use std::time::Duration;

use k8s_openapi::serde::de::DeserializeOwned;
use kube::Client;
#[cfg(feature = "coordinated")]
use kube::api::DeleteParams;
use kube::api::{DynamicObject, GetParams, PostParams, Request};
use kube::client::Body;
use kube::core::Status;

use crate::error::{StoreError, shown};

/// Where the object is, and how long a request may take.
#[derive(Clone)]
pub(crate) struct Requests {
    pub(crate) client: Client,
    /// The collection of its kind in its namespace.
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

/// Why a request failed, with the server's own words if they are the reason.
pub(crate) struct Refusal {
    error: StoreError,
    status: Status,
}

impl Refusal {
    /// Whether the API server says that no object of this name exists.
    fn is_about(&self, name: &str) -> bool {
        self.status.reason == "NotFound"
            && self.status.details.as_ref().is_some_and(|details| details.name == name)
    }

    #[cfg(feature = "coordinated")]
    /// Whether the API server says that it does not serve this resource, or this version of its
    /// group: it then sends details that name nothing. (kube-apiserver 1.36 does so for its own
    /// groups. An intermediary says 404 in other words.)
    pub(crate) fn is_of_no_resource(&self) -> bool {
        self.status.reason == "NotFound"
            && self
                .status
                .details
                .as_ref()
                .is_some_and(|details| details.name.is_empty() && details.kind.is_empty())
    }

    #[cfg(feature = "coordinated")]
    /// The error. A 404 becomes a refusal, because an intermediary may not let the question
    /// through.
    pub(crate) fn not_allowed(self) -> StoreError {
        match self.error {
            StoreError::NotFound => {
                StoreError::Rejected { code: 404, message: shown(&self.status.message) }
            }
            error => error,
        }
    }

    /// The error for an answer that an intermediary gave.
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

    /// Sends one request.
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
            // The code of the answer itself counts: an intermediary may wrap another server's
            // Status.
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

    /// As [`send`](Self::send), but answers `NotFound` only if the API server says that this very
    /// object is missing. An intermediary's 404, of an unknown path or server, says nothing about
    /// the object.
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
    /// The same, and answers `NotFound` also if the API server does not serve this kind.
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

    /// Makes the object. A conflict means only that it exists.
    pub(crate) async fn create(&self, object: &DynamicObject) -> Result<DynamicObject, StoreError> {
        match self.send(Call::Create(object)).await {
            Ok(object) => Ok(object),
            // A quota that is used up is a 409 too: it does not mean that the object exists.
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
        // Any other error may have come after the request was sent.
        other => StoreError::unknown(shown(&other.to_string())),
    }
}

/// A `Retry-After` in seconds. A date is ignored, because it is of another clock.
fn seconds(text: &str) -> Option<Duration> {
    text.trim().parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// A request that was never sent.
fn unsent(error: &dyn std::error::Error) -> StoreError {
    StoreError::Rejected { code: 0, message: shown(&error.to_string()) }
}

/// `asked`: the header `Retry-After`. API Priority and Fairness refuses in plain text: then the
/// header alone says how long to wait.
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
