//! The clients of a server's webhooks: one for each endpoint, each with its open connections.

use std::time::Duration;

use serde_json::Value;

#[cfg(feature = "webhooks")]
use std::collections::HashMap;
#[cfg(feature = "webhooks")]
use std::sync::Arc;

#[cfg(feature = "webhooks")]
use parking_lot::Mutex;

#[cfg(feature = "webhooks")]
use crate::webhook::client::Client;
use crate::webhook::endpoint::Endpoint;
use crate::webhook::error::CallError;

/// The clients of webhooks. Their connections close when this is dropped.
#[derive(Debug, Default)]
#[doc(alias = "ClientManager")]
pub(crate) struct Webhooks {
    #[cfg(feature = "webhooks")]
    clients: Mutex<HashMap<Endpoint, Arc<Client>>>,
}

/// The most clients that are kept (`defaultCacheSize`).
#[cfg(feature = "webhooks")]
const MOST: usize = 200;

impl Webhooks {
    /// Posts a review to the endpoint and returns the review of the answer, a JSON object. The time
    /// includes the connection and the whole answer.
    ///
    /// # Errors
    ///
    /// [`CallError`] if there is no such answer.
    ///
    /// # Cancel safety
    ///
    /// The webhook may get the review, and its answer is lost.
    #[cfg(feature = "webhooks")]
    pub(crate) async fn post(
        &self,
        endpoint: &Endpoint,
        query: &str,
        review: &Value,
        time: Duration,
    ) -> Result<Value, CallError> {
        self.client(endpoint)?.post(endpoint.url(query), review, time).await
    }

    /// There is no client.
    ///
    /// # Errors
    ///
    /// [`CallError::NotBuilt`].
    #[cfg(not(feature = "webhooks"))]
    pub(crate) async fn post(
        &self,
        _: &Endpoint,
        _: &str,
        _: &Value,
        _: Duration,
    ) -> Result<Value, CallError> {
        Err(CallError::NotBuilt)
    }

    #[cfg(feature = "webhooks")]
    fn client(&self, endpoint: &Endpoint) -> Result<Arc<Client>, CallError> {
        let mut clients = self.clients.lock();
        if let Some(known) = clients.get(endpoint) {
            return Ok(Arc::clone(known));
        }
        if clients.len() >= MOST {
            clients.clear();
        }
        let client = Arc::new(Client::new(endpoint)?);
        clients.insert(endpoint.clone(), Arc::clone(&client));
        Ok(client)
    }
}
