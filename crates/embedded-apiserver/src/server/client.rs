//! `kube::Client`s on the server, without a socket.

use api_front::User;
use kube::Client;

use crate::server::handle::EmbeddedApiServer;

impl EmbeddedApiServer {
    /// A client of this server in this process, in the name of [`User::admin`]; its default
    /// namespace is `default`.
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

    /// A client whose requests are made in the name of `user`: the name in the request log and for
    /// fault plans, and with its groups who the [roles](crate::Builder::rbac) know. A `&str`
    /// will do.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[must_use]
    pub fn client_as(&self, user: impl Into<User>) -> Client {
        Client::new(self.service().as_user(user), "default")
    }
}
