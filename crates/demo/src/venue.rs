//! Where a run takes place, and what it may touch there: a server of its own, or a cluster of the
//! user's, where everything it makes bears its mark.

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
    /// A cluster of the user's.
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
    /// A venue with a mark of its own, which does not come from the seed: two runs of one plan may
    /// meet on one cluster.
    pub(crate) fn new(engine: Engine) -> Self {
        let mut rng = fastrand::Rng::new();
        let mark =
            std::iter::repeat_with(|| if rng.bool() { rng.lowercase() } else { rng.digit(10) });
        let mark: String = mark.take(6).collect();
        let lease_home =
            matches!(engine, Engine::Cluster(_)).then(|| format!("{}election", prefix(&mark)));
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
            (Engine::Real, _) => {
                Lease { namespace: "hostpath-provisioner", name: "hostpath-provisioner" }
            }
            (_, home) => {
                Lease { namespace: home.unwrap_or("default"), name: "wq-demo-provisioner" }
            }
        }
    }
}

impl Venue {
    /// The message after a complete cleanup.
    pub(crate) fn cleared(&self) -> &'static str {
        match self.engine {
            Engine::Cluster(_) => {
                "cleaned up: every process has ended, every file and every object on the cluster is removed"
            }
            Engine::Embedded | Engine::Real => {
                "cleaned up: every process has ended, every file is removed"
            }
        }
    }

    /// A sentence and lines for a shell that remove the run's objects from the user's cluster, for
    /// a server process that ended too early.
    pub(crate) fn remedy(&self) -> Option<String> {
        let Engine::Cluster(cluster) = &self.engine else { return None };
        let [labelled, volumes] = cluster.without_run(&self.mark);
        Some(format!(
            "what the demo made may still be on the cluster; to remove it:\n  {labelled}\n  {volumes}"
        ))
    }
}

impl Cluster {
    /// Two lines for a shell that remove all that the run with this mark made.
    pub(crate) fn without_run(&self, mark: &str) -> [String; 2] {
        let labelled =
            format!("{} delete namespaces,storageclasses -l {RUN_LABEL}={mark}", self.kubectl());
        [labelled, self.without_volumes()]
    }

    /// kubectl for this cluster, for a shell.
    pub(crate) fn kubectl(&self) -> String {
        let file = format!("kubectl --kubeconfig {}", quoted(&self.kubeconfig.to_string_lossy()));
        match &self.context {
            Some(context) => format!("{file} --context {}", quoted(context)),
            None => file,
        }
    }

    /// A line for a shell that deletes the volumes of the class and takes their finalizers off: no
    /// provisioner is left to do so.
    pub(crate) fn without_volumes(&self) -> String {
        let kubectl = self.kubectl();
        format!(
            r#"for pv in $({kubectl} get pv -o jsonpath='{{.items[?(@.spec.storageClassName=="{CLASS}")].metadata.name}}'); do {kubectl} delete pv "$pv" --wait=false; {kubectl} patch pv "$pv" --type merge -p '{{"metadata":{{"finalizers":null}}}}'; done"#
        )
    }
}

/// A word as a shell takes it, whatever stands in it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What the names of all namespaces of the run with this mark begin with, on a cluster of the
/// user's.
pub(crate) fn prefix(mark: &str) -> String {
    format!("wq-demo-{mark}-")
}

#[cfg(test)]
mod tests {
    use super::{Cluster, Engine, Venue, quoted};

    #[test]
    fn the_remedy_names_the_cluster_the_mark_and_the_finalizers() {
        let cluster = Cluster { kubeconfig: "my file".into(), context: Some("c".to_owned()) };
        let venue = Venue::new(Engine::Cluster(cluster));
        let remedy = venue.remedy().unwrap();
        let delete =
            format!("delete namespaces,storageclasses -l demo.wq-rs.dev/run={}\n", venue.mark);
        for part in [
            "kubectl --kubeconfig 'my file' --context c ",
            &delete,
            r#"'{"metadata":{"finalizers":null}}'"#,
        ] {
            assert!(remedy.contains(part), "{part}: {remedy}");
        }
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert!(Venue::new(Engine::Real).remedy().is_none());
    }

    #[test]
    fn on_a_cluster_of_the_users_every_name_bears_the_mark_and_elsewhere_none_does() {
        let venue = Venue::new(Engine::Cluster(Cluster { kubeconfig: "x".into(), context: None }));
        let lease = venue.lease();
        assert!(venue.prefix().starts_with(&format!("wq-demo-{}", venue.mark)));
        assert!(lease.namespace.starts_with(&venue.prefix()), "{lease:?}");
        assert!(
            venue.mark.len() == 6
                && venue.mark.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        );
        for engine in [Engine::Embedded, Engine::Real] {
            let venue = Venue::new(engine);
            assert_eq!((venue.prefix(), venue.lease_home), (String::new(), None));
        }
    }
}
