//! The stores of lease-election on the real API server: every rule of their contract, each in a
//! place of its own.

use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Namespace};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use lease_election::contract::{Place, check};
use lease_election::{AnnotationStore, Config, KubeLeaseStore, LeaseStore, MultiStore};
use serde_json::json;
use verify::real;

async fn check_on_the_server<S: LeaseStore + 'static>(
    namespace: &str,
    store: impl Fn(Client, &Config) -> S,
) {
    let Some(plane) = tokio::task::block_in_place(real::shared) else { return };
    let client = real::client(plane, "admin").await;
    let made: Namespace = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &made).await.unwrap();
    let places = AtomicU32::new(0);
    check(async || {
        let name = format!("lease-{}", places.fetch_add(1, Ordering::Relaxed));
        let config = Config::builder(namespace, &name).identity("any").build().unwrap();
        let (one, other) = (store(client.clone(), &config), store(client.clone(), &config));
        let (client, namespace) = (client.clone(), namespace.to_owned());
        Place::new(one, other, move || {
            let (client, namespace, name) = (client.clone(), namespace.clone(), name.clone());
            Box::pin(async move {
                // Whichever of the three the store has.
                let gone = DeleteParams::default();
                let _ =
                    Api::<Lease>::namespaced(client.clone(), &namespace).delete(&name, &gone).await;
                let _ = Api::<Endpoints>::namespaced(client.clone(), &namespace)
                    .delete(&name, &gone)
                    .await;
                let _ = Api::<ConfigMap>::namespaced(client, &namespace).delete(&name, &gone).await;
            })
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_keeps_the_contract() {
    check_on_the_server("stores-lease", KubeLeaseStore::new).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_annotation_on_endpoints_keeps_the_contract() {
    check_on_the_server("stores-endpoints", AnnotationStore::endpoints).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_annotation_on_a_config_map_keeps_the_contract() {
    check_on_the_server("stores-config-map", AnnotationStore::config_map).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_and_a_lease_keep_the_contract() {
    check_on_the_server("stores-endpoints-leases", MultiStore::endpoints_leases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_map_and_a_lease_keep_the_contract() {
    check_on_the_server("stores-config-maps-leases", MultiStore::config_maps_leases).await;
}
