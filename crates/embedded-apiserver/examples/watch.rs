//! A server in the process, a `kube::Client` on it, and kube's own watcher following what another client writes.

use std::error::Error;
use std::pin::pin;

use embedded_apiserver::EmbeddedApiServer;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::{watcher, watcher::Event};
use kube::{Resource, ResourceExt};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "an example shows what happens")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = EmbeddedApiServer::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());

    let writer = tokio::spawn({
        let maps: Api<ConfigMap> = Api::default_namespaced(server.client_as("writer"));
        async move {
            let mut map = ConfigMap::default();
            map.meta_mut().name = Some("greeting".to_owned());
            maps.create(&PostParams::default(), &map).await?;
            let patch = json!({ "data": { "hello": "world" } });
            maps.patch("greeting", &PatchParams::default(), &Patch::Merge(&patch)).await?;
            maps.delete("greeting", &DeleteParams::default()).await?;
            Ok::<_, kube::Error>(())
        }
    });

    let mut events = pin!(watcher(maps, watcher::Config::default()));
    while let Some(event) = events.try_next().await? {
        match event {
            Event::Apply(map) | Event::InitApply(map) => {
                println!("{} is {:?} at {:?}", map.name_any(), map.data, map.resource_version());
            }
            Event::Delete(map) => {
                println!("{} is gone", map.name_any());
                break;
            }
            Event::Init | Event::InitDone => {}
        }
    }
    writer.await??;
    println!("revision {}", server.revision());
    Ok(())
}
