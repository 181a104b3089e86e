//! Objects in another version than their stored one, by the conversion webhook of their definition.
//!
//! Reads convert what they show, and writes what they store. Kinds without a webhook convert at
//! once, in [`Kind`](crate::api::kind::Kind).

mod objects;
mod review;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::api::status::Status;
use crate::rest::conversion::review::Review;
use crate::rest::state::ApiState;
use crate::store::stored::Stored;
use crate::strategy::crd::{Conversion, Served};
use crate::strategy::resource::ServedResource;

pub(super) use crate::rest::conversion::objects::ConvertedObjects;

/// How long a webhook may take.
const TIME: Duration = Duration::from_secs(30);
/// The same, for the webhook.
const QUERY: &str = "timeout=30s";

/// The objects that a list converts at a time.
const AT_ONCE: usize = 16;

/// The object in the version of `kind`.
///
/// # Errors
///
/// The webhook fails.
pub(super) async fn shown_as(
    api: &ApiState,
    kind: &ServedResource,
    stored: Arc<Stored>,
) -> Result<Arc<Stored>, Status> {
    match foreign(kind, &stored) {
        None => Ok(stored),
        Some(by) => by.show(api, &stored).await.map(Arc::new).map_err(Status::unknown),
    }
}

/// As [`shown_as`], for all objects of a list or a watch. Converted objects are kept.
///
/// # Errors
///
/// The webhook fails.
pub(super) async fn all_shown_as(
    api: &ApiState,
    kind: &ServedResource,
    mut objects: Vec<Arc<Stored>>,
) -> Result<Vec<Arc<Stored>>, Status> {
    if !kind.has_webhook() {
        return Ok(objects);
    }
    for some in objects.chunks_mut(AT_ONCE) {
        let shown = join_all(some.iter().map(|stored| kept(api, kind, stored))).await;
        for (stored, shown) in some.iter_mut().zip(shown) {
            *stored = shown.map_err(Status::unknown)?;
        }
    }
    Ok(objects)
}

async fn kept(
    api: &ApiState,
    kind: &ServedResource,
    stored: &Arc<Stored>,
) -> Result<Arc<Stored>, String> {
    let Some(by) = foreign(kind, stored) else { return Ok(Arc::clone(stored)) };
    if let Some(known) = by.served.converted.get(stored) {
        return Ok(known);
    }
    let shown = Arc::new(by.show(api, stored).await?);
    by.served.converted.insert(Arc::clone(&shown));
    Ok(shown)
}

/// The object as it is, without a webhook: only its metadata fit the version of `kind`.
pub(super) fn unconverted(kind: &ServedResource, stored: Arc<Stored>) -> Arc<Stored> {
    match foreign(kind, &stored) {
        None => stored,
        Some(_) => Arc::new(Stored::clone(&stored).converted()),
    }
}

/// The form in which an object of `kind` is stored, and the number of that version.
///
/// # Errors
///
/// The webhook fails.
pub(super) async fn stored_form(
    api: &ApiState,
    kind: &ServedResource,
    object: Object,
    managed: &str,
) -> Result<(Object, u16), Status> {
    let Some(served) = kind.definition() else { return Ok((kind.to_storage(object), 0)) };
    let number = served.stored_number;
    let Some(conversion) = served.conversion.as_ref().filter(|_| served.number != number) else {
        return Ok((kind.to_storage(object), number));
    };
    let by = By { kind, served, conversion };
    let converted = by.convert(api, object, managed, served.number, number).await;
    Ok((converted.map_err(Status::unknown)?, number))
}

/// An object without managedFields in another version; both are an apiVersion.
///
/// # Errors
///
/// The webhook fails.
pub(super) async fn between(
    api: &ApiState,
    kind: &ServedResource,
    object: Object,
    (from, to): (&str, &str),
) -> Result<Object, Status> {
    let by = kind.definition().and_then(|served| {
        let conversion = served.conversion.as_ref()?;
        let (from, to) = (conversion.number(from)?, conversion.number(to)?);
        Some((By { kind, served, conversion }, from, to))
    });
    let Some((by, from, to)) = by else {
        let why = format!("request to convert CR to an invalid group/version: {to}");
        return Err(Status::unknown(why));
    };
    by.convert(api, object, "", from, to).await.map_err(Status::unknown)
}

/// A kind whose objects a webhook converts.
#[derive(Clone, Copy)]
struct By<'a> {
    kind: &'a ServedResource,
    served: &'a Served,
    conversion: &'a Conversion,
}

/// The webhook, if this object needs it.
fn foreign<'a>(kind: &'a ServedResource, stored: &Stored) -> Option<By<'a>> {
    let served = kind.definition()?;
    let conversion = served.conversion.as_ref()?;
    let is_foreign = !stored.is_converted() && stored.version() != served.number;
    is_foreign.then_some(By { kind, served, conversion })
}

impl By<'_> {
    async fn show(&self, api: &ApiState, stored: &Stored) -> Result<Stored, String> {
        let (from, managed) = (stored.version(), stored.managed());
        let mut object = stored.object();
        self.conversion.decode(&mut object, from);
        let mut object = self.convert(api, object, managed, from, self.served.number).await?;
        let (key, revision) = (stored.key.clone(), stored.revision);
        let shown = Stored::new(self.kind, key, revision, &mut object, managed);
        Ok(shown.written_as(from).unsaid(stored.leaves_unsaid()).converted())
    }

    /// Converts an object from one version to another one.
    async fn convert(
        &self,
        api: &ApiState,
        object: Object,
        managed: &str,
        from: u16,
        to: u16,
    ) -> Result<Object, String> {
        let Self { kind, conversion, .. } = *self;
        let (from, desired) = (conversion.api_version(from)?, conversion.api_version(to)?);
        let uid = api.store.draw(metadata::new_uid);
        let managed: Value = serde_json::from_str(managed).unwrap_or_default();
        let review = Review { uid: &uid, kind: kind.kind(), from, desired };
        let failed = |why: &dyn std::fmt::Display| review.failed(why);
        let version = conversion.review.ok_or("no supported conversion review versions")?;
        let endpoint = conversion.endpoint.as_ref().map_err(|why| failed(why))?;
        let request = review.request(version, &object, managed);
        let answer = api.webhooks.post(endpoint, QUERY, &request, TIME).await;
        let answer = answer.map_err(|why| failed(&why))?;
        let mut converted = review.read(version, answer, &object)?;
        conversion.prune(&mut converted, to);
        Ok(converted)
    }
}
