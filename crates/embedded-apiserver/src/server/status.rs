//! Statuses that a test writes, in the place of a controller that does not run here.

use std::fmt::Debug;

use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::metadata;
use crate::server::handle::EmbeddedApiServer;
use crate::store::stored::Key;

impl EmbeddedApiServer {
    /// Writes the status of an object, as its controller would: no controller of Deployments,
    /// StatefulSets or Pods runs here.
    ///
    /// Merges `status` into what is stored: a member that it does not name stays, a null removes
    /// one. `observedGeneration` is that of the stored object, if the kind has one and `status`
    /// does not name it. The request is one of [`client`](Self::client).
    ///
    /// ```
    /// # use embedded_apiserver::EmbeddedApiServer;
    /// # use k8s_openapi::api::apps::v1::StatefulSet;
    /// # use kube::api::{Api, PostParams};
    /// # use serde_json::json;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = EmbeddedApiServer::new();
    /// # let sets = Api::<StatefulSet>::default_namespaced(server.client());
    /// # let pod = json!({ "metadata": { "labels": { "app": "db" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    /// # let spec = json!({ "replicas": 3, "serviceName": "db", "selector": { "matchLabels": { "app": "db" } }, "template": pod });
    /// # let set = serde_json::from_value(json!({ "metadata": { "name": "db" }, "spec": spec }))?;
    /// # sets.create(&PostParams::default(), &set).await?;
    /// let set = sets.get("db").await?;
    /// let set = server.set_status(&set, json!({ "replicas": 3, "readyReplicas": 3 })).await?;
    /// assert_eq!(set.status.unwrap().observed_generation, set.metadata.generation);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`kube::Error`], if the server refuses the status, a member of it is unknown, or there is no
    /// such object.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[doc(alias = "UpdateStatus")]
    pub async fn set_status<K>(&self, object: &K, status: impl Serialize) -> kube::Result<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
    {
        let mut status = serde_json::to_value(status).map_err(kube::Error::SerdeError)?;
        let metadata = object.meta();
        let namespace = metadata.namespace.as_deref();
        let name = metadata.name.as_deref().unwrap_or_default();
        if let (Value::Object(status), Some(generation)) =
            (&mut status, self.observed_generation::<K>(namespace, name))
        {
            status.entry("observedGeneration").or_insert_with(|| generation.into());
        }
        let request = Request::new(K::url_path(&(), namespace))
            .patch_subresource(
                "status",
                name,
                &PatchParams::default().validation_strict(),
                &Patch::Merge(json!({ "status": status })),
            )
            .map_err(kube::Error::BuildRequest)?;
        self.client().request(request).await
    }

    /// The generation of the stored object, if the status of its kind has a member for it.
    fn observed_generation<K>(&self, namespace: Option<&str>, name: &str) -> Option<i64>
    where
        K: Resource<DynamicType = ()>,
    {
        let api = self.core().api();
        let (group, version, plural) = (K::group(&()), K::version(&()), K::plural(&()));
        let kind = api.registry.read().find(&group, &version, &plural)?;
        let key = Key::new(namespace.unwrap_or_default(), name);
        let stored = api.store.get(&kind.storage, &key)?;
        kind.has_status_member("observedGeneration").then(|| metadata::generation(&stored.object()))
    }
}
