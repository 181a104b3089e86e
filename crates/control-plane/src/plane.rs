//! A running control plane: started, broken on request, and taken away.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::assets::Assets;
use crate::component::Component;
use crate::error::Error;
use crate::etcd;
use crate::keeper::Keeper;
use crate::port;
use crate::program::{self, Program};
use crate::settings::Settings;
use crate::user::{self, ADMIN, User};

/// How often a program that starts is asked whether it is ready.
const POLL: Duration = Duration::from_millis(100);
const CONTROLLERS: &str = "persistentvolume-binder-controller,persistentvolumeclaim-protection-controller,\
persistentvolume-protection-controller,namespace-controller,garbage-collector-controller";

/// A control plane on loopback ports, with its data in a temporary folder.
///
/// Stopped or dropped, it ends all its processes and removes the folder. Should this process die
/// without a word, a keeper does so.
#[derive(Debug)]
pub struct ControlPlane {
    // Fields drop in this order: programs before their keeper, and both before the folder.
    controller_manager: Option<Program>,
    api_server: Option<Program>,
    etcd: Program,
    keeper: Keeper,
    folder: TempDir,
    assets: Assets,
    users: Vec<User>,
    api_server_flags: Vec<String>,
    ready_within: Duration,
    port: u16,
    etcd_port: u16,
}

/// etcd stands still while this lives.
#[derive(Debug)]
#[must_use = "dropped, it lets etcd go on"]
pub struct Paused<'a>(&'a Program);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        #[cfg(unix)]
        let _ = self.0.signal(rustix::process::Signal::CONT);
    }
}

impl ControlPlane {
    pub(crate) fn start(settings: Settings, assets: &Assets) -> Result<Self, Error> {
        let Settings { mut users, controller_manager, port, api_server_flags, ready_within } =
            settings;
        users.insert(0, User::admin()?);
        let tokens: String = users.iter().map(User::line).collect::<Result<_, _>>()?;
        let any_port = port == 0;
        if !any_port {
            port::check(port)?;
        }
        let folder = tempfile::Builder::new()
            .prefix("wq-control-plane-")
            .tempdir()
            .map_err(Error::io("make a folder for temporary files"))?;
        let tokens_file = folder.path().join("tokens.csv");
        user::write_secret(&tokens_file, &tokens)
            .map_err(Error::io(format!("write {}", tokens_file.display())))?;
        let keeper = Keeper::start(folder.path())
            .map_err(Error::io("start sh, which keeps what is started"))?;
        let deadline = Deadline::after(ready_within);
        let start = |port| start_etcd(assets, folder.path(), port, &keeper, &deadline);
        let (etcd, etcd_port) = port::start_besides(port, start)?;
        let mut plane = Self {
            controller_manager: None,
            api_server: None,
            etcd,
            keeper,
            folder,
            assets: assets.clone(),
            users,
            api_server_flags,
            ready_within,
            port,
            etcd_port,
        };
        if any_port {
            port::start_besides(etcd_port, |port| {
                plane.port = port;
                plane.start_api_server()
            })?;
        } else {
            plane.start_api_server()?;
        }
        if controller_manager {
            plane.start_controller_manager()?;
        }
        Ok(plane)
    }

