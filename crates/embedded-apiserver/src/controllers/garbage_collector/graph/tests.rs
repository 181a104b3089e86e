//! Objects that wait for a kind to be served.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::discovery::ApiResource;

use super::{Graph, Node, Uid};
use crate::controllers::actors::kinds::Resource;

fn node(name: &str) -> (Uid, Node) {
    let api = ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        plural: "configmaps".to_owned(),
    };
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        uid: Some(format!("uid-{name}")),
        ..ObjectMeta::default()
    };
    Node::new(&Arc::new(Resource { api, namespaced: true }), metadata)
        .expect("it has a name and a uid")
}

#[test]
fn what_waits_for_a_kind_is_known_once_and_no_longer_than_it_is_there() {
    let mut graph = Graph::default();
    let (uid, there) = node("a");
    let (gone, other) = node("b");
    graph.put(Arc::clone(&uid), there);
    graph.put(Arc::clone(&gone), other);
    for _ in 0..1000 {
        graph.park(&uid);
        graph.park(&gone);
    }
    assert_eq!(graph.parked.len(), 2);
    graph.remove(&gone);
    graph.park(&gone);
    assert_eq!(graph.parked.len(), 1, "what is gone waits for nothing");
    graph.unpark();
    assert_eq!((graph.next(), graph.next()), (Some(Arc::clone(&uid)), None));
    graph.park(&uid);
    graph.queue(&uid);
    assert_eq!(graph.next(), Some(uid));
    assert!(graph.parked.is_empty(), "it is being looked at");
}
