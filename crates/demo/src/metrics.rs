//! The replicas' own figures: queue depth and retries, read from their `/metrics`.

use kube::Client;

#[cfg(test)]
mod tests;

/// What one scrape said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Items waiting in the replica's queues.
    pub(crate) depth: u64,
    /// Retries since the replica started.
    pub(crate) retries: u64,
}

/// Scrapes one replica; `None` when it does not answer.
pub(crate) async fn scrape(client: &Client) -> Option<Sample> {
    let request = http::Request::get("/metrics").body(Vec::new()).ok()?;
    Some(parse(&client.request_text(request).await.ok()?))
}

/// Sums `workqueue_depth` and `workqueue_retries_total` over all queues in a Prometheus text.
pub(crate) fn parse(text: &str) -> Sample {
    let mut sample = Sample::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        let name = series.split('{').next().unwrap_or(series);
        let total = match name {
            "workqueue_depth" => &mut sample.depth,
            "workqueue_retries_total" => &mut sample.retries,
            _ => continue,
        };
        // Gauges and counters of queues are whole numbers, whether or not they are written with a
        // point.
        let whole =
            value.split('.').next().and_then(|whole| whole.parse::<u64>().ok()).unwrap_or(0);
        *total = total.saturating_add(whole);
    }
    sample
}
