//! The operator in paused time: a conflict, a lost answer, and a cleanup that fails twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Rule};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions::is_deleted};
use kube::{CustomResourceExt as _, ResourceExt as _};
use reconciler::{BoxError, Conditions as _, Manager};
use serde_json::json;
use tokio::time::{Duration, timeout};

#[expect(dead_code, reason = "the program around the operator")]
#[path = "main.rs"]
mod program;
use program::{Registrar, Website, WebsiteSpec, add_websites};

/// Counts releases, and fails the first two.
#[derive(Clone, Default)]
struct Flaky(Arc<AtomicU32>);

impl Registrar for Flaky {
    async fn register(&self, _: &Website) -> Result<(), BoxError> {
        Ok(())
    }
    async fn release(&self, _: &Website) -> Result<(), BoxError> {
        if self.0.fetch_add(1, Relaxed) < 2 { Err("not now".into()) } else { Ok(()) }
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_a_lost_answer_and_a_failing_cleanup_are_repaired() {
    let writes = |to: &str| Match::any().user("operator").writes().resource(to);
    let conflict = Rule::new(writes("websites.example.com/status"), Fault::Conflict).calls(1..=1);
    let lost = Rule::new(writes("deployments"), Fault::DropAfter).calls(1..=1);
    let plan = FaultPlan::none().rule(conflict).rule(lost);
    let server = EmbeddedApiServer::builder().faults(plan).build();
    server.register_definition(&Website::crd()).unwrap();
    let sites = Api::<Website>::namespaced(server.client(), "default");
    let deployments = Api::<Deployment>::namespaced(server.client(), "default");
    let services = Api::<Service>::namespaced(server.client(), "default");
    let flaky = Flaky::default();
    let mut manager = Manager::builder().build().unwrap();
    add_websites(&mut manager, &server.client_as("operator"), flaky.clone());
    let user = async {
        let spec = WebsiteSpec { host: "a.example.com".into(), image: "a:1".into(), replicas: 1 };
        let site = sites.create(&PostParams::default(), &Website::new("a", spec)).await.unwrap();
        let uid = site.uid().unwrap();
        let is = |ready: &'static str| {
            move |site: Option<&Website>| {
                let conditions = site.and_then(|site| Some(&site.status.as_ref()?.conditions));
                conditions.and_then(|it| it.find("Ready")).is_some_and(|it| it.status == ready)
            }
        };
        await_condition(sites.clone(), "a", is("False")).await.unwrap();
        server.faults().assert_all_fired();
        assert_eq!(services.get("a").await.unwrap().owner_references()[0].uid, uid);
        let up = Patch::Merge(json!({"status": {"replicas": 1, "readyReplicas": 1}}));
        deployments.patch_status("a", &PatchParams::default(), &up).await.unwrap();
        await_condition(sites.clone(), "a", is("True")).await.unwrap();

        sites.delete("a", &DeleteParams::default()).await.unwrap();
        await_condition(sites, "a", is_deleted(&uid)).await.unwrap();
        assert_eq!(flaky.0.load(Relaxed), 3);
    };
    let report = timeout(Duration::from_secs(600), manager.run(user)).await.unwrap().unwrap();
    assert_eq!((report.controllers[0].conflicts, report.controllers[0].errors), (1, 3));
}
