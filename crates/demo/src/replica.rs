//! One provisioner replica: its process, its figures.

use std::io;
use std::path::Path;
use std::time::Duration;

use kube::{Client, Config};
use rustix::process::Signal;

use crate::failover::Ending;
use crate::plan::CLASS;
use crate::process::{Child, on_leash};
use crate::serve;

/// The name in the class by which the provisioner knows its claims.
pub(crate) const PROVISIONER: &str = "hostpath.wq-rs.dev/provisioner";
/// Where the replicas' lease is.
pub(crate) const LEASE_NAMESPACE: &str = "default";
pub(crate) const LEASE: &str = "wq-demo-provisioner";

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

impl Replica {
    /// Starts a replica: its own token, its own log, four workers, a lease of five seconds.
    pub(crate) fn start(name: &str, binary: &Path, dir: &Path, root: &Path) -> io::Result<Self> {
        let mut command = on_leash(binary)?;
        command
            .arg("run")
            .arg("--kubeconfig")
            .arg(serve::kubeconfig(dir, name))
            .arg("--root")
            .arg(root)
            .args([
                "--storage-class",
                CLASS,
                "--workers",
                "4",
                "--lease-namespace",
                LEASE_NAMESPACE,
                "--lease-name",
                LEASE,
                "--lease-duration",
                "5s",
                "--renew-interval",
                "1s",
                "--drain-grace",
                "200ms",
                "--metrics-addr",
                "127.0.0.1:0",
                "--log-format",
                "json",
                "--identity",
                name,
            ]);
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

/// The field `metrics_addr` of a JSON log.
fn metrics_address(log: &str) -> Option<String> {
    log.lines().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        line.pointer("/fields/metrics_addr")?.as_str().map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::metrics_address;

    #[test]
    fn the_metrics_address_is_found_in_the_log() {
        let log = "not json\n{\"fields\":{\"message\":\"starting\"}}\n\
            {\"level\":\"INFO\",\"fields\":{\"message\":\"serving metrics\",\"metrics_addr\":\"127.0.0.1:41234\"}}\n";
        assert_eq!(metrics_address(log).as_deref(), Some("127.0.0.1:41234"));
        assert_eq!(metrics_address(""), None);
    }
}
