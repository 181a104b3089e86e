//! `kube::Client`s on the server, without a socket.

use kube::Client;

use crate::server::EmbeddedApiServer;

impl EmbeddedApiServer {
    /// A client of this server in this process; its default namespace is `default`.
    ///
    /// Nothing retries below it: what the server answers is what the caller sees.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.service(), "default")
    }

    /// A client whose requests are made in the name of `user`: the name in the request log and for fault plans.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[must_use]
    pub fn client_as(&self, user: &str) -> Client {
        Client::new(self.service().as_user(user), "default")
    }
}