    /// `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The certificates that the API server's own is to be checked with, as PEM.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        // kube-apiserver writes the certificate of the authority that it made up behind its own.
        self.certificates().join("apiserver.crt")
    }

    fn certificates(&self) -> PathBuf {
        self.folder.path().join("certificates")
    }

    /// The folder of data, logs and kubeconfigs; removed at the end.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A kubeconfig for one of the users, as YAML. It names the certificate's file, which lives as
    /// long as the control plane.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownUser`].
    pub fn kubeconfig(&self, user: &str) -> Result<String, Error> {
        let found = self.users.iter().find(|known| known.name == user);
        let found = found.ok_or_else(|| Error::UnknownUser(user.to_owned()))?;
        Ok(self.kubeconfig_for_token(&found.token, "default"))
    }

    /// A kubeconfig for whoever holds the token: one of a ServiceAccount, for instance.
    #[must_use]
    pub fn kubeconfig_for_token(&self, token: &str, namespace: &str) -> String {
        user::kubeconfig(&self.url(), &self.ca_file(), token, namespace)
    }

    /// A kubeconfig for one of the users, in a file that only the owner may read.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownUser`] or [`Error::Io`].
    pub fn kubeconfig_file(&self, user: &str) -> Result<PathBuf, Error> {
        let text = self.kubeconfig(user)?;
        // A user's name may hold what a file's may not.
        let index = self.users.iter().position(|known| known.name == user).unwrap_or_default();
        let path = self.folder.path().join(format!("kubeconfig-{index}.yaml"));
        // In the place of the one before, and whole: another thread may be reading that.
        tempfile::NamedTempFile::new_in(self.folder.path())
            .and_then(|mut file| {
                file.write_all(text.as_bytes()).and_then(|()| Ok(file.persist(&path)?))
            })
            .map_err(Error::io(format!("write {}", path.display())))?;
        Ok(path)
    }

    /// kubectl as `admin`, with nothing of the caller's own configuration.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if kubectl was not prepared, or a file cannot be written.
    pub fn kubectl(&self) -> Result<Command, Error> {
        self.kubectl_as(ADMIN)
    }

    /// kubectl as one of the users.
    ///
    /// # Errors
    ///
    /// As of [`kubectl`](Self::kubectl), or [`Error::UnknownUser`].
    pub fn kubectl_as(&self, user: &str) -> Result<Command, Error> {
        let mut command = Command::new(self.assets.path(Component::Kubectl)?);
        // Its caches of what the server can do go below HOME.
        command
            .env("KUBECONFIG", self.kubeconfig_file(user)?)
            .env("HOME", self.folder.path())
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Starts the API server, after ending one that runs, and waits until it is ready; on the same
    /// port and with the same certificate as before.
    ///
    /// # Errors
    ///
    /// [`Error::Ended`] or [`Error::NotReady`], with the end of its log.
    pub fn start_api_server(&mut self) -> Result<(), Error> {
        // The one before would answer in the place of the new one, which finds its port taken.
        self.stop_api_server();
        let component = Component::KubeApiserver;
        let flags = self.flags_of_api_server();
        let path = self.assets.path(component)?;
        let mut api_server =
            Program::start(component, path, &flags, self.folder.path(), &self.keeper)?;
        let deadline = Deadline::after(self.ready_within);
        while !self.is_ready()? {
            self.etcd.check()?;
            api_server.check()?;
            if deadline.is_over() {
                let within = self.ready_within;
                return Err(Error::NotReady { component, within, tail: self.log_tail(component) });
            }
            pause(POLL);
        }
        self.api_server = Some(api_server);
        Ok(())
    }

    /// Kills the API server. Clients see their connections end; etcd keeps what it was told.
    pub fn stop_api_server(&mut self) {
        self.api_server = None;
    }

    /// Kills the API server and starts it again.
    ///
    /// # Errors
    ///
    /// As of [`start_api_server`](Self::start_api_server).
    pub fn restart_api_server(&mut self) -> Result<(), Error> {
        self.start_api_server()
    }

    /// Stops etcd in its tracks until what is returned is dropped: writes hang, and reads that need
    /// it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the signal cannot be sent.
    #[cfg(unix)]
    pub fn pause_etcd(&self) -> Result<Paused<'_>, Error> {
        self.etcd.signal(rustix::process::Signal::STOP)?;
        Ok(Paused(&self.etcd))
    }

    /// Makes etcd forget all history before the current revision, which is returned. What the API
    /// server remembers in its own watch cache stays until it is restarted.
    ///
    /// # Errors
    ///
    /// [`Error::Etcd`].
    pub fn compact(&self) -> Result<u64, Error> {
        etcd::compact(self.etcd_port)
    }

    /// The last lines of a program's log.
    #[must_use]
    pub fn log_tail(&self, component: Component) -> String {
        program::tail(&program::log(self.folder.path(), component))
    }

    /// An error if a program ended that must run.
    ///
    /// # Errors
    ///
    /// [`Error::Ended`], with the end of its log.
    pub fn check(&mut self) -> Result<(), Error> {
        self.etcd.check()?;
        self.api_server.as_mut().map_or(Ok(()), Program::check)?;
        self.controller_manager.as_mut().map_or(Ok(()), Program::check)
    }

    /// Ends all its processes and removes its folder.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the folder cannot be removed.
    pub fn stop(mut self) -> Result<(), Error> {
        self.controller_manager = None;
        self.api_server = None;
        self.etcd.kill();
        let path = self.folder.path().to_owned();
        self.folder.close().map_err(Error::io(format!("remove {}", path.display())))
    }

    fn is_ready(&self) -> Result<bool, Error> {
        if !self.ca_file().is_file() {
            return Ok(false);
        }
        let mut kubectl = self.kubectl()?;
        kubectl
            .args(["get", "--raw=/readyz", "--request-timeout=2s"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(kubectl.status().map_err(Error::io("start kubectl"))?.success())
    }

    fn flags_of_api_server(&self) -> Vec<String> {
        let certificates = self.certificates();
        // A key that is there anyway, made by kube-apiserver itself before it asks for one.
        let key = certificates.join("apiserver.key");
        let tokens = self.folder.path().join("tokens.csv");
        let mut flags = vec![
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port),
            format!("--cert-dir={}", certificates.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.port),
            format!("--token-auth-file={}", tokens.display()),
            "--authorization-mode=RBAC".to_owned(),
            "--service-account-issuer=https://localhost".to_owned(),
            format!("--service-account-key-file={}", key.display()),
            format!("--service-account-signing-key-file={}", key.display()),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            // It would refuse pods in namespaces that have no service account yet.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
        ];
        flags.extend(self.api_server_flags.iter().cloned());
        flags
    }

    fn start_controller_manager(&mut self) -> Result<(), Error> {
        let component = Component::KubeControllerManager;
        let kubeconfig = self.kubeconfig_file(ADMIN)?;
        let kubeconfig = kubeconfig.display();
        let flags = [
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            // It serves nobody: neither its metrics nor its health is asked for.
            "--secure-port=0".to_owned(),
            "--leader-elect=true".to_owned(),
            // Its own default of 20 a second binds four claims in that time.
            "--kube-api-qps=500".to_owned(),
            "--kube-api-burst=1000".to_owned(),
            format!("--controllers={CONTROLLERS}"),
        ];
        let path = self.assets.path(component)?;
        self.controller_manager =
            Some(Program::start(component, path, &flags, self.folder.path(), &self.keeper)?);
        Ok(())
    }
}

