//! Integration tests: the public API, on an in-memory lease and under paused time.

mod altered;
mod announcements;
mod campaigns;
mod cluster;
mod every_step;
mod evidence;
mod forever;
mod handover;
mod kept_marks;
mod late;
mod lone_halves;
#[cfg(feature = "prometheus")]
mod metrics;
mod observe;
mod maintenance;
mod migration;
mod order;
mod panics;
#[cfg(feature = "testing")]
mod stores;
mod succession;
mod stops;
mod suspend;
mod table;
mod telling;
mod upstream;
mod violations;
mod warm_up;
#[cfg(unix)]
mod watchdog;
mod work;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod candidacy;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod controller;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod coordinated;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod events;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod half_served;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod kube_store;
mod lagging_halves;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod missing;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod refused;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod runtimes;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod stale;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod upstream_candidates;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod wedged;
