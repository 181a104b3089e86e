//! Fence owned object: each term first takes an object that belongs to the Lease, and writes by its
//! last version.
//!
//! No receiver has to compare tokens.
//! 1. A new leader reads the object and writes its token into it, conditional on the version read.
//!    From that write on, every version that an older leader knows is out of date.
//! 2. Each later write is conditional on the version of the leader's own last one. The leader never
//!    reads the object again: by a read it would adopt a newer leader's version, and not be fenced.
//! 3. A conflict is the end: another leader has written the object.
//!
//! **After a restore of etcd** nothing needs to be done: each new term takes the object by the
//! version that it reads. But versions repeat, so a write from before the restore may find its
//! version again. Stop all replicas before the restore, or restore with a revision above all that
//! were given out (`etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted`).
//!
//! The object names the Lease as its owner, by uid, so that a cluster's garbage collector deletes
//! it with the Lease.

use embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::PostParams;
use lease_election::{Config, FenceToken, KubeLeaseStore, LeaderElector, Outcome, TokioClock};
use tokio::sync::oneshot;

const FENCE: &str = "example.com/fence";

/// The object as this term last wrote it.
struct Claimed {
    maps: Api<ConfigMap>,
    object: ConfigMap,
}

impl Claimed {
    /// Takes the object for the term, or creates it.
    async fn claim(maps: Api<ConfigMap>, fence: &FenceToken) -> Result<Self, kube::Error> {
        let found = maps.get_opt("job").await?;
        let is_new = found.is_none();
        let mut object = found.unwrap_or_default();
        object.metadata.name = Some("job".into());
        object.metadata.annotations.get_or_insert_default().insert(FENCE.into(), fence.to_string());
        object.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "coordination.k8s.io/v1".into(),
            kind: "Lease".into(),
            name: "jobs".into(),
            uid: fence.uid.clone(),
            ..OwnerReference::default()
        }]);
        let object = if is_new {
            maps.create(&PostParams::default(), &object).await?
        } else {
            maps.replace("job", &PostParams::default(), &object).await?
        };
        Ok(Self { maps, object })
    }

    /// Writes if the object is still as this term left it.
    async fn write(&mut self, state: &str) -> Result<(), kube::Error> {
        let mut next = self.object.clone();
        next.data.get_or_insert_default().insert("state".into(), state.into());
        self.object = self.maps.replace("job", &PostParams::default(), &next).await?;
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = EmbeddedApiServer::new();
    let elector = |name: &str, seed| -> Result<LeaderElector, Box<dyn std::error::Error>> {
        let config = Config::builder("default", "jobs").fast().identity(name).build()?;
        let store = KubeLeaseStore::new(server.client_as(name), &config);
        Ok(LeaderElector::with_clock(store, config, TokioClock::new(), seed))
    };
    let (first, second) = (elector("first", 1)?, elector("second", 2)?);
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());

    let (send, claimed) = oneshot::channel();
    let api = maps.clone();
    let leading = tokio::spawn(async move {
        first
            .run(|leadership| async move {
                let mut claimed = Claimed::claim(api, &leadership.fence()).await?;
                claimed.write("begun by the first").await?;
                let _ = send.send(claimed);
                leadership.lost().await;
                Ok::<_, kube::Error>(())
            })
            .await
    });
    let mut old = claimed.await?;

    // The first leader is told to stop and does not wind up: its lease expires with a write still
    // in flight.
    leading.abort();
    let api = maps.clone();
    let done = second
        .run(|leadership| async move {
            let mut claimed = Claimed::claim(api, &leadership.fence()).await?;
            claimed.write("done").await
        })
        .await;
    assert!(
        matches!(done, Outcome::Finished(Ok(()))),
        "a later leader's writes are taken: {done:?}"
    );

    let late = old.write("finished by the first").await;
    say(&format!(
        "its late write: {}",
        late.as_ref().map_or_else(ToString::to_string, |()| "taken".to_owned())
    ));
    assert!(
        matches!(&late, Err(kube::Error::Api(status)) if status.is_conflict()),
        "a stale leader's write is refused"
    );
    let now = maps.get("job").await?;
    assert_eq!(now.data.unwrap_or_default()["state"], "done");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn say(what: &str) {
    println!("{what}");
}
