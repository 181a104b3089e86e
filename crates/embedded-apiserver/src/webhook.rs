//! Webhooks: HTTPS servers of the user that get a review and return it with an answer.
#![cfg_attr(not(feature = "webhooks"), allow(dead_code, reason = "only its errors are left"))]

#[cfg(feature = "webhooks")]
mod certificate;
#[cfg(feature = "webhooks")]
mod client;
#[cfg(feature = "webhooks")]
mod dial;
mod endpoint;
mod error;
mod pool;
#[cfg(feature = "webhooks")]
mod response;
#[cfg(feature = "webhooks")]
mod roots;
mod url;
pub(crate) mod validation;

pub(crate) use crate::webhook::endpoint::Endpoint;
pub(crate) use crate::webhook::error::CallError;
pub(crate) use crate::webhook::pool::Webhooks;
