//! What is counted, under upstream's names, so that its dashboards carry over. Labels are the class
//! and fixed words, never an object's name.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upstream's buckets (`prometheus.DefBuckets` of client_golang), in seconds.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProvisionLabels {
    class: String,
    /// The kind of the claim's data source; always empty here.
    source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeleteLabels {
    class: String,
}

/// The provisioner's own metrics. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics {
    provision: ProvisionLabels,
    delete: DeleteLabels,
    provisioned: Family<ProvisionLabels, Counter>,
    provision_failed: Family<ProvisionLabels, Counter>,
    provision_seconds: Family<ProvisionLabels, Histogram, fn() -> Histogram>,
    deleted: Family<DeleteLabels, Counter>,
    delete_failed: Family<DeleteLabels, Counter>,
    delete_seconds: Family<DeleteLabels, Histogram, fn() -> Histogram>,
    orphans: Counter,
    leftovers: Counter,
    leftovers_stuck: Gauge,
    removals_paused: Gauge,
    kept: Family<KeptLabels, Gauge>,
    events_dropped: Counter,
}

/// Why something is kept that no claim needs; each is a word of the metric's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kept {
    Retained,
    NotOurs,
    OtherLease,
    HoldsData,
    /// A volume of ours whose directory is left alone.
    VolumeRefused,
}

impl Kept {
    pub(crate) const ALL: [Self; 5] =
        [Self::Retained, Self::NotOurs, Self::OtherLease, Self::HoldsData, Self::VolumeRefused];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Retained => "retained",
            Self::NotOurs => "not_ours",
            Self::OtherLease => "other_lease",
            Self::HoldsData => "holds_data",
            Self::VolumeRefused => "volume_refused",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KeptLabels {
    reason: &'static str,
}

fn seconds() -> Histogram {
    Histogram::new(BUCKETS)
}

impl Metrics {
    /// New metrics for one class, registered.
    #[must_use]
    pub fn new(storage_class: &str, registry: &mut Registry) -> Self {
        let class = storage_class.to_owned();
        let metrics = Self {
            provision: ProvisionLabels { class: class.clone(), source: String::new() },
            delete: DeleteLabels { class },
            provisioned: Family::default(),
            provision_failed: Family::default(),
            provision_seconds: Family::new_with_constructor(seconds),
            deleted: Family::default(),
            delete_failed: Family::default(),
            delete_seconds: Family::new_with_constructor(seconds),
            orphans: Counter::default(),
            leftovers: Counter::default(),
            leftovers_stuck: Gauge::default(),
            removals_paused: Gauge::default(),
            kept: Family::default(),
            events_dropped: Counter::default(),
        };
        registry.register(
            "controller_persistentvolumeclaim_provision",
            "Total number of claims provisioned successfully",
            metrics.provisioned.clone(),
        );
        registry.register(
            "controller_persistentvolumeclaim_provision_failed",
            "Total number of failed attempts to provision a claim",
            metrics.provision_failed.clone(),
        );
        registry.register(
            "controller_persistentvolumeclaim_provision_duration_seconds",
            "Time it took to provision a claim, successful attempts only",
            metrics.provision_seconds.clone(),
        );
        registry.register(
            "controller_persistentvolume_delete",
            "Total number of volumes deleted successfully",
            metrics.deleted.clone(),
        );
        registry.register(
            "controller_persistentvolume_delete_failed",
            "Total number of failed attempts to delete a volume",
            metrics.delete_failed.clone(),
        );
        registry.register(
            "controller_persistentvolume_delete_duration_seconds",
            "Time it took to delete a volume, successful attempts only",
            metrics.delete_seconds.clone(),
        );
        registry.register(
            "hostpath_provisioner_orphans_found",
            "Directories without claim and volume that a sweep handed over to be taken back",
            metrics.orphans.clone(),
        );
        registry.register(
            "hostpath_provisioner_leftovers_cleared",
            "Half-made and half-removed directories of earlier terms that a sweep removed",
            metrics.leftovers.clone(),
        );
        registry.register(
            "hostpath_provisioner_leftovers_stuck",
            "Leftovers that the last sweep could not remove, and folders that it could not look into",
            metrics.leftovers_stuck.clone(),
        );
        registry.register(
            "hostpath_provisioner_removals_paused",
            "Whether nothing is removed until an operator confirms it",
            metrics.removals_paused.clone(),
        );
        registry.register(
            "hostpath_provisioner_directories_kept",
            "Directories that no claim needs and that are kept, as the last sweep saw them",
            metrics.kept.clone(),
        );
        registry.register(
            "hostpath_provisioner_events_dropped",
            "Kubernetes Events that were not written, since too many waited or the server refused",
            metrics.events_dropped.clone(),
        );
        // Present from the start, so that a rate over them has a zero to begin at.
        for family in [&metrics.provisioned, &metrics.provision_failed] {
            drop(family.get_or_create(&metrics.provision));
        }
        for family in [&metrics.deleted, &metrics.delete_failed] {
            drop(family.get_or_create(&metrics.delete));
        }
        for kept in Kept::ALL {
            metrics.kept(kept, 0);
        }
        metrics
    }

    pub(crate) fn provisioned(&self, took: Duration) {
        self.provisioned.get_or_create(&self.provision).inc();
        self.provision_seconds.get_or_create(&self.provision).observe(took.as_secs_f64());
    }

    pub(crate) fn provision_failed(&self) {
        self.provision_failed.get_or_create(&self.provision).inc();
    }

    pub(crate) fn deleted(&self, took: Duration) {
        self.deleted.get_or_create(&self.delete).inc();
        self.delete_seconds.get_or_create(&self.delete).observe(took.as_secs_f64());
    }

    pub(crate) fn delete_failed(&self) {
        self.delete_failed.get_or_create(&self.delete).inc();
    }

    pub(crate) fn orphan_found(&self) {
        self.orphans.inc();
    }

    pub(crate) fn leftovers_cleared(&self, count: usize) {
        self.leftovers.inc_by(count as u64);
    }

    pub(crate) fn leftovers_stuck(&self, count: usize) {
        self.leftovers_stuck.set(count.try_into().unwrap_or(i64::MAX));
    }

    pub(crate) fn removals_paused(&self, are_so: bool) {
        self.removals_paused.set(i64::from(are_so));
    }

    pub(crate) fn kept(&self, why: Kept, count: usize) {
        let gauge = self.kept.get_or_create(&KeptLabels { reason: why.as_str() });
        gauge.set(count.try_into().unwrap_or(i64::MAX));
    }

    pub(crate) fn event_dropped(&self) {
        self.events_dropped.inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_upstreams() {
        let mut registry = Registry::default();
        let metrics = Metrics::new("hostpath", &mut registry);
        metrics.provisioned(Duration::from_millis(3));
        metrics.delete_failed();
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "controller_persistentvolumeclaim_provision_total{class=\"hostpath\",source=\"\"} 1",
            "controller_persistentvolumeclaim_provision_failed_total{class=\"hostpath\",source=\"\"} 0",
            "controller_persistentvolumeclaim_provision_duration_seconds_count{class=\"hostpath\",source=\"\"} 1",
            "controller_persistentvolume_delete_total{class=\"hostpath\"} 0",
            "controller_persistentvolume_delete_failed_total{class=\"hostpath\"} 1",
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is not in\n{text}");
        }
    }
}
