//! Fence annotation: each write to an object carries its term's token in an annotation, and
//! admission refuses a smaller one.
//!
//! The hook here is a closure on an embedded API server. On a cluster, apply the policy in
//! `fence_annotation.yaml`, beside this file.
//!
//! The writer needs no version, so the hook fences blind writes too, such as server-side apply.
//! Deletes carry no object: give them the preconditions `uid` and `resourceVersion` that the leader
//! has seen. A deleted object keeps no token, so a late create of an earlier leader is accepted,
//! unless names are never used twice.
//!
//! **After a restore of etcd** tokens are smaller than before. The objects' tokens went back too,
//! so new leaders are not refused. But a late write from before the restore is accepted. Its
//! token then refuses all others until the server has made as many writes again. Stop all replicas
//! before the restore, or restore with a revision above all that were given out (`etcdutl snapshot
//! restore --bump-revision 1000000000 --mark-compacted`). If an object refuses every leader, delete
//! it, or write a new token while the policy's binding is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use embedded_apiserver::{Denied, EmbeddedApiServer, Hook};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use lease_election::{
    Config, Fault, FenceToken, LeaderElector, MemoryLeaseStore, Outcome, TokioClock,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

const FENCE: &str = "example.com/fence";

/// The object's token, as a number.
fn fence_of(object: &Value) -> Option<u64> {
    object["metadata"]["annotations"][FENCE].as_str()?.parse().ok()
}

/// Refuses a write without a token, or with one smaller than the object's.
fn hook() -> Hook {
    Hook::validating("fence.example.com", |request| {
        let Some(fence) = fence_of(&request.object) else {
            return Err(Denied::new(format!("a write needs the annotation {FENCE}")));
        };
        match fence_of(&request.old_object) {
            Some(last) if fence < last => {
                Err(Denied::new("a later leader has written this object"))
            }
            _ => Ok(()),
        }
    })
    .resource("configmaps")
}

/// A leader's blind write, without a read and without a version.
async fn apply(
    maps: &Api<ConfigMap>,
    fence: &FenceToken,
    state: &str,
) -> Result<ConfigMap, kube::Error> {
    let fence = fence.number().unwrap_or(0).to_string();
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "job", "annotations": { FENCE: fence } },
        "data": { "state": state },
    });
    maps.patch("job", &PatchParams::apply("leader").force(), &Patch::Apply(map)).await
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = EmbeddedApiServer::new();
    server.admission().add(hook());
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());

    let cut = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::clone(&cut);
    let store = MemoryLeaseStore::new().with_faults(move |client, _| {
        if client == "first" && is_cut.load(Ordering::SeqCst) { Fault::Lost } else { Fault::None }
    });
    let elector = |name: &str, seed| -> Result<LeaderElector, Box<dyn std::error::Error>> {
        let config = Config::builder("default", "jobs").fast().identity(name).build()?;
        Ok(LeaderElector::with_clock(store.client(name), config, TokioClock::new(), seed))
    };
    let (first, second) = (elector("first", 1)?, elector("second", 2)?);

    let (send, old) = oneshot::channel();
    let writer = maps.clone();
    let leading = tokio::spawn(async move {
        first
            .run(|leadership| async move {
                let _ = send
                    .send((apply(&writer, &leadership.fence(), "begun").await, leadership.fence()));
                leadership.lost().await
            })
            .await
    });
    let (wrote, old_fence) = old.await?;
    wrote?;

    // The first leader is cut off from its lease. Its link to the objects works, so only the token
    // stops it there.
    cut.store(true, Ordering::SeqCst);
    let writer = maps.clone();
    let done =
        second
            .run(|leadership| async move {
                apply(&writer, &leadership.fence(), "done").await.map(|_| ())
            })
            .await;
    assert!(matches!(done, Outcome::Finished(Ok(()))), "a later leader's write is taken: {done:?}");
    say(&format!("the first ended: {:?}", leading.await?));

    let late = apply(&maps, &old_fence, "finished by the first").await;
    say(&format!(
        "its late write: {}",
        late.as_ref().map_or_else(ToString::to_string, |_| "taken".to_owned())
    ));
    assert!(late.is_err(), "a stale leader's write is refused");
    let bare = json!({ "data": { "state": "by nobody" } });
    let bare = maps.patch("job", &PatchParams::default(), &Patch::Merge(bare)).await;
    assert!(bare.is_ok(), "a merge keeps the annotation, and with it the last token");
    let strip = json!({ "metadata": { "annotations": { FENCE: null } } });
    let strip = maps.patch("job", &PatchParams::default(), &Patch::Merge(strip)).await;
    assert!(strip.is_err(), "nobody takes the token away");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn say(what: &str) {
    println!("{what}");
}