fn start_etcd(
    assets: &Assets,
    folder: &Path,
    port: u16,
    keeper: &Keeper,
    deadline: &Deadline,
) -> Result<(Program, u16), Error> {
    let component = Component::Etcd;
    let url = format!("http://127.0.0.1:{port}");
    let flags = [
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={url}"),
        format!("--advertise-client-urls={url}"),
        // It has no peers: any port that the system gives it.
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        // Nothing here outlives the machine.
        "--unsafe-no-fsync=true".to_owned(),
    ];
    let mut etcd = Program::start(component, assets.path(component)?, &flags, folder, keeper)?;
    // Data are laid when the port is its own: before, another's etcd could answer there.
    while !folder.join("etcd/member").is_dir() || !etcd::is_ready(port) {
        etcd.check()?;
        if deadline.is_over() {
            let tail = program::tail(&program::log(folder, component));
            return Err(Error::NotReady { component, within: deadline.span, tail });
        }
        pause(POLL);
    }
    Ok((etcd, port))
}

struct Deadline {
    start: Instant,
    span: Duration,
}

impl Deadline {
    fn after(span: Duration) -> Self {
        Self { start: now(), span }
    }

    fn is_over(&self) -> bool {
        self.start.elapsed() >= self.span
    }
}

#[expect(clippy::disallowed_methods, reason = "real processes take real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a process that starts cannot be waited for, only asked"
)]
fn pause(span: Duration) {
    thread::sleep(span);
}
