//! The collector of the gauges.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use crate::reading::Shown;
use crate::sources::Sources;

pub(crate) type Labels = [(&'static str, String); 1];

pub(crate) fn labels(name: &str) -> Labels {
    [("name", name.to_owned())]
}

pub(crate) struct Scrape(pub(crate) Arc<Sources>);

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut all: BTreeMap<Arc<str>, Shown> = BTreeMap::new();
        for (name, reading) in self.0.read() {
            all.entry(name).or_default().join(reading);
        }
        let help = "Current depth of workqueue";
        let mut family = encoder.encode_descriptor("depth", help, None, MetricType::Gauge)?;
        for (name, shown) in &all {
            for (priority, depth) in &shown.depths {
                let ([name], depth) = (labels(name), float(*depth));
                if priority.is_empty() {
                    family.encode_family(&[name])?.encode_gauge(&depth)?;
                } else {
                    let labels = [name, ("priority", priority.clone())];
                    family.encode_family(&labels)?.encode_gauge(&depth)?;
                }
            }
        }
        // An unknown value has no series, because it is not zero.
        let mut gauge = |name, help, value: fn(&Shown) -> Option<f64>| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (name, shown) in &all {
                if let Some(value) = value(shown) {
                    family.encode_family(&labels(name))?.encode_gauge(&value)?;
                }
            }
            Ok(())
        };
        gauge(
            "unfinished_work_seconds",
            "How many seconds of work is in progress and has not been observed by work_duration",
            |shown| shown.unfinished.as_ref().map(Duration::as_secs_f64),
        )?;
        gauge(
            "longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running",
            |shown| shown.longest.as_ref().map(Duration::as_secs_f64),
        )?;
        gauge("delayed_depth", "How many items wait for their deadline", |shown| {
            shown.delayed.map(float)
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 items")]
const fn float(count: usize) -> f64 {
    count as f64
}
