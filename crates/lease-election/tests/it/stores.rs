//! Stores: every store of this crate keeps the contract.

use lease_election::contract::{Place, check};
use lease_election::{Config, MemoryLeaseStore, MultiStore};

fn config() -> Config {
    Config::builder("default", "lease").fast().identity("any").build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_store_in_memory() {
    check(async || {
        let store = MemoryLeaseStore::new();
        let operator = store.clone();
        Place::new(store.client("one"), store.client("other"), move || {
            operator.delete();
            Box::pin(async {})
        })
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn two_stores_in_memory_as_one() {
    check(async || {
        let (primary, secondary) = (MemoryLeaseStore::new(), MemoryLeaseStore::new());
        // The versions of the halves are independent.
        for _ in 0..7 {
            primary.overwrite(lease_election::Record::default());
            primary.delete();
        }
        let store =
            |name: &str| MultiStore::new(primary.client(name), secondary.client(name), &config());
        let (one, other) = (store("one"), store("other"));
        Place::new(one, other, move || {
            primary.delete();
            secondary.delete();
            Box::pin(async {})
        })
    })
    .await;
}

/// The suite finds a store that breaks a rule, and its panic names the rule.
#[tokio::test(start_paused = true)]
#[should_panic(expected = "an update is conditional on the version")]
async fn a_store_that_writes_without_a_condition_is_found_out() {
    check(async || {
        let (one, other) = (Careless(MemoryLeaseStore::new()), MemoryLeaseStore::new());
        let other = Careless(MemoryLeaseStore::clone(&one.0).client(&format!("{other:?}")));
        let operator = one.0.clone();
        Place::new(one, other, move || {
            operator.delete();
            Box::pin(async {})
        })
    })
    .await;
}

struct Careless(MemoryLeaseStore);

#[async_trait::async_trait]
impl lease_election::LeaseStore for Careless {
    async fn get(&self) -> Result<Option<lease_election::StoredLease>, lease_election::StoreError> {
        self.0.get().await
    }
    async fn create(
        &self,
        record: &lease_election::Record,
    ) -> Result<lease_election::StoredLease, lease_election::StoreError> {
        self.0.create(record).await
    }
    async fn update(
        &self,
        version: &lease_election::Version,
        record: &lease_election::Record,
    ) -> Result<lease_election::StoredLease, lease_election::StoreError> {
        let now = self.0.lease().ok_or(lease_election::StoreError::NotFound)?;
        // It checks the object, as a careful program does, and not its version.
        let version =
            lease_election::Version::new(version.uid.clone(), now.version.resource_version);
        self.0.update(&version, record).await
    }
    async fn watch(
        &self,
        from: Option<&lease_election::Version>,
    ) -> Result<lease_election::LeaseEvents, lease_election::StoreError> {
        self.0.watch(from).await
    }
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "versions rise: ")]
async fn a_store_whose_numbers_fall_is_found_out() {
    check_numbers(|_, writes| 1000 - writes).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "versions rise over deletions: ")]
async fn a_store_that_counts_by_the_object_is_found_out() {
    check_numbers(|objects, writes| objects + writes).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_counts_all_writes_passes() {
    check_numbers(|objects, writes| 1000 * objects + writes).await;
}

async fn check_numbers(number: fn(u64, u64) -> u64) {
    check(async || {
        let store = MemoryLeaseStore::new();
        let (one, operator) = (Numbering::new(store.clone(), number), store);
        Place::new(one.clone(), one, move || {
            operator.delete();
            Box::pin(async {})
        })
    })
    .await;
}

/// A store without a watch that numbers versions by the objects so far, and by the writes of this
/// one.
#[derive(Clone)]
struct Numbering {
    inner: MemoryLeaseStore,
    number: fn(u64, u64) -> u64,
    written: std::sync::Arc<std::sync::Mutex<(u64, u64)>>,
}

impl Numbering {
    fn new(inner: MemoryLeaseStore, number: fn(u64, u64) -> u64) -> Self {
        Self { inner, number, written: std::sync::Arc::default() }
    }

    fn numbered(&self, mut lease: lease_election::StoredLease) -> lease_election::StoredLease {
        let (objects, writes) = *self.written.lock().unwrap();
        lease.version.resource_version = (self.number)(objects, writes).to_string();
        lease
    }
}

#[async_trait::async_trait]
impl lease_election::LeaseStore for Numbering {
    async fn get(&self) -> Result<Option<lease_election::StoredLease>, lease_election::StoreError> {
        Ok(self.inner.lease().map(|lease| self.numbered(lease)))
    }
    async fn create(
        &self,
        record: &lease_election::Record,
    ) -> Result<lease_election::StoredLease, lease_election::StoreError> {
        let made = self.inner.create(record).await?;
        let mut written = self.written.lock().unwrap();
        *written = (written.0 + 1, 0);
        drop(written);
        Ok(self.numbered(made))
    }
    async fn update(
        &self,
        version: &lease_election::Version,
        record: &lease_election::Record,
    ) -> Result<lease_election::StoredLease, lease_election::StoreError> {
        let now = self.inner.lease().ok_or(lease_election::StoreError::NotFound)?;
        if self.numbered(now.clone()).version != *version {
            return Err(lease_election::StoreError::Conflict);
        }
        let changed = self.inner.update(&now.version, record).await?;
        self.written.lock().unwrap().1 += 1;
        Ok(self.numbered(changed))
    }
    async fn watch(
        &self,
        _: Option<&lease_election::Version>,
    ) -> Result<lease_election::LeaseEvents, lease_election::StoreError> {
        Err(lease_election::StoreError::unknown("it cannot watch"))
    }
}

#[cfg(all(feature = "kube", not(wq_plant)))]
mod on_a_server {
    //! The stores of an API server.

    use embedded_apiserver::EmbeddedApiServer;
    use k8s_openapi::api::coordination::v1::Lease;
    use k8s_openapi::api::core::v1::{ConfigMap, Endpoints};
    use kube::api::DeleteParams;
    use kube::{Api, Client};
    use lease_election::contract::{Place, check};
    use lease_election::{AnnotationStore, KubeLeaseStore, LeaseStore, MultiStore};

    use super::config;

    /// Checks each rule on a server of its own, and deletes every object that may hold the lease.
    async fn check_on_servers<S: LeaseStore + 'static>(store: impl Fn(Client) -> S) {
        check(async || {
            let server = EmbeddedApiServer::builder().seed(1).build();
            let (one, other) = (store(server.client_as("one")), store(server.client_as("other")));
            Place::new(one, other, move || {
                let client = server.client();
                Box::pin(async move {
                    let gone = DeleteParams::default();
                    let _ = Api::<Lease>::default_namespaced(client.clone())
                        .delete("lease", &gone)
                        .await;
                    let _ = Api::<Endpoints>::default_namespaced(client.clone())
                        .delete("lease", &gone)
                        .await;
                    let _ =
                        Api::<ConfigMap>::default_namespaced(client).delete("lease", &gone).await;
                })
            })
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease() {
        check_on_servers(|client| KubeLeaseStore::new(client, &config())).await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_annotation_on_endpoints() {
        check_on_servers(|client| AnnotationStore::endpoints(client, &config())).await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_annotation_on_a_config_map() {
        check_on_servers(|client| AnnotationStore::config_map(client, &config())).await;
    }

    #[tokio::test(start_paused = true)]
    async fn endpoints_and_a_lease() {
        check_on_servers(|client| MultiStore::endpoints_leases(client, &config())).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_config_map_and_a_lease() {
        check_on_servers(|client| MultiStore::config_maps_leases(client, &config())).await;
    }
}
