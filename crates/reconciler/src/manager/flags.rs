//! `Flags`: the standard flags of a controller, as a group for clap. They have the names of
//! controller-runtime's manager and of Kubernetes' own components.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::admin::AdminServer;
use crate::admin::error::AdminError;
use crate::failure::Chain;
use crate::{Manager, ManagerBuilder, ManagerError};

/// The standard flags of a controller: the cluster, the election, and where metrics and probes are.
///
/// ```no_run
/// # async fn program() -> Result<(), Box<dyn std::error::Error>> {
/// let (manager, client) = reconciler::Flags::parse().connect("my-operator").await?;
/// # Ok(())
/// # }
/// ```
///
/// A program with flags of its own has these beside them by `#[command(flatten)]`.
///
/// | flag | default |
/// | --- | --- |
/// | `--kubeconfig`, `--context` | the pod's cluster, or else the current context |
/// | `--leader-elect` | true |
/// | `--leader-elect-lease-duration`, `-renew-deadline`, `-retry-period` | 15s, 10s, 2s |
/// | `--leader-elect-resource-name` | the name given to [`connect`](Self::connect) |
/// | `--leader-elect-resource-namespace` | that of the pod or the context |
/// | `--metrics-bind-address`, of `/metrics` and `/debug` | 0: off |
/// | `--health-probe-bind-address`, of `/livez`, `/readyz` and `/healthz` | :8081 |
#[derive(Clone, Debug, Parser)]
#[command(about = None, long_about = None)]
pub struct Flags {
    /// A kubeconfig file; without it that of the pod, of KUBECONFIG or of the home directory
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig; the current one unless given
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Whether replicas take turns by a Lease
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true",
        num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    leader_elect: bool,
    /// How long a lease lasts, in whole seconds
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = duration)]
    leader_elect_lease_duration: Duration,
    /// How long a leader works without a renewal
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    leader_elect_renew_deadline: Duration,
    /// From one renewal to the next
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    leader_elect_retry_period: Duration,
    /// The Lease's name; the program's unless given
    #[arg(long, value_name = "NAME")]
    leader_elect_resource_name: Option<String>,
    /// The Lease's namespace; that of the pod or of the context unless given
    #[arg(long, value_name = "NAMESPACE")]
    leader_elect_resource_namespace: Option<String>,
    /// Where /metrics and /debug are, as in :8080 or 127.0.0.1:8080; 0: nowhere
    #[arg(long, value_name = "ADDRESS", default_value = "0", value_parser = BindAddress::read)]
    metrics_bind_address: BindAddress,
    /// Where /livez and /readyz are, as in :8081 or 127.0.0.1:8081; 0: nowhere
    #[arg(long, value_name = "ADDRESS", default_value = ":8081", value_parser = BindAddress::read)]
    health_probe_bind_address: BindAddress,
}

/// A duration, as Go and people write it.
fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error} (write it as in 500ms, 15s or 1m30s)"))
}

/// An address to bind; `None` for nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BindAddress(Option<SocketAddr>);

impl BindAddress {
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "0" {
            return Ok(Self(None));
        }
        let address = match text.strip_prefix(':') {
            Some(port) => port.parse().ok().map(|port: u16| (Ipv6Addr::UNSPECIFIED, port).into()),
            None => text.parse().ok(),
        };
        let remedy = "write it as in :8080, 127.0.0.1:8080 or [::1]:8080; 0 turns it off";
        address.map(|address| Self(Some(address))).ok_or_else(|| remedy.to_owned())
    }

    /// Without IPv6 the unspecified address is IPv4's.
    fn bindable(self) -> Option<SocketAddr> {
        let address = self.0?;
        let is_any = address.ip() == Ipv6Addr::UNSPECIFIED;
        let has_no_ipv6 =
            is_any && std::net::TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).is_err();
        Some(if has_no_ipv6 { (Ipv4Addr::UNSPECIFIED, address.port()).into() } else { address })
    }
}

