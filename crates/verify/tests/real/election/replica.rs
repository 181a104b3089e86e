//! One elector as a process would have it: a runtime, connections and a token of its own. And the
//! cluster of those that want one Lease.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use control_plane::ControlPlane;
use futures::StreamExt as _;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, PostParams};
use kube::client::{Body, ClientBuilder};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use lease_election::{Config, ConfigBuilder, KubeLeaseStore, LeaderElector, StopHandle};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tower::util::MapRequestLayer;
use verify::real::config_of;

use super::judge::Judge;
use crate::link::Link;

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A namespace of its own, with service accounts that may do what an elector needs and nothing
/// else.
pub(crate) struct Place {
    pub(crate) namespace: String,
    pub(crate) admin: kube::Client,
    pub(crate) runtime: Runtime,
    kubeconfigs: BTreeMap<String, String>,
}

impl Place {
    pub(crate) fn new(plane: &ControlPlane, namespace: &str, accounts: &[&str]) -> Self {
        Self::with_verbs(plane, namespace, accounts, &["get", "create", "update", "watch"])
    }

    pub(crate) fn with_verbs(
        plane: &ControlPlane,
        namespace: &str,
        accounts: &[&str],
        verbs: &[&str],
    ) -> Self {
        Self::with_rules(plane, namespace, accounts, &[("leases", verbs)])
    }

    /// The accounts may do this with these resources of the group of Leases.
    pub(crate) fn with_rules(
        plane: &ControlPlane,
        namespace: &str,
        accounts: &[&str],
        rules: &[(&str, &[&str])],
    ) -> Self {
        let runtime = runtime();
        let admin = runtime.block_on(async { verify::real::client(plane, "admin").await });
        let mut kubeconfigs = BTreeMap::new();
        runtime.block_on(async {
            let create = PostParams::default();
            let space: Namespace = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
            Api::all(admin.clone()).create(&create, &space).await.unwrap();
            let role: Role = serde_json::from_value(json!({
                "metadata": {"name": "electors"},
                "rules": rules.iter().map(|(resource, verbs)| json!({
                    "apiGroups": ["coordination.k8s.io"],
                    "resources": [resource],
                    "verbs": verbs,
                })).collect::<Vec<_>>(),
            }))
            .unwrap();
            Api::namespaced(admin.clone(), namespace).create(&create, &role).await.unwrap();
            let binding: RoleBinding = serde_json::from_value(json!({
                "metadata": {"name": "electors"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "electors"},
                "subjects": accounts.iter().map(|name| {
                    json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
                }).collect::<Vec<_>>(),
            }))
            .unwrap();
            Api::namespaced(admin.clone(), namespace).create(&create, &binding).await.unwrap();
            let api: Api<ServiceAccount> = Api::namespaced(admin.clone(), namespace);
            for name in accounts {
                let account: ServiceAccount =
                    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
                api.create(&create, &account).await.unwrap();
                let spec = TokenRequestSpec { expiration_seconds: Some(3600), ..Default::default() };
                let asked = TokenRequest { spec: Some(spec), ..Default::default() };
                let token: TokenRequest =
                    api.create_subresource("token", name, &create, &asked).await.unwrap();
                let token = token.status.and_then(|status| status.token).unwrap();
                kubeconfigs.insert((*name).to_owned(), plane.kubeconfig_for_token(&token, namespace));
            }
        });
        Self { namespace: namespace.to_owned(), admin, runtime, kubeconfigs }
    }

    pub(crate) fn config(&self, lease: &str, identity: &str) -> ConfigBuilder {
        Config::builder(self.namespace.as_str(), lease).identity(identity)
    }

    pub(crate) fn kubeconfig(&self, account: &str) -> &str {
        &self.kubeconfigs[account]
    }

    pub(crate) fn start(&self, judge: &Judge, account: &str, config: ConfigBuilder) -> Replica {
        Replica::start(&self.kubeconfigs[account], None, judge, config.build().unwrap())
    }

