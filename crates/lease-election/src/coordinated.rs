//! Coordinated election: the checked options of a coordinated candidate, and its elector.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use crate::clock::{Clock, default_clock};
use crate::config::{Config, ConfigBuilder, check_name, random};
use crate::elector::LeaderElector;
use crate::error::{ConfigError, shown};
use crate::kube_store::KubeLeaseStore;
use crate::standing::Standing;

mod deed;
mod lease_candidate;
mod publication;
mod publisher;
mod semver;

use lease_candidate::Wanted;
use publisher::Publisher;
use semver::SemVer;

/// The rule by which the server's controller chooses among the candidates.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
#[doc(alias = "CoordinatedLeaseStrategy")]
pub enum Strategy {
    /// The lowest emulation version, then the lowest binary version, then the oldest
    /// LeaseCandidate. The API server's own controller follows it.
    OldestEmulationVersion,
    /// The rule of a third party's controller, by its qualified name with a slash:
    /// `example.com/nearest`. The API server makes the Lease, and that controller sets its holder.
    Other(String),
}

impl Strategy {
    /// The API's spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::OldestEmulationVersion => "OldestEmulationVersion",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The behaviour where no controller elects: the API server has no LeaseCandidates, or a
/// LeaseCandidate stands and no grant follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum WithoutApi {
    /// Elects by the Lease alone, and uses LeaseCandidates once the API appears. (client-go's
    /// coordinated candidates wait for ever.)
    #[default]
    Elect,
    /// Waits for the API, for ever.
    Wait,
}

/// The versions and options of a coordinated candidate, for
/// [`LeaderElector::coordinated`](crate::LeaderElector::coordinated).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[must_use = "it does nothing until an elector is made with it"]
#[doc(alias = "LeaseCandidate")]
pub struct Coordination {
    binary_version: String,
    emulation_version: Option<String>,
    strategy: Strategy,
    without_api: WithoutApi,
    events: Option<String>,
}

impl Coordination {
    /// A candidate of this binary version: `major.minor.patch` without a leading `v`, optionally
    /// with a pre-release and build metadata.
    pub fn new(binary_version: impl Into<String>) -> Self {
        Self {
            binary_version: binary_version.into(),
            emulation_version: None,
            strategy: Strategy::OldestEmulationVersion,
            without_api: WithoutApi::Elect,
            events: None,
        }
    }

    /// The version that the program behaves as, at most the binary version. Default: the binary
    /// version.
    pub fn emulating(mut self, version: impl Into<String>) -> Self {
        self.emulation_version = Some(version.into());
        self
    }

    /// The rule by which this candidate wants the leader to be chosen. If candidates disagree, the
    /// newest binary version decides. If candidates of that version disagree, the server elects
    /// none. Default: [`Strategy::OldestEmulationVersion`].
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The behaviour where no controller elects. Default: [`WithoutApi::Elect`].
    pub fn without_api(mut self, policy: WithoutApi) -> Self {
        self.without_api = policy;
        self
    }

    /// Records an Event on the Lease when a term begins and when its work has ended. The elector's
    /// client sends it, with the permission that [`KubeLeaseStore::with_events`] needs. Default:
    /// none.
    #[doc(alias = "EventRecorder")]
    pub fn with_events(mut self, component: impl Into<String>) -> Self {
        self.events = Some(component.into());
        self
    }

    /// Whether the candidate elects by the Lease alone where no controller elects.
    pub(crate) fn elects(&self) -> bool {
        self.without_api == WithoutApi::Elect
    }

    /// Whether the server's own controller chooses, and not a third party's.
    pub(crate) fn is_servers(&self) -> bool {
        self.strategy == Strategy::OldestEmulationVersion
    }

    /// Checks the options and returns the fields of the LeaseCandidate.
    pub(crate) fn wanted(&self, lease: &str) -> Result<Wanted, ConfigError> {
        let binary = version("binary_version", &self.binary_version)?;
        let text = self.emulation_version.as_ref().unwrap_or(&self.binary_version);
        let emulation = version("emulation_version", text)?;
        let refused = |field, value: &str, bound: String, remedy| {
            Err(ConfigError { field, value: format!("\"{}\"", shown(value)), bound, remedy })
        };
        if emulation > binary {
            return refused(
                "emulation_version",
                text,
                format!("at most the binary version \"{}\"", shown(&self.binary_version)),
                "a program can behave as an older one, not as a newer one",
            );
        }
        match &self.strategy {
            Strategy::OldestEmulationVersion if emulation.is_zero() => refused(
                "emulation_version",
                text,
                "above 0.0.0, which the server takes for none, with the strategy OldestEmulationVersion".into(),
                "give the program's version",
            ),
            Strategy::Other(name) if !is_qualified(name) => refused(
                "strategy",
                name,
                "a qualified name with a slash: a DNS-1123 subdomain, '/', and at most 63 letters, digits, '-', '_' and '.', a letter or digit at both ends"
                    .into(),
                "name it as its controller does, as in example.com/nearest",
            ),
            strategy => Ok(Wanted {
                lease: lease.to_owned(),
                binary_version: self.binary_version.clone(),
                emulation_version: text.clone(),
                strategy: strategy.as_str().to_owned(),
            }),
        }
    }
}

