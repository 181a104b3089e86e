//! What a control plane is started with: users, port, flags, controllers.

use std::time::Duration;

use crate::assets::Assets;
use crate::error::Error;
use crate::plane::ControlPlane;
use crate::settings::Settings;
use crate::user::User;

/// Sets up a [`ControlPlane`]; from [`ControlPlane::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until `start` is called"]
pub struct Builder {
    settings: Settings,
}

impl ControlPlane {
    /// Sets one up.
    #[doc(alias = "envtest")]
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// A user with a bearer token and groups. Beside those there always is `admin`, who may do
    /// everything; what others may do is for roles and bindings to say.
    pub fn user(mut self, name: &str, token: &str, groups: &[&str]) -> Self {
        self.settings.users.push(User::new(name, token, groups));
        self
    }

    /// Whether kube-controller-manager runs (default `false`): claims and volumes are bound,
    /// released and protected, namespaces end, dependents are collected.
    pub const fn controller_manager(mut self, runs: bool) -> Self {
        self.settings.controller_manager = runs;
        self
    }

    /// The loopback port of the API server (default 0: any free one).
    pub const fn port(mut self, port: u16) -> Self {
        self.settings.port = port;
        self
    }

    /// One more flag of kube-apiserver, as in `--watch-cache=false`. It comes last, and so wins.
    pub fn api_server_flag(mut self, flag: impl Into<String>) -> Self {
        self.settings.api_server_flags.push(flag.into());
        self
    }

    /// How long the API server may take to get ready (default 60 s).
    pub const fn ready_within(mut self, span: Duration) -> Self {
        self.settings.ready_within = span;
        self
    }

    /// Starts everything, and waits until the API server is ready: about three seconds. It blocks.
    ///
    /// # Errors
    ///
    /// Any [`Error`] but those of building. Nothing is left running then.
    pub fn start(self, assets: &Assets) -> Result<ControlPlane, Error> {
        ControlPlane::start(self.settings, assets)
    }
}
