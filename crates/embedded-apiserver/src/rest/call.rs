//! A request for objects, once it is known for which, and by whom: what every write takes.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;

use crate::admission::Writer;
use crate::identity::User;
use crate::kind::Kind;
use crate::query::Query;
use crate::rest::ownership::Author;
use crate::route::Target;
use crate::server::Core;

#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) core: &'a Core,
    pub(super) user: &'a User,
    pub(super) target: &'a Target,
    pub(super) query: &'a Query,
    pub(super) request: &'a Request<Bytes>,
}

impl<'a> Call<'a> {
    pub(super) fn kind(&self) -> &'a Arc<Kind> {
        &self.target.kind
    }

    /// The name in the path; empty in that of a collection.
    pub(super) fn name(&self) -> &'a str {
        self.target.name.as_deref().unwrap_or_default()
    }

    /// In whose name it is recorded.
    pub(super) fn author(&self) -> Author {
        Author::of(self.query, self.request, self.target.subresource.as_deref())
    }

    /// What hooks and rules for access are told.
    pub(super) fn writer(&self, dry_run: bool) -> Writer<'a> {
        let Target { namespace, subresource, .. } = self.target;
        Writer {
            user: self.user,
            kind: self.kind(),
            namespace: namespace.as_deref(),
            name: self.name(),
            subresource: subresource.as_deref(),
            dry_run,
        }
    }
}
