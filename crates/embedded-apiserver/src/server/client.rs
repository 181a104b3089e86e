//! `kube::Client`s without a socket.

use api_front::User;
use kube::Client;

use crate::server::handle::EmbeddedApiServer;

impl EmbeddedApiServer {
    /// A client in this process, as [`User::admin`]. Its default namespace is `default`.
    ///
    /// It does not retry.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.service(), "default")
    }

    /// A client as `user`: for the request log, for faults, and with its groups for
    /// [RBAC](crate::Builder::rbac). A `&str` is a user name.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[must_use]
    pub fn client_as(&self, user: impl Into<User>) -> Client {
        Client::new(self.service().as_user(user), "default")
    }
}
