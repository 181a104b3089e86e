//! Copies the data of every config map with the label `echo=yes` into a config map named
//! `<name>-echo`. Uses an API server in this process, and ends by itself.
//!
//! ```sh
//! cargo run -p reconciler --example echo
//! ```
#![expect(clippy::print_stdout, reason = "an example talks")]

use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use reconciler::{
    Action, Cache, CacheConfig, Controller, Failure, Manager, ObjectKey, Reconciler, Request,
};
use serde_json::json;

struct Echo {
    client: Client,
    maps: Cache<ConfigMap>,
}

impl Reconciler for Echo {
    type Key = ObjectKey;

    async fn reconcile(&self, request: Request<ObjectKey>) -> Result<Action, Failure> {
        let Some(map) = self.maps.get(request.key()) else {
            println!("{} is gone; its echo goes with it by its owner reference", request.key());
            return Ok(Action::await_change());
        };
        let namespace =
            map.namespace().ok_or_else(|| Failure::terminal("a config map has a namespace"))?;
        let name = format!("{}-echo", map.name_any());
        let echo = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": [map.controller_owner_ref(&())]},
            "data": map.data,
        });
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &namespace);
        match maps.get_opt(&name).await? {
            None => {
                maps.create(&PostParams::default(), &serde_json::from_value(echo)?).await?;
            }
            Some(_) => {
                maps.patch(&name, &PatchParams::default(), &Patch::Merge(echo)).await?;
            }
        }
        let reasons: Vec<String> = request.reasons().map(|reason| reason.to_string()).collect();
        println!("{} echoed, because {}", request.key(), reasons.join(" and "));
        Ok(Action::await_change())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = EmbeddedApiServer::builder().build();
    let client = server.client();

    let mut manager = Manager::builder().grace(Duration::from_secs(1)).build()?;
    let labelled = CacheConfig::new().labels("echo=yes");
    let maps = manager.cache_with(Api::<ConfigMap>::all(client.clone()), labelled);
    let echo = Controller::keyed("echo", Echo { client: client.clone(), maps: maps.clone() });
    manager.add(echo.source(maps.objects().named("a map")));

    let report = manager.run(write_and_wait(client)).await?;
    println!(
        "{} reconciles, {} errors",
        report.controllers[0].reconciles, report.controllers[0].errors
    );
    Ok(())
}

/// Writes a map, changes it, and is done when its echo has followed.
async fn write_and_wait(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let steps = async {
        let map = json!({"metadata": {"name": "song", "labels": {"echo": "yes"}}, "data": {"line": "la"}});
        maps.create(&PostParams::default(), &serde_json::from_value(map)?).await?;
        await_echo(&maps, "la").await?;
        let change = json!({"data": {"line": "la la"}});
        maps.patch("song", &PatchParams::default(), &Patch::Merge(change)).await?;
        await_echo(&maps, "la la").await
    };
    let done: Result<(), Box<dyn std::error::Error>> = steps.await;
    println!(
        "{}",
        done.map_or_else(|error| error.to_string(), |()| "the echo followed twice".to_owned())
    );
}

async fn await_echo(maps: &Api<ConfigMap>, line: &str) -> Result<(), Box<dyn std::error::Error>> {
    loop {
        let echo = maps.get_opt("song-echo").await?;
        if echo.and_then(|echo| echo.data?.remove("line")).as_deref() == Some(line) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
