//! Versions of a definition that a webhook converts: where it is, and what the versions look like.

use std::sync::Arc;

use k8s_schema::{Validator, prune, prune_nulls, set_defaults};
use serde_json::Value;

use crate::api::kind::api_version;
use crate::api::metadata::Object;
use crate::strategy::crd::members::{list, text, without_metadata};
use crate::webhook::{CallError, Endpoint};

/// The conversion webhook of a definition.
#[derive(Debug)]
#[doc(alias = "webhookConverter")]
pub(crate) struct Conversion {
    pub(crate) endpoint: Result<Endpoint, CallError>,
    /// The version of the review. `None` if the definition accepts none that there is.
    pub(crate) review: Option<&'static str>,
    /// By number. `None`: the definition does not have the version any more.
    versions: Vec<(String, Option<Arc<Validator>>)>,
}

impl Conversion {
    /// The webhook of a definition's spec. `None` if the strategy is another.
    pub(super) fn read(
        spec: &Value,
        versions: Vec<(String, Option<Arc<Validator>>)>,
    ) -> Option<Self> {
        let conversion = spec.get("conversion")?;
        if text(conversion, "strategy") != "Webhook" {
            return None;
        }
        let webhook = conversion.get("webhook").unwrap_or(&Value::Null);
        let endpoint = Endpoint::read(webhook.get("clientConfig").unwrap_or(&Value::Null));
        let accepted = list(webhook, "conversionReviewVersions");
        let known = |version: &Value| ["v1", "v1beta1"].into_iter().find(|known| version == known);
        let review = accepted.iter().find_map(known);
        let group = text(spec, "group");
        let versions = versions.into_iter();
        let versions = versions.map(|(name, schema)| (api_version(group, &name), schema)).collect();
        Some(Self { endpoint, review, versions })
    }

    /// The apiVersion with a number.
    ///
    /// # Errors
    ///
    /// The definition does not have it any more.
    pub(crate) fn api_version(&self, number: u16) -> Result<&str, String> {
        match self.versions.get(usize::from(number)) {
            Some((version, Some(_))) => Ok(version),
            gone => {
                let version = gone.map_or("", |(version, _)| version);
                let why = "request to convert CR from an invalid group/version";
                Err(format!("{why}: {version}"))
            }
        }
    }

    /// The number of an apiVersion that the definition has.
    pub(crate) fn number(&self, version: &str) -> Option<u16> {
        let is_it = |(name, schema): &(String, _)| name == version && Option::is_some(schema);
        self.versions.iter().position(is_it).and_then(|at| u16::try_from(at).ok())
    }

    /// Removes what the schema of a version does not have.
    pub(crate) fn prune(&self, object: &mut Object, number: u16) {
        let Some((_, Some(schema))) = self.versions.get(usize::from(number)) else { return };
        without_metadata(object, |object| {
            prune(object, schema.schema(), 0);
            prune_nulls(object, Some(schema.schema()));
        });
    }

    /// Brings a stored object to the form of the version that it was written in.
    pub(crate) fn decode(&self, object: &mut Object, number: u16) {
        self.prune(object, number);
        let Some((_, Some(schema))) = self.versions.get(usize::from(number)) else { return };
        without_metadata(object, |object| set_defaults(object, schema.schema()));
    }
}