fn version(field: &'static str, text: &str) -> Result<SemVer, ConfigError> {
    SemVer::parse(text).ok_or_else(|| ConfigError {
        field,
        value: format!("\"{}\"", shown(text)),
        bound: "a semantic version: three numbers without leading zeros joined by dots, no 'v' before them, then maybe '-' and a pre-release, '+' and build metadata"
            .into(),
        remedy: "write it as 1.4.0; env!(\"CARGO_PKG_VERSION\") is one",
    })
}

fn is_qualified(name: &str) -> bool {
    let Some((domain, name)) = name.split_once('/') else { return false };
    let at_ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    check_name("strategy", domain, 253, true).is_ok()
        && name.len() <= 63
        && at_ends(name.bytes().next())
        && at_ends(name.bytes().last())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Makes the default identity a valid name of a LeaseCandidate, and refuses a given identity that
/// is not.
pub(crate) fn named(builder: ConfigBuilder) -> Result<ConfigBuilder, ConfigError> {
    let builder = builder.with_default_identity(|host, random| {
        let mut name: String = host
            .to_ascii_lowercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
            .collect();
        name = name
            .split('.')
            .map(|label| label.trim_matches('-'))
            .filter(|label| !label.is_empty())
            .fold(String::new(), |joined, label| {
                if joined.is_empty() { label.to_owned() } else { format!("{joined}.{label}") }
            });
        let name = if name.is_empty() { "candidate" } else { &name };
        format!("{name}-{random:016x}")
    });
    builder.check_identity_is_name()?;
    Ok(builder)
}

/// Refuses renewals more often than once a second. Each renewal names a later second than the one
/// before, and the controller judges the lease by that time. Faster renewals would run ever further
/// ahead of the server's clock, and delay the election after a crash by as much.
pub(crate) fn paced(config: Config) -> Result<Config, ConfigError> {
    const LEAST: Duration = Duration::from_secs(1);
    let renew = config.retry_period();
    if renew >= LEAST {
        return Ok(config);
    }
    Err(ConfigError {
        field: "retry_period",
        value: format!("{renew:?}"),
        bound: format!(
            "at least {LEAST:?} in a coordinated election: the server judges a lease by the seconds that its renewals name"
        ),
        remedy: "renew once a second, or less often",
    })
}

impl LeaderElector {
    /// An elector that takes part in coordinated election (KEP-4355): the API server's controller
    /// chooses the leader among the LeaseCandidates.
    ///
    /// The elector publishes a LeaseCandidate, and claims the Lease when the controller grants it.
    /// When the controller prefers another candidate, the elector asks the work to end, as by a
    /// stop ([`Ending::StopRequested`](crate::Ending::StopRequested)). It then releases the lease.
    /// Use [`run_forever`](Self::run_forever), or a loop around `Campaigns`, so that the candidate
    /// stands again. [`Status::candidacy`](crate::Status::candidacy) shows its state.
    ///
    /// The LeaseCandidate's name is the elector's identity, which must be a DNS-1123 subdomain; the
    /// default identity is one. The LeaseCandidate exists while a [`run`](Self::run), also of
    /// [`Campaigns`](crate::Campaigns), or a [`run_forever`](Self::run_forever) goes on, except
    /// - in their pauses between two terms: an unclaimed grant keeps the lease from the others;
    /// - after a lost term, until one stop margin after its work has ended: then no request of that
    ///   work can land any more, and the elector may lead again.
    ///
    /// Needs `get`, `create`, `update`, `delete` and `watch` on leasecandidates, and on leases the
    /// permissions of [`KubeLeaseStore`]. If the API is absent, [`WithoutApi`] decides.
    ///
    /// # Errors
    /// If [`ConfigBuilder::build`] refuses the configuration, or `retry_period` is below one
    /// second. If the identity is no valid name, or a version is invalid. If the emulation version
    /// is above the binary version, or the strategy is no qualified name.
    pub fn coordinated(
        client: Client,
        config: ConfigBuilder,
        coordination: &Coordination,
    ) -> Result<Self, ConfigError> {
        Self::coordinate(client, config, coordination, default_clock(), random())
    }

    /// As [`coordinated`](Self::coordinated), with a clock of your own as in
    /// [`with_clock`](Self::with_clock).
    ///
    /// # Errors
    /// As [`coordinated`](Self::coordinated).
    pub fn coordinated_with_clock(
        client: Client,
        config: ConfigBuilder,
        coordination: &Coordination,
        clock: impl Clock,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        Self::coordinate(client, config, coordination, Arc::new(clock), seed)
    }

    fn coordinate(
        client: Client,
        config: ConfigBuilder,
        coordination: &Coordination,
        clock: Arc<dyn Clock>,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let config = paced(named(config)?.build()?)?;
        let wanted = coordination.wanted(config.name())?;
        let publisher = Publisher::new(client.clone(), &config, wanted, Arc::clone(&clock), seed);
        let publish = Arc::new(move |board, want| {
            let publishing = publisher.clone().publish(board, want);
            Box::pin(publishing) as futures::future::BoxFuture<'static, ()>
        });
        let standing = Standing::new(publish, coordination.elects(), coordination.is_servers());
        let mut store = KubeLeaseStore::new(client.clone(), &config);
        if let Some(component) = &coordination.events {
            store = store.with_events(client, component);
        }
        Ok(Self::assemble(Arc::new(store), config, clock, seed, Some(standing)))
    }
}

#[cfg(test)]
mod tests;
