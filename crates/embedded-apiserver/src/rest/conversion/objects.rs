//! Objects in other versions, for rules that do not wait: a missing object is converted between two
//! runs of the rules.

use k8s_merge::managed_fields::Converter;
use parking_lot::Mutex;

use crate::api::metadata::Object;
use crate::api::status::Status;
use crate::rest::conversion::between;
use crate::rest::state::ApiState;
use crate::strategy::resource::ServedResource;

/// The converted objects of one write, and the missing one.
#[derive(Debug, Default)]
pub(in crate::rest) struct ConvertedObjects(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: Vec<(Wanted, Object)>,
    wanted: Option<Wanted>,
}

/// An object with its apiVersion, and the wanted apiVersion.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::rest) struct Wanted {
    object: Object,
    from: String,
    to: String,
}

impl Converter for ConvertedObjects {
    fn convert(&self, object: &Object, from: &str, to: &str) -> Option<Object> {
        let mut state = self.0.lock();
        let known = state
            .known
            .iter()
            .find(|(known, _)| known.from == from && known.to == to && known.object == *object);
        if let Some((_, converted)) = known {
            return Some(converted.clone());
        }
        let (object, from, to) = (object.clone(), from.to_owned(), to.to_owned());
        state.wanted = Some(Wanted { object, from, to });
        None
    }
}

impl ConvertedObjects {
    /// The object that the last run of the rules missed.
    pub(in crate::rest) fn wanted(&self) -> Option<Wanted> {
        self.0.lock().wanted.take()
    }

    /// Converts an object, and keeps it.
    ///
    /// # Errors
    ///
    /// The webhook fails.
    pub(in crate::rest) async fn add(
        &self,
        api: &ApiState,
        kind: &ServedResource,
        wanted: Wanted,
    ) -> Result<(), Status> {
        let versions = (wanted.from.as_str(), wanted.to.as_str());
        let converted = between(api, kind, wanted.object.clone(), versions).await?;
        self.0.lock().known.push((wanted, converted));
        Ok(())
    }
}
