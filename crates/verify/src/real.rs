//! A real control plane for tests: one that all tests of a process share, or one of a test's own
//! that it may break.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use control_plane::{Assets, Builder, Component, ControlPlane};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use parking_lot::{Mutex, MutexGuard};

/// One of a test's own costs hundreds of megabytes and a core for seconds: they take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A control plane that its test may restart, pause and break. The next test gets its own when this
/// is dropped.
#[derive(Debug)]
pub struct Own {
    plane: ControlPlane,
    // After the control plane: it has ended when the next one starts.
    _turn: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Own {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.plane
    }
}

impl std::ops::DerefMut for Own {
    fn deref_mut(&mut self) -> &mut ControlPlane {
        &mut self.plane
    }
}

/// The programs; `None`, said on stderr, where they cannot be had, which a laptop is forgiven.
///
/// # Panics
///
/// If they cannot be had and `CI` is `true`, or cannot be built.
#[must_use]
#[expect(clippy::print_stderr, reason = "a test that was skipped must say so")]
pub fn assets() -> Option<&'static Assets> {
    static ASSETS: OnceLock<Option<Assets>> = OnceLock::new();
    let find = || {
        if let Some(missing) = Assets::missing(&Component::ALL) {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{missing}");
            eprintln!("SKIPPED: {missing}");
            return None;
        }
        match Assets::prepare(&Component::ALL, |_| ControlFlow::Continue(())) {
            Ok(assets) => Some(assets),
            Err(error) => panic!("{error}"),
        }
    };
    ASSETS.get_or_init(find).as_ref()
}

/// The control plane that all tests of this process share, with kube-controller-manager; started at
/// the first call, which blocks. Use namespaces of your own, and break nothing.
///
/// # Panics
///
/// If it does not start.
#[must_use]
pub fn shared() -> Option<&'static ControlPlane> {
    // Never dropped: its keeper ends it when this process has ended.
    static SHARED: OnceLock<Option<ControlPlane>> = OnceLock::new();
    SHARED
        .get_or_init(|| Some(start(ControlPlane::builder().controller_manager(true), assets()?)))
        .as_ref()
}

/// A control plane of the caller's own; blocks until the one before is gone.
///
/// # Panics
///
/// If it does not start.
#[must_use]
pub fn own(builder: Builder) -> Option<Own> {
    let assets = assets()?;
    let turn = TURN.lock();
    Some(Own { plane: start(builder, assets), _turn: turn })
}

fn start(builder: Builder, assets: &Assets) -> ControlPlane {
    match builder.start(assets) {
        Ok(plane) => plane,
        Err(error) => panic!("the control plane does not start: {error}"),
    }
}

/// A client of one of its users. Nothing retries below it.
///
/// # Panics
///
/// If there is no such user.
pub async fn client(plane: &ControlPlane, user: &str) -> Client {
    match plane.kubeconfig(user) {
        Ok(text) => client_of(&text).await,
        Err(error) => panic!("{error}"),
    }
}

/// A client of whoever holds the token: a ServiceAccount, for instance.
///
/// # Panics
///
/// If the control plane's kubeconfig cannot be read, which would be a bug.
pub async fn client_for_token(plane: &ControlPlane, token: &str, namespace: &str) -> Client {
    client_of(&plane.kubeconfig_for_token(token, namespace)).await
}

/// What kube makes of a kubeconfig, less its hidden retries.
///
/// # Panics
///
/// If it is none.
pub async fn config_of(kubeconfig: &str) -> Config {
    let config = async {
        let file = Kubeconfig::from_yaml(kubeconfig)?;
        let mut config =
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        // One that the environment names has no way to this machine's loopback.
        config.proxy_url = None;
        Ok::<_, kube::config::KubeconfigError>(config)
    };
    match config.await {
        Ok(config) => config,
        Err(error) => panic!("the kubeconfig is refused: {error}"),
    }
}

async fn client_of(kubeconfig: &str) -> Client {
    match Client::try_from(config_of(kubeconfig).await) {
        Ok(client) => client,
        Err(error) => panic!("no client from the kubeconfig: {error}"),
    }
}
