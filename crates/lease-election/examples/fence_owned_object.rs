//! Fencing without anybody's help: an object that belongs to the Lease, which each term takes for
//! itself first, and writes only by its last version.
//!
//! 1. A new leader reads the object and writes its token into it, conditional on the version read.
//!    From that write on every version that an older leader knows is out of date.
//! 2. Each write after that is conditional on the version of the leader's own last one. It never
//!    reads the object again: who reads again before writing takes the new leader's version for its
//!    own, and is not fenced.
//! 3. A conflict is the end: another leader has been here.
//!
//! **After etcd was restored from a backup** nothing needs to be done: no token is compared, and
//! each new term takes the object by the version that it reads. But versions are handed out a
//! second time then, and a write of before the restoration may find its version again: stop all
//! replicas before it, or restore with a revision that is beyond all that were handed out (`etcdutl
//! snapshot restore --bump-revision 1000000000 --mark-compacted`).
//!
//! The object names the Lease as its owner, by uid, so that it goes when the Lease goes (on a
//! cluster, by the garbage collector).

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
    /// Takes the object for the term, or makes it.
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

    /// Writes, if the object is still as this term left it.
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

    // The first is told to stop and does not wind up: in the end its lease runs out, with a write
    // still on its way.
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
