//! A manager's metrics, read at each scrape. Names, labels and buckets are those of client-go and
//! controller-runtime; names that begin with `reconciler_` are ours. Label values come only from
//! the program. The election's metrics are in lease-election.

use std::fmt::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;

use crate::controller::Managed;
use crate::manager::view::View;
use crate::metrics::{ControllerMetrics, Histogram};
use crate::queue::QueueCounts;

type Labels<'a> = [(&'static str, &'a str)];
type NoExemplar = Exemplar<[(&'static str, &'static str); 0], f64>;

#[derive(Debug)]
pub(super) struct ManagerCollector {
    view: View,
}

impl ManagerCollector {
    pub(super) fn new(view: View) -> Self {
        Self { view }
    }
}

/// Writes families one after the other.
struct Families<'e, 'd>(&'e mut DescriptorEncoder<'d>);

impl Families<'_, '_> {
    fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Vec<(&'static str, &'l str)>, u64)>,
    ) -> Result<(), Error> {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in values {
            let labels: &Labels<'_> = &labels;
            let mut metric = family.encode_family(&labels)?;
            metric.encode_counter(&value, None::<&NoExemplar>)?;
        }
        Ok(())
    }

    fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Vec<(&'static str, &'l str)>, f64)>,
    ) -> Result<(), Error> {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in values {
            let labels: &Labels<'_> = &labels;
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    fn histograms<'l>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Vec<(&'static str, &'l str)>, &'l Histogram)>,
    ) -> Result<(), Error> {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, histogram) in values {
            let labels: &Labels<'_> = &labels;
            let (sum, count, buckets) = histogram.read();
            family.encode_family(&labels)?.encode_histogram::<[(&'static str, &'static str); 0]>(
                sum, count, &buckets, None,
            )?;
        }
        Ok(())
    }
}

/// The two labels of a queue's metrics, as controller-runtime sets them.
fn queue_labels(controller: &dyn Managed) -> Vec<(&'static str, &str)> {
    vec![("name", controller.name()), ("controller", controller.name())]
}

fn controller_label(controller: &dyn Managed) -> Vec<(&'static str, &str)> {
    vec![("controller", controller.name())]
}

#[expect(clippy::cast_precision_loss, reason = "gauges are floats, and counts stay far below 2^53")]
fn gauge(count: usize) -> f64 {
    count as f64
}

fn seconds(duration: Option<Duration>) -> f64 {
    duration.map_or(0.0, |duration| duration.as_secs_f64())
}

impl Collector for ManagerCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut families = Families(&mut encoder);
        self.queues(&mut families)?;
        self.controllers(&mut families)?;
        self.watches(&mut families)?;
        self.requests(&mut families)
    }
}

