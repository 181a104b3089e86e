//! Where a run takes place, and what it may touch there: a server of its own, or a cluster of the user's, where everything it makes
//! bears its mark.

use std::path::PathBuf;

use crate::plan::CLASS;

/// The label of everything that is made on a cluster of the user's; its value is the run's mark.
pub(crate) const RUN_LABEL: &str = "demo.wq-rs.dev/run";

/// The API server of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Engine {
    /// embedded-apiserver.
    Embedded,
    /// kube-apiserver, etcd and kube-controller-manager on this machine.
    Real,
    /// A cluster that is there already.
    Cluster(Cluster),
}

/// How the user's cluster is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) kubeconfig: PathBuf,
    /// `None`: the file's current one.
    pub(crate) context: Option<String>,
}

/// Where a run takes place.
#[derive(Debug, Clone)]
pub(crate) struct Venue {
    pub(crate) engine: Engine,
    /// Sets apart what this run makes on a cluster of the user's.
    pub(crate) mark: String,
    /// The namespace that exists only for the Lease, if the run must make one.
    pub(crate) lease_home: Option<String>,
}

/// The Lease that the replicas share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'static str,
}

impl Venue {
    /// A venue with a mark of its own, which does not come from the seed: two runs of one plan may meet on one cluster.
    pub(crate) fn new(engine: Engine) -> Self {
        let mut rng = fastrand::Rng::new();
        let mark = std::iter::repeat_with(|| if rng.bool() { rng.lowercase() } else { rng.digit(10) });
        let mark: String = mark.take(6).collect();
        let lease_home = matches!(engine, Engine::Cluster(_)).then(|| format!("{}election", prefix(&mark)));
        Self { engine, mark, lease_home }
    }

    /// What the names of all namespaces of this run begin with; empty on a server of its own.
    pub(crate) fn prefix(&self) -> String {
        match self.engine {
            Engine::Cluster(_) => prefix(&self.mark),
            Engine::Embedded | Engine::Real => String::new(),
        }
    }

    /// Where the replicas' Lease is.
    pub(crate) fn lease(&self) -> Lease<'_> {
        match (&self.engine, self.lease_home.as_deref()) {
            // As in the provisioner's own Role, which allows this one and no other.
            (Engine::Real, _) => Lease { namespace: "hostpath-provisioner", name: "hostpath-provisioner" },
            (_, home) => Lease { namespace: home.unwrap_or("default"), name: "wq-demo-provisioner" },
        }
    }
}

impl Venue {
    /// What may be left on a cluster of the user's when nobody is there to say what is, and how to remove it.
    pub(crate) fn remedy(&self) -> Option<String> {
        matches!(self.engine, Engine::Cluster(_)).then(|| {
            format!(
                "all that is on the cluster; to do so: kubectl delete namespaces,storageclasses -l {RUN_LABEL}={}, and the volumes of the class {CLASS}",
                self.mark
            )
        })
    }
}

/// What the names of all namespaces of the run with this mark begin with, on a cluster of the user's.
pub(crate) fn prefix(mark: &str) -> String {
    format!("wq-demo-{mark}-")
}

#[cfg(test)]
mod tests {
    use super::{Cluster, Engine, Venue};

    #[test]
    fn on_a_cluster_of_the_users_every_name_bears_the_mark_and_elsewhere_none_does() {
        let venue = Venue::new(Engine::Cluster(Cluster { kubeconfig: "x".into(), context: None }));
        let lease = venue.lease();
        assert!(venue.prefix().starts_with(&format!("wq-demo-{}", venue.mark)));
        assert!(lease.namespace.starts_with(&venue.prefix()), "{lease:?}");
        assert!(
            venue.mark.len() == 6 && venue.mark.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        );
        for engine in [Engine::Embedded, Engine::Real] {
            let venue = Venue::new(engine);
            assert_eq!((venue.prefix(), venue.lease_home), (String::new(), None));
        }
    }
}
