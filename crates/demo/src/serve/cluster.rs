//! A cluster of the user's behind the proxy: looked at before anything is made there, and swept at
//! the end.

use std::time::Duration;

use anyhow::{Context, bail};
use futures::{StreamExt, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{ListParams, PostParams};
use kube::config::{Kubeconfig, KubeconfigError};
use kube::{Api, Client, ResourceExt};

use super::answer::{Answer, say};
use super::client::{chain, client, version, why};
use super::front::{address, close, listening, present, proxy};
use super::gone::{Gone, end};
use super::sweep::sweep;
use crate::cli::ServeOptions;
use crate::plan::{CLASS, is_our_volume};
use crate::replica::PROVISIONER;
use crate::users::User;
use crate::venue::{Cluster, RUN_LABEL};

/// A cluster that does not answer within this time is not there.
const PATIENCE: Duration = Duration::from_secs(10);
/// Permissions asked about at once.
const ASKING: usize = 8;

/// All that writer, judge, replicas and the sweep do there: group, resource, verbs.
const NEEDED: [(&str, &str, &[&str]); 6] = [
    ("", "namespaces", &["create", "list", "delete"]),
    ("storage.k8s.io", "storageclasses", &["create", "get", "list", "watch", "delete"]),
    (
        "",
        "persistentvolumeclaims",
        &["create", "get", "list", "watch", "patch", "delete", "deletecollection"],
    ),
    ("", "persistentvolumes", &["create", "get", "list", "watch", "patch", "delete"]),
    (
        "coordination.k8s.io",
        "leases",
        &["create", "get", "list", "watch", "update", "deletecollection"],
    ),
    ("events.k8s.io", "events", &["create", "patch"]),
];

pub(super) async fn serve(
    options: &ServeOptions,
    cluster: &Cluster,
    users: &[User],
    gone: &mut Gone,
) -> anyhow::Result<()> {
    let looked = tokio::select! {
        biased;
        () = end(gone) => return Ok(()),
        looked = look(cluster) => looked,
    };
    let (client, engine) =
        looked.with_context(|| format!("--kubeconfig {}", cluster.kubeconfig.display()))?;
    let mut proxy = proxy(options);
    for user in users {
        proxy = proxy.user(&user.name, &user.token, client.clone());
    }
    let proxy = proxy.build();
    let listener = listening(options, proxy.listen(&address(options)).await)?;
    present(options, users, &listener, &engine, |url, user| proxy.kubeconfig(url, user))?;
    end(gone).await;
    close(listener).await;
    let left = sweep(&client, &options.mark).await;
    say(&Answer::Left { what: left });
    Ok(())
}

/// A client, and what the server says that it is; or why nothing can be done there.
async fn look(cluster: &Cluster) -> anyhow::Result<(Client, String)> {
    // A parser's first line says what is wrong; the rest shows where, in a file that may hold
    // secrets.
    let first_line = |error: KubeconfigError| {
        anyhow::anyhow!("{}", chain(&error).lines().next().unwrap_or_default().to_owned())
    };
    let file = Kubeconfig::read_from(&cluster.kubeconfig).map_err(first_line)?;
    let client = client(file, cluster.context.clone()).await?;
    let engine = match tokio::time::timeout(PATIENCE, version(&client)).await {
        Ok(version) => version.map_err(|error| match error {
            error @ kube::Error::Api(_) => why(error),
            error => why(error).context("the server cannot be reached"),
        })?,
        Err(_) => bail!("the server does not answer within {PATIENCE:?}"),
    };
    let missing = missing(&client).await.map_err(why).context("asking for permissions")?;
    if !missing.is_empty() {
        bail!("its user lacks permissions that the demo needs: {}", missing.join("; "));
    }
    nothing_is_there(&client, cluster).await?;
    Ok((client, engine))
}

/// What the user may not do, as in `create, delete namespaces`.
async fn missing(client: &Client) -> Result<Vec<String>, kube::Error> {
    let questions = NEEDED.iter().flat_map(|&(group, resource, verbs)| {
        verbs.iter().map(move |&verb| (group, resource, verb))
    });
    let answers: Vec<_> = stream::iter(questions)
        .map(async |(group, resource, verb)| {
            Ok((resource, verb, may(client, group, resource, verb).await?))
        })
        .buffered(ASKING)
        .collect::<Vec<Result<_, kube::Error>>>()
        .await
        .into_iter()
        .collect::<Result<_, _>>()?;
    let missing = NEEDED.iter().filter_map(|&(_, of, _)| {
        let verbs: Vec<_> = answers
            .iter()
            .filter(|(resource, _, allowed)| *resource == of && !allowed)
            .map(|(_, verb, _)| *verb)
            .collect();
        (!verbs.is_empty()).then(|| format!("{} {of}", verbs.join(", ")))
    });
    Ok(missing.collect())
}

/// Whether the server says that this is allowed everywhere. A server that does not answer such
/// questions is taken to allow it.
async fn may(
    client: &Client,
    group: &str,
    resource: &str,
    verb: &str,
) -> Result<bool, kube::Error> {
    let attributes = ResourceAttributes {
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        verb: Some(verb.to_owned()),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    match Api::all(client.clone()).create(&PostParams::default(), &review).await {
        Ok(review) => Ok(review.status.is_some_and(|status| status.allowed)),
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404 | 501) => Ok(true),
        Err(error) => Err(error),
    }
}

/// The class, its claims and its volumes are the run's own, or it would serve, judge and sweep what
/// is somebody else's.
async fn nothing_is_there(client: &Client, cluster: &Cluster) -> anyhow::Result<()> {
    let all = ListParams::default();
    let classes = Api::<StorageClass>::all(client.clone()).list(&all).await;
    let all_classes = classes.map_err(why).context("listing storage classes")?;
    for class in all_classes {
        let name = class.name_any();
        if name == CLASS {
            if let Some(mark) = class.labels().get(RUN_LABEL) {
                bail!(
                    "there is a StorageClass {CLASS} already, of the run {mark}; if that is over: {}",
                    cluster.without_run(mark).join("; ")
                );
            }
            bail!(
                "there is a StorageClass {CLASS} already; if an earlier run left it: {} delete storageclass {CLASS}",
                cluster.kubectl()
            );
        }
        if class.provisioner == PROVISIONER {
            bail!(
                "the StorageClass {name} is served by {PROVISIONER} already; the demo's own provisioner would get in its way"
            );
        }
    }
    // Before the volumes: a volume goes only after its claim.
    let claims = Api::<PersistentVolumeClaim>::all(client.clone()).list(&all).await;
    let claims = claims.map_err(why).context("listing claims")?;
    if let Some(claim) = claims.items.iter().find(|claim| asks_for_our_class(claim)) {
        let (namespace, name) = (claim.namespace().unwrap_or_default(), claim.name_any());
        bail!(
            "the claim {namespace}/{name} asks for the class {CLASS}, so the demo's provisioner would serve it; if it may go: {} delete pvc -n {namespace} {name}",
            cluster.kubectl()
        );
    }
    let volumes = Api::<PersistentVolume>::all(client.clone()).list(&all).await;
    let volumes = volumes.map_err(why).context("listing volumes")?;
    if let Some(volume) = volumes.items.iter().find(|volume| is_our_volume(volume)) {
        let name = volume.name_any();
        bail!(
            "there are volumes of the class {CLASS} already ({name} is one); if an earlier run left them: {}",
            cluster.without_volumes()
        );
    }
    Ok(())
}

/// Whether a claim is for the demo's class, by the field or by the annotation that was there before
/// it.
fn asks_for_our_class(claim: &PersistentVolumeClaim) -> bool {
    let annotation =
        claim.annotations().get("volume.beta.kubernetes.io/storage-class").map(String::as_str);
    let field = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
    annotation == Some(CLASS) || field == Some(CLASS)
}