impl ManagerCollector {
    fn each<'s, V>(
        &'s self,
        labels: fn(&'s dyn Managed) -> Vec<(&'static str, &'s str)>,
        value: impl Fn(&'s ControllerMetrics) -> V,
    ) -> Vec<(Vec<(&'static str, &'s str)>, V)> {
        let controllers = self.view.controllers.iter().map(Arc::as_ref);
        controllers.map(|controller| (labels(controller), value(controller.metrics()))).collect()
    }

    fn queues(&self, families: &mut Families<'_, '_>) -> Result<(), Error> {
        // Read once, so that the gauges of one scrape agree with each other.
        let counts: Vec<(&dyn Managed, QueueCounts)> = self
            .view
            .controllers
            .iter()
            .map(|controller| (&**controller, controller.counts().unwrap_or_default()))
            .collect();
        let each = |value: fn(&QueueCounts) -> f64| {
            counts
                .iter()
                .map(move |(controller, counts)| (queue_labels(*controller), value(counts)))
        };
        families.gauges(
            "workqueue_depth",
            "Current depth of workqueue",
            each(|counts| gauge(counts.depth)),
        )?;
        families.gauges(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work is in progress and has not been observed by work_duration",
            each(|counts| seconds(counts.unfinished)),
        )?;
        families.gauges(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running",
            each(|counts| seconds(counts.longest)),
        )?;
        families.gauges(
            "reconciler_workqueue_delayed",
            "Keys that wait for their time",
            each(|counts| gauge(counts.delayed)),
        )?;
        families.counters(
            "workqueue_adds",
            "Total number of adds handled by workqueue",
            self.each(queue_labels, |metrics| metrics.adds.get()),
        )?;
        families.counters(
            "workqueue_retries",
            "Total number of retries handled by workqueue",
            self.each(queue_labels, |metrics| metrics.retries.get()),
        )?;
        families.histograms(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            self.each(queue_labels, |metrics| &metrics.queue_duration),
        )?;
        families.histograms(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes",
            self.each(queue_labels, |metrics| &metrics.work_duration),
        )
    }

    fn controllers(&self, families: &mut Families<'_, '_>) -> Result<(), Error> {
        let results = self.view.controllers.iter().flat_map(|controller| {
            let metrics = controller.metrics();
            [
                ("success", metrics.success.get()),
                ("conflict", metrics.conflicts.get()),
                ("error", metrics.errors.get()),
                ("requeue_after", metrics.requeue_after.get()),
                ("requeue", 0),
            ]
            .map(|(result, count)| {
                (vec![("controller", controller.name()), ("result", result)], count)
            })
        });
        families.counters(
            "controller_runtime_reconcile",
            "Total number of reconciliations per controller",
            results,
        )?;
        type Counter = (&'static str, &'static str, fn(&ControllerMetrics) -> u64);
        let counters: [Counter; 7] = [
            (
                "controller_runtime_reconcile_errors",
                "Total number of reconciliation errors per controller",
                |m| m.errors.get(),
            ),
            (
                "controller_runtime_terminal_reconcile_errors",
                "Total number of terminal reconciliation errors per controller",
                |m| m.terminal_errors.get(),
            ),
            (
                "controller_runtime_reconcile_panics",
                "Total number of reconciliation panics per controller",
                |m| m.panics.get(),
            ),
            (
                "controller_runtime_reconcile_timeouts",
                "Total number of reconciliation timeouts per controller",
                |m| m.timeouts.get(),
            ),
            (
                "reconciler_exhausted",
                "Keys that were parked because their attempts were used up",
                |m| m.exhausted.get(),
            ),
            (
                "reconciler_unseen_writes",
                "Runs that began although a cache did not show the writes of the run before",
                |m| m.unseen_writes.get(),
            ),
            ("reconciler_events_dropped", "Kubernetes Events that were dropped", |m| {
                m.events_dropped.get()
            }),
        ];
        for (name, help, value) in counters {
            families.counters(name, help, self.each(controller_label, value))?;
        }
        families.histograms(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            self.each(controller_label, |metrics| &metrics.reconcile_time),
        )?;
        families.gauges(
            "controller_runtime_active_workers",
            "Number of currently used workers per controller",
            self.each(controller_label, |metrics| {
                gauge(usize::try_from(metrics.active_workers.load(Ordering::Relaxed)).unwrap_or(0))
            }),
        )?;
        let controllers = || self.view.controllers.iter().map(Arc::as_ref);
        families.gauges(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            controllers()
                .map(|controller| (controller_label(controller), gauge(controller.workers()))),
        )?;
        families.gauges(
            "reconciler_missing_caches",
            "Caches of the controller that are not complete: it does not run before",
            self.view.controllers.iter().map(|controller| {
                (controller_label(&**controller), gauge(controller.missing().len()))
            }),
        )?;
        families.gauges(
            "reconciler_parked_keys",
            "Keys that were given up until they change",
            controllers()
                .map(|controller| (controller_label(controller), gauge(controller.parked()))),
        )
    }

    fn requests(&self, families: &mut Families<'_, '_>) -> Result<(), Error> {
        let counts = self.view.requests.counts();
        let counts = counts.iter().map(|(kind, count)| {
            let code = kind.code.as_ref().map_or("<error>", |code| code.as_str());
            let labels =
                vec![("code", code), ("method", kind.method.as_str()), ("host", &*kind.host)];
            (labels, *count)
        });
        families.counters(
            "rest_client_requests",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            counts,
        )
    }

    fn watches(&self, families: &mut Families<'_, '_>) -> Result<(), Error> {
        let statuses: Vec<_> =
            self.view.watches.iter().map(|watch| (watch.name(), watch.status())).collect();
        let watches: Vec<(Vec<(&str, &str)>, &crate::CacheStatus)> = statuses
            .iter()
            .flat_map(|(name, status)| {
                let of_namespace = status.namespaces.iter().map(|(namespace, status)| {
                    (vec![("watch", *name), ("namespace", &**namespace)], status)
                });
                let whole = status.namespaces.is_empty().then(|| (vec![("watch", *name)], status));
                whole.into_iter().chain(of_namespace)
            })
            .collect();
        let read = |value: fn(&crate::CacheStatus) -> f64| {
            watches.iter().map(move |(labels, status)| (labels.clone(), value(status)))
        };
        families.gauges(
            "reconciler_cache_objects",
            "Objects held",
            read(|status| gauge(status.objects)),
        )?;
        families.gauges(
            "reconciler_cache_synced",
            "Whether a first list was complete",
            read(|status| f64::from(u8::from(status.synced))),
        )?;
        families.gauges(
            "reconciler_watch_degraded",
            "Whether the watch does not run at the moment",
            read(|status| f64::from(u8::from(status.degraded.is_some()))),
        )?;
        let count = |value: fn(&crate::CacheStatus) -> u64| {
            watches.iter().map(move |(labels, status)| (labels.clone(), value(status)))
        };
        families.counters(
            "reconciler_watch_lists",
            "Lists taken over",
            count(|status| status.lists),
        )?;
        families.counters(
            "reconciler_watch_failures",
            "Requests and streams of the watch that failed",
            count(|status| status.failures),
        )?;
        families.counters(
            "reconciler_watch_undecodable",
            "Objects that did not decode",
            count(|status| status.undecodable),
        )
    }
}
