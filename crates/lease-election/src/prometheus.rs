//! Prometheus: client-go's metrics of leader election and more, read at each scrape.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::elector::LeaderElector;
use crate::latency::Latency;
use crate::shared::Shared;
use crate::status::{Counters, Failures, Losses, Stats};

type Label = (&'static str, String);

/// The metrics of a program's electors in one registry: client-go's names and label `name`, so that
/// its dashboards carry over, and more.
///
/// | metric | type | |
/// | --- | --- | --- |
/// | `leader_election_master_status` | gauge | 1 while this process leads by the clock, else 0: right even before the elector notices the end of a term |
/// | `leader_election_slowpath_total` | counter | failed writes |
/// | `leader_election_term_remaining_seconds` | gauge | how long the term is certain if no renewal succeeds; 0 without a term |
/// | `leader_election_term_token` | gauge | the fence token of the term as a number ([`FenceToken::number`](crate::FenceToken::number)); 0 without a term |
/// | `leader_election_takeover_duration_seconds` | histogram | how long the lease had been free (released, run out, absent) when this process led |
/// | `leader_election_drain_duration_seconds` | histogram | from the request to end to the end of the work, if that ended in time |
/// | `leader_election_renew_duration_seconds` | histogram | from the sending of a renewal to its answer, if that succeeded |
/// | `leader_election_renewals_total` | counter | renewals that succeeded, even if the answer was lost |
/// | `leader_election_terms_total` | counter | terms begun by this process |
/// | `leader_election_transitions_total` | counter | observed changes of the holder |
/// | `leader_election_losses_total` | counter | terms that did not end with their work, by `reason` |
/// | `leader_election_releases_total` | counter | leases released (`outcome="released"`), or not in time (`outcome="failed"`) |
/// | `leader_election_request_failures_total` | counter | by `role` (`leader`, `candidate`) and `reason` |
/// | `leader_election_reads_total`, `leader_election_watches_total` | counter | reads of the lease, and openings of its watch |
/// | `leader_election_publisher_failures_total` | counter | times that the LeaseCandidate's publisher panicked, or ended with its runtime |
///
/// Every series exists from the beginning, at 0. Electors of one name are counted together; their
/// remaining time is the least among the leading ones. A dropped elector has no gauges; its counts
/// stay.
///
/// ```
/// use lease_election::prometheus::ElectionMetrics;
/// use lease_election::{Config, LeaderElector, MemoryLeaseStore};
/// use prometheus_client::registry::Registry;
///
/// let mut registry = Registry::default();
/// let metrics = ElectionMetrics::register(&mut registry);
/// let config = Config::builder("default", "my-operator").build()?;
/// let elector = LeaderElector::new(MemoryLeaseStore::new(), config);
/// metrics.watch(&elector);
///
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry)?;
/// assert!(text.contains("leader_election_master_status{name=\"my-operator\"} 0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "MetricsProvider")]
#[derive(Clone)]
pub struct ElectionMetrics {
    sources: Arc<Sources>,
}

impl ElectionMetrics {
    /// Registers the metrics, without an elector yet. Call it once for a registry, whose names must
    /// be unique.
    pub fn register(registry: &mut Registry) -> Self {
        let sources = Arc::default();
        let scrape = Scrape(Arc::clone(&sources));
        registry.sub_registry_with_prefix("leader_election").register_collector(Box::new(scrape));
        Self { sources }
    }

    /// Shows this elector under its Lease's name, which most programs give to client-go.
    pub fn watch(&self, elector: &LeaderElector) {
        self.watch_as(elector.config().name(), elector);
    }

    /// Shows this elector under this name. An elector that is already shown counts once under each
    /// name.
    pub fn watch_as(&self, name: &str, elector: &LeaderElector) {
        let shared = elector.shared();
        let source = Source {
            name: name.to_owned(),
            counters: Arc::clone(&shared.counters),
            elector: Arc::downgrade(shared),
        };
        let mut held = self.sources.lock();
        held.bury();
        let is_shown = |shown: &Source| {
            shown.name == source.name && Arc::ptr_eq(&shown.counters, &source.counters)
        };
        if !held.living.iter().any(is_shown) {
            held.living.push(source);
        }
    }
}