impl Flags {
    /// Reads the command line of a program that has no other flags. Prints help or an error and
    /// exits if there is one to print.
    #[must_use]
    pub fn parse() -> Self {
        <Self as Parser>::parse()
    }

    /// Binds the addresses of the flags: one server for both if they are equal. `None` if both are
    /// off. [`connect`](Self::connect) does it, unless the builder has a server.
    ///
    /// # Errors
    ///
    /// [`AdminError`], which names the address.
    pub fn admin(&self) -> Result<Option<AdminServer>, AdminError> {
        let metrics = self.metrics_bind_address.bindable();
        AdminServer::apart(metrics, self.health_probe_bind_address.bindable())
    }

    /// As [`Manager::connect`], as the flags say.
    ///
    /// # Errors
    ///
    /// As [`ManagerBuilder::connect`], and [`ManagerError::Flags`].
    pub async fn connect(&self, name: &str) -> Result<(Manager, kube::Client), ManagerError> {
        self.connect_with(Manager::builder(), name).await
    }

    /// As [`ManagerBuilder::connect`], as the flags say. An election or an admin server that the
    /// builder has already stays.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_with(
        &self,
        mut builder: ManagerBuilder,
        name: &str,
    ) -> Result<(Manager, kube::Client), ManagerError> {
        let cluster = self.cluster().await.map_err(|error| {
            let said = Chain(&*error);
            ManagerError::Connect(format!("{said}; see --kubeconfig and --context").into())
        })?;
        let lease = match self.leader_elect {
            true => Some(self.lease(&cluster.default_namespace, name)?),
            false => None,
        };
        if !builder.has_admin()
            && let Some(admin) = self.admin().map_err(ManagerError::Admin)?
        {
            builder = builder.admin(admin);
        }
        builder.connect_to(cluster, lease)
    }

    async fn cluster(&self) -> Result<kube::Config, crate::BoxError> {
        let options =
            KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Ok(match (&self.kubeconfig, &self.context) {
            (Some(file), _) => {
                kube::Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options).await?
            }
            (None, Some(_)) => kube::Config::from_kubeconfig(&options).await?,
            (None, None) => kube::Config::infer().await?,
        })
    }

    fn lease(&self, namespace: &str, name: &str) -> Result<lease_election::Config, ManagerError> {
        let lease = self.leader_elect_lease_duration;
        let deadline = self.leader_elect_renew_deadline;
        let retry = self.leader_elect_retry_period;
        let shorter = |shorter: (&str, Duration), longer: (&str, Duration)| {
            if shorter.1 < longer.1 {
                return Ok(());
            }
            Err(ManagerError::Flags(format!(
                "--leader-elect-{}={:?} must be shorter than --leader-elect-{}={:?}: \
                 lower the first or raise the second",
                shorter.0, shorter.1, longer.0, longer.1
            )))
        };
        shorter(("renew-deadline", deadline), ("lease-duration", lease))?;
        shorter(("retry-period", retry), ("renew-deadline", deadline))?;
        // Three requests that time out fit into the deadline, with room for the drift of clocks.
        let spare = deadline.saturating_sub(lease / 500).saturating_sub(retry);
        let namespace = self.leader_elect_resource_namespace.as_deref().unwrap_or(namespace);
        let name = self.leader_elect_resource_name.as_deref().unwrap_or(name);
        lease_election::Config::builder(namespace, name)
            .lease_duration(lease)
            .stop_margin(lease.saturating_sub(deadline))
            .retry_period(retry)
            .request_timeout((spare / 3).min(Duration::from_secs(3)))
            .build()
            .map_err(|error| {
                let flag = match error.field {
                    "namespace" => "resource-namespace",
                    "name" => "resource-name",
                    "lease_duration" => "lease-duration",
                    "stop_margin" => "renew-deadline",
                    _ => "retry-period",
                };
                ManagerError::Flags(format!("--leader-elect-{flag}: {error}"))
            })
    }
}

#[cfg(test)]
mod tests;
