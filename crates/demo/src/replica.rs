//! One provisioner replica: its process, its figures.

use std::io;
use std::path::Path;
use std::time::Duration;

use kube::{Client, Config};
use rustix::process::Signal;

use crate::failover::Ending;
use crate::keep::PROXIES;
use crate::plan::CLASS;
use crate::process::{Child, on_leash};
use crate::users;
use crate::venue::Lease;

/// The name in the class by which the provisioner knows its claims.
pub(crate) const PROVISIONER: &str = "hostpath.wq-rs.dev/provisioner";

/// A running provisioner.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) process: Child,
    /// It was sent a signal: its end is expected.
    pub(crate) told: Option<Ending>,
}

/// How replica number `i`, counted from 0, is called.
pub(crate) fn name(i: usize) -> String {
    format!("replica-{}", i.saturating_add(1))
}

/// The arguments of a replica: its own token, four workers, the fast election that is the
/// provisioner's default.
pub(crate) fn arguments(name: &str, dir: &Path, root: &Path, lease: Lease<'_>) -> Vec<String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let (kubeconfig, root) = (path(&users::kubeconfig(dir, name)), path(root));
    let arguments = [
        "run",
        "--kubeconfig",
        &kubeconfig,
        "--root",
        &root,
        "--storage-class",
        CLASS,
        "--workers",
        "4",
        "--lease-namespace",
        lease.namespace,
        "--lease-name",
        lease.name,
        "--drain-grace",
        "100ms",
        // Some requests are never answered: ten seconds for each would be too long.
        "--api-timeout",
        "2s",
        "--metrics-addr",
        "127.0.0.1:0",
        "--log-format",
        "text",
        "--identity",
        name,
    ];
    arguments.map(str::to_owned).into()
}

impl Replica {
    /// Starts a replica, with its own log.
    pub(crate) fn start(
        name: &str,
        binary: &Path,
        dir: &Path,
        root: &Path,
        lease: Lease<'_>,
    ) -> io::Result<Self> {
        let mut command = on_leash(binary)?;
        command.args(arguments(name, dir, root, lease));
        // They talk to the demo's own listener only, which no proxy reaches.
        for proxy in PROXIES {
            command.env_remove(proxy);
        }
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        let process = Child::start(name, command, dir.join(format!("{name}.log")))?;
        Ok(Self { process, told: None })
    }

    /// Sends it the signal that ends it this way.
    pub(crate) fn tell(&mut self, ending: Ending) {
        self.told = Some(ending);
        self.process.signal(match ending {
            Ending::Crash => Signal::KILL,
            Ending::Handover => Signal::TERM,
        });
    }

    /// A client for the replica's `/metrics`, once its log says where they are.
    pub(crate) fn metrics(log: &Path) -> Option<Client> {
        let address = metrics_address(&std::fs::read_to_string(log).ok()?)?;
        let mut config = Config::new(format!("http://{address}").parse().ok()?);
        config.connect_timeout = Some(Duration::from_millis(500));
        config.read_timeout = Some(Duration::from_millis(500));
        Client::try_from(config).ok()
    }
}

/// The field `metrics_addr` in a log.
fn metrics_address(log: &str) -> Option<String> {
    let (_, after) = log.split_once("metrics_addr=")?;
    let address: String = after
        .trim_start_matches('"')
        .chars()
        .take_while(|c| !c.is_whitespace() && *c != '"')
        .collect();
    // The log may be read while its last line is being written: only a whole word counts.
    let whole = after.len() > address.len();
    (whole && address.parse::<std::net::SocketAddr>().is_ok()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::metrics_address;

    #[test]
    fn the_metrics_address_is_found_in_the_log() {
        let log = |value: &str| {
            format!(
                "2026-01-01T00:00:00Z  INFO starting\n2026-01-01T00:00:00Z  INFO serving metrics metrics_addr={value}"
            )
        };
        assert_eq!(metrics_address(&log("127.0.0.1:41234\n")).as_deref(), Some("127.0.0.1:41234"));
        assert_eq!(
            metrics_address(&log("\"127.0.0.1:41234\" more\n")).as_deref(),
            Some("127.0.0.1:41234")
        );
        assert_eq!(metrics_address(&log("127.0.0.1:41")), None);
        assert_eq!(metrics_address(&log("elsewhere\n")), None);
        assert_eq!(metrics_address(""), None);
    }
}