impl fmt::Debug for ElectionMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElectionMetrics")
            .field("electors", &self.sources.lock().living.len())
            .finish_non_exhaustive()
    }
}

struct Source {
    name: String,
    counters: Arc<Counters>,
    /// Weak: the metrics keep no elector alive.
    elector: Weak<Shared>,
}

#[derive(Default)]
struct Held {
    living: Vec<Source>,
    /// The counts of dropped electors, by name.
    gone: BTreeMap<String, Stats>,
}

impl Held {
    /// Moves the counts of dropped electors to `gone`.
    fn bury(&mut self) {
        let gone = &mut self.gone;
        self.living.retain(|source| {
            let lives = source.elector.strong_count() > 0;
            if !lives {
                gone.entry(source.name.clone()).or_default().join(&source.counters.stats());
            }
            lives
        });
    }
}

#[derive(Default)]
struct Sources(Mutex<Held>);

impl Sources {
    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> BTreeMap<String, Shown> {
        let (mut by_name, living) = {
            let mut held = self.lock();
            held.bury();
            let gone = held
                .gone
                .iter()
                .map(|(name, stats)| (name.clone(), Shown { stats: *stats, now: None }));
            let living: Vec<_> = held
                .living
                .iter()
                .map(|source| {
                    (source.name.clone(), source.counters.stats(), source.elector.upgrade())
                })
                .collect();
            (gone.collect::<BTreeMap<_, _>>(), living)
        };
        // Outside the lock: the clock is foreign code.
        for (name, stats, elector) in living {
            let shown = by_name.entry(name).or_default();
            shown.stats.join(&stats);
            if let Some(elector) = elector {
                let term = elector.term();
                let remaining = term.as_ref().map_or(Duration::ZERO, |term| term.remaining());
                let token = term.and_then(|term| term.fence().number()).unwrap_or(0);
                let leads = !remaining.is_zero();
                shown.see(Now { leads, remaining, token: if leads { token } else { 0 } });
            }
        }
        by_name
    }
}

/// The metrics of all electors of one name.
#[derive(Default)]
struct Shown {
    stats: Stats,
    now: Option<Now>,
}

#[derive(Clone, Copy)]
struct Now {
    leads: bool,
    remaining: Duration,
    token: u64,
}

impl Shown {
    fn see(&mut self, now: Now) {
        let leads_more = |old: &Now| (!old.leads, old.remaining) <= (!now.leads, now.remaining);
        if !self.now.as_ref().is_some_and(leads_more) {
            self.now = Some(now);
        }
    }
}

/// The collector.
struct Scrape(Arc<Sources>);

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read = self.0.read();
        gauge(
            &mut encoder,
            &read,
            "master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master",
            |now| f64::from(u8::from(now.leads)),
        )?;
        gauge(
            &mut encoder,
            &read,
            "term_remaining_seconds",
            "For how long in seconds the term is certain if no renewal succeeds",
            |now| now.remaining.as_secs_f64(),
        )?;
        gauge(
            &mut encoder,
            &read,
            "term_token",
            "Fence token of the term as a number, 0 without a term",
            #[expect(clippy::cast_precision_loss, reason = "a scrape has no other numbers")]
            |now| now.token as f64,
        )?;
        for (name, help, of) in LATENCIES {
            latency(&mut encoder, &read, name, help, *of)?;
        }
        for (name, help, series) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (elector, shown) in &read {
                for (labels, count) in series(&shown.stats) {
                    let labels: Vec<Label> = labels
                        .into_iter()
                        .map(|(label, value)| (label, value.to_owned()))
                        .chain([("name", elector.clone())])
                        .collect();
                    family
                        .encode_family(&labels)?
                        .encode_counter::<NoLabelSet, _, u64>(&count, None)?;
                }
            }
        }
        Ok(())
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    read: &BTreeMap<String, Shown>,
    name: &str,
    help: &str,
    value: fn(&Now) -> f64,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (elector, shown) in read {
        if let Some(now) = &shown.now {
            family.encode_family(&[("name", elector.clone())])?.encode_gauge(&value(now))?;
        }
    }
    Ok(())
}

