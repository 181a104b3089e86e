//! Who still needs a directory: the claim that it was made for, under whatever name, and any other
//! volume that leads to it. Asked of the server before anything is removed.

use std::path::Path;
use std::sync::Arc;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::Api;
use kube::api::ListParams;
use reconciler::Request;

use super::decide::ClaimName;
use crate::context::Context;
use crate::location::Location;
use crate::outcome::{Problem, Reason};

/// Claims that are listed in one request.
const PAGE: u32 = 500;

/// The UID of the claim that needs the directory, if the server has it.
///
/// The reference of the volume may have been changed, and the cache may lag behind the server. So
/// the claim is asked for by the reference's name, by the name that the cache knows, and by the
/// marker's. Without a marker all claims are listed.
pub(crate) async fn claim_uid(
    context: &Arc<Context>,
    request: &Request<String>,
    claim: &ClaimName,
    location: &Location,
) -> Result<Option<String>, Problem> {
    let named = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
    let mut names = vec![named(&claim.namespace, &claim.name)];
    if let Some(known) = context.claim_of(&claim.uid) {
        names.extend(known.metadata.namespace.clone().zip(known.metadata.name.clone()));
    }
    let place = location.clone();
    let marker = context.on_disk(request, &claim.uid, move |root, _| root.marker(&place)).await?;
    let is_marked = marker.is_some();
    if let Some(marker) = marker {
        names.push(named(&marker.claim_namespace, &marker.claim_name));
    }
    names.dedup();
    for (namespace, name) in names {
        let claims = context.claims_api(&namespace);
        let found = context.ask("read the claim", claims.get_opt(&name)).await?;
        if found.is_some_and(|found| found.metadata.uid.as_deref() == Some(&claim.uid)) {
            return Ok(Some(claim.uid.clone()));
        }
    }
    if is_marked || !has_claim(context, &claim.uid).await? {
        return Ok(None);
    }
    Ok(Some(claim.uid.clone()))
}

/// Whether any claim of the cluster has this UID.
async fn has_claim(context: &Arc<Context>, uid: &str) -> Result<bool, Problem> {
    let claims: Api<PersistentVolumeClaim> = Api::all(context.client.clone());
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = context.ask("list the claims", claims.list_metadata(&params)).await?;
        if page.items.iter().any(|claim| claim.metadata.uid.as_deref() == Some(uid)) {
            return Ok(true);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(false),
        }
    }
}

/// Refuses if a volume of another name leads to the directory, to a folder in it, or to one around
/// it.
pub(crate) fn check_no_other_volume(context: &Context, location: &Location) -> Result<(), Problem> {
    match other_volume(context, location) {
        None => Ok(()),
        Some(other) => Err(Problem::passing(
            Reason::DirectoryForeign,
            &format!(
                "nothing is removed: the PersistentVolume {other} has the same directory; delete one of them"
            ),
        )),
    }
}

/// The name of a volume of another name whose hostPath is the directory, in it, or around it.
pub(crate) fn other_volume(context: &Context, location: &Location) -> Option<String> {
    let directory = location.below(&context.us.root);
    context.caches.volumes.list().into_iter().find_map(|volume| {
        let path = volume.spec.as_ref()?.host_path.as_ref()?.path.clone();
        let (path, name) = (Path::new(&path), volume.metadata.name.clone()?);
        let overlaps = path.starts_with(&directory)
            || (directory.starts_with(path) && path.starts_with(&context.us.root));
        (name != location.name() && overlaps).then_some(name)
    })
}
