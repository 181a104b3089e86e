//! A request for objects: its target, its user and its options.

use std::sync::Arc;

use api_front::User;
use bytes::Bytes;
use http::Request;

use crate::access::{Attributes, CreateRight};
use crate::api::query::Query;
use crate::rest::admission_chain::Writer;
use crate::rest::ownership::Author;
use crate::rest::route::Target;
use crate::rest::state::ApiState;
use crate::strategy::resource::ServedResource;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) api: &'a ApiState,
    pub(crate) user: &'a User,
    pub(crate) target: &'a Target,
    pub(crate) query: &'a Query,
    pub(crate) request: &'a Request<Bytes>,
    /// Whether the caller can wait for a webhook.
    pub(crate) can_wait: bool,
}

impl<'a> Call<'a> {
    pub(super) fn kind(&self) -> &'a Arc<ServedResource> {
        &self.target.kind
    }

    /// The name in the path. Empty for a collection.
    pub(super) fn name(&self) -> &'a str {
        self.target.name.as_deref().unwrap_or_default()
    }

    /// The field manager of the write.
    pub(super) fn author(&self) -> Author {
        Author::of(self.query, self.request, self.target.subresource.as_deref())
    }

    /// The right to create on update or apply.
    pub(super) fn create_right(&self) -> CreateRight<'a> {
        let Target { kind, namespace, subresource, .. } = self.target;
        let asked = Attributes::Resource {
            verb: "create".into(),
            group: kind.group().into(),
            resource: kind.plural().into(),
            subresource: subresource.as_deref().unwrap_or_default().into(),
            namespace: namespace.as_deref().unwrap_or_default().into(),
            name: self.name().into(),
        };
        CreateRight::of(&self.api.access, self.user, asked)
    }

    /// The write, for hooks and authorizers.
    pub(super) fn writer(&self, dry_run: bool) -> Writer<'a> {
        let Target { namespace, subresource, .. } = self.target;
        Writer {
            user: self.user,
            kind: self.kind(),
            namespace: namespace.as_deref(),
            name: self.name(),
            subresource: subresource.as_deref(),
            dry_run,
            query: self.query,
            deletion: None,
            can_wait: self.can_wait,
            view: None,
        }
    }
}