/// Name, help, value.
type LatencyOf = (&'static str, &'static str, fn(&Stats) -> &Latency);

const LATENCIES: &[LatencyOf] = &[
    (
        "renew_duration_seconds",
        "How long in seconds a renewal of the lease takes, from its sending to its answer",
        |stats| &stats.renew_latency,
    ),
    (
        "takeover_duration_seconds",
        "For how long in seconds the lease had been anybody's when this process led",
        |stats| &stats.take_over_latency,
    ),
    (
        "drain_duration_seconds",
        "How long in seconds work took to end that was asked to, and did so in time",
        |stats| &stats.drain_latency,
    ),
];

fn latency(
    encoder: &mut DescriptorEncoder<'_>,
    read: &BTreeMap<String, Shown>,
    name: &str,
    help: &str,
    of: fn(&Stats) -> &Latency,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for (elector, shown) in read {
        let latency = of(&shown.stats);
        let bounds = Latency::BOUNDS.iter().map(Duration::as_secs_f64).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(latency.counts().iter().copied()).collect();
        family.encode_family(&[("name", elector.clone())])?.encode_histogram::<NoLabelSet>(
            latency.sum().as_secs_f64(),
            latency.count(),
            &buckets,
            None,
        )?;
    }
    Ok(())
}

/// The series of one counter: labels beside the name, and the count.
type Series = Vec<(Vec<(&'static str, &'static str)>, u64)>;

/// Name (`_total` is added to it), help, series.
type CounterOf = (&'static str, &'static str, fn(&Stats) -> Series);

const COUNTERS: &[CounterOf] = &[
    ("slowpath", "Total number of slow path exercised in renewing leader leases", |stats| {
        plain(stats.slow_path)
    }),
    ("renewals", "Total number of renewals of the lease that succeeded", |stats| {
        plain(stats.renewals)
    }),
    ("terms", "Total number of terms begun by this process", |stats| plain(stats.terms)),
    ("transitions", "Total number of changes of the lease's holder seen", |stats| {
        plain(stats.transitions)
    }),
    (
        "losses",
        "Total number of terms that ended otherwise than by the end of their work",
        |stats| losses(&stats.losses),
    ),
    ("releases", "Total number of leases given back, or not in time", |stats| {
        vec![
            (vec![("outcome", "released")], stats.releases),
            (vec![("outcome", "failed")], stats.failed_releases),
        ]
    }),
    ("request_failures", "Total number of requests for the lease that failed", |stats| {
        let mut series = failures("leader", &stats.renew_failures);
        series.extend(failures("candidate", &stats.acquire_failures));
        series
    }),
    ("reads", "Total number of reads of the lease", |stats| plain(stats.reads)),
    ("watches", "Total number of times the watch of the lease was opened", |stats| {
        plain(stats.watches)
    }),
    (
        "publisher_failures",
        "Total number of times the publisher of the lease candidate panicked or ended with its runtime",
        |stats| plain(stats.publisher_failures),
    ),
];

fn plain(count: u64) -> Series {
    vec![(Vec::new(), count)]
}

fn losses(losses: &Losses) -> Series {
    [
        ("expired", losses.expired),
        ("taken_over", losses.taken_over),
        ("deleted", losses.deleted),
        ("foreign_write", losses.foreign_write),
        ("overran", losses.overran),
        ("broken", losses.broken),
    ]
    .into_iter()
    .map(|(reason, count)| (vec![("reason", reason)], count))
    .collect()
}

fn failures(role: &'static str, failures: &Failures) -> Series {
    [
        ("conflict", failures.conflict),
        ("rejected", failures.rejected),
        ("too_many_requests", failures.too_many_requests),
        ("unknown", failures.unknown),
        ("other", failures.other),
    ]
    .into_iter()
    .map(|(reason, count)| (vec![("role", role), ("reason", reason)], count))
    .collect()
}