    /// One whose connections can be cut.
    pub(crate) fn start_behind_a_link(
        &self,
        judge: &Judge,
        account: &str,
        config: ConfigBuilder,
    ) -> (Replica, Link) {
        let kubeconfig = &self.kubeconfigs[account];
        let link = self.runtime.block_on(async { Link::to(&config_of(kubeconfig).await).await });
        (Replica::start(kubeconfig, Some(&link), judge, config.build().unwrap()), link)
    }

    /// Lets the judge hear what the server says of a Lease, from now on.
    pub(crate) fn watch(&self, judge: &Judge, lease: &'static str) {
        self.watch_those(
            judge,
            watcher::Config::default().fields(&format!("metadata.name={lease}")),
        );
    }

    /// Lets the judge hear what the server says of all Leases of this place, from now on.
    pub(crate) fn watch_all(&self, judge: &Judge) {
        self.watch_those(judge, watcher::Config::default());
    }

    fn watch_those(&self, judge: &Judge, those: watcher::Config) {
        let api: Api<Lease> = Api::namespaced(self.admin.clone(), &self.namespace);
        let judge = judge.clone();
        self.runtime.spawn(async move {
            let mut events = pin!(watcher(api, those).default_backoff());
            while let Some(event) = events.next().await {
                let Ok(Event::Apply(found) | Event::InitApply(found)) = event else { continue };
                let lease = found.metadata.name.unwrap_or_default();
                let holder = found.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
                judge.saw(&lease, &found.metadata.resource_version.unwrap_or_default(), &holder);
            }
        });
    }
}

/// Requests that were sent, by verb.
#[derive(Clone, Default)]
pub(crate) struct Requests(Arc<Mutex<BTreeMap<String, u64>>>);

impl Requests {
    pub(crate) fn note(&self, request: &http::Request<Body>) {
        let watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let verb = if watch { "WATCH" } else { request.method().as_str() };
        *self.0.lock().unwrap().entry(verb.to_owned()).or_default() += 1;
    }

    pub(crate) fn of(&self, verb: &str) -> u64 {
        self.0.lock().unwrap().get(verb).copied().unwrap_or(0)
    }

    pub(crate) fn all(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) struct Replica {
    pub(crate) elector: LeaderElector,
    pub(crate) requests: Requests,
    runtime: Option<Runtime>,
}

impl Replica {
    fn start(kubeconfig: &str, link: Option<&Link>, judge: &Judge, config: Config) -> Self {
        let requests = Requests::default();
        let counted = requests.clone();
        let mut replica = Self::start_with(config, judge, async |config| {
            // As `KubeLeaseStore::connect`, with a counter in front.
            let cluster = config_of(kubeconfig).await;
            let mut cluster = match link {
                Some(link) => link.through(cluster),
                None => cluster,
            };
            cluster.connect_timeout = Some(config.request_timeout());
            let layer = MapRequestLayer::new(move |request: http::Request<Body>| {
                counted.note(&request);
                request
            });
            let client = ClientBuilder::try_from(cluster).unwrap().with_layer(&layer).build();
            LeaderElector::new(KubeLeaseStore::new(client, &config), config)
        });
        replica.requests = requests;
        replica
    }

    /// One whose elector is made in another way.
    pub(crate) fn start_with(
        config: Config,
        judge: &Judge,
        make: impl AsyncFnOnce(Config) -> LeaderElector,
    ) -> Self {
        let runtime = runtime();
        let (lease, identity) = (config.name().to_owned(), config.identity().to_owned());
        let elector = runtime.block_on(make(config));
        let (running, judge) = (elector.clone(), judge.clone());
        runtime.spawn(async move {
            running
                .run_forever(move |leadership| {
                    let number = judge.began(&lease, &identity, &leadership);
                    let judge = judge.clone();
                    async move {
                        let ending = leadership.ending().await;
                        judge.told(number, ending);
                    }
                })
                .await;
        });
        Self { elector, requests: Requests::default(), runtime: Some(runtime) }
    }

    pub(crate) fn identity(&self) -> &str {
        self.elector.config().identity()
    }

    pub(crate) fn stopper(&self) -> StopHandle {
        self.elector.stop_handle()
    }

    /// As a crash: nothing is told to anybody, everything stops where it is.
    pub(crate) fn crash(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
