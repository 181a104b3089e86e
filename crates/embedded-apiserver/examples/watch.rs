//! A server in the process, a `kube::Client`, and kube's watcher, which follows the writes of
//! another client.

use std::error::Error;
use std::pin::pin;

use embedded_apiserver::EmbeddedApiServer;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::{watcher, watcher::Event};
use kube::{Resource, ResourceExt};
use serde_json::json;

async fn write(maps: Api<ConfigMap>) -> Result<(), kube::Error> {
    let mut map = ConfigMap::default();
    map.meta_mut().name = Some("greeting".to_owned());
    maps.create(&PostParams::default(), &map).await?;
    let patch = json!({ "data": { "hello": "world" } });
    maps.patch("greeting", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    maps.delete("greeting", &DeleteParams::default()).await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "an example shows what happens")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = EmbeddedApiServer::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let mut events = pin!(watcher(maps, watcher::Config::default()));
    while let Some(event) = events.try_next().await? {
        match event {
            Event::Init => println!("listing"),
            Event::InitDone => {
                println!("listed; somebody else begins to write");
                tokio::spawn(write(Api::default_namespaced(server.client_as("writer"))));
            }
            Event::Apply(map) | Event::InitApply(map) => {
                println!("{} is {:?} at {:?}", map.name_any(), map.data, map.resource_version());
            }
            Event::Delete(map) => {
                println!("{} is gone", map.name_any());
                break;
            }
        }
    }
    println!("the server is at revision {}", server.revision());
    Ok(())
}
