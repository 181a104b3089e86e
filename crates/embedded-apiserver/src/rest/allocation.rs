//! Allocation of cluster IPs and node ports to Services.

use crate::api::metadata::Object;
use crate::api::status::Status;
use crate::rest::state::ApiState;
use crate::store::transaction::Transaction;
use crate::strategy::resource::ServedResource;

/// Allocates the values that must be unique within a kind, if the object needs some.
pub(super) fn allocate(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    name: &str,
    (object, old): (&mut Object, Option<&Object>),
    dry_run: bool,
) -> Result<(), Status> {
    let strategy = kind.strategy();
    if !strategy.needs_allocation(object, old) {
        return Ok(());
    }
    let others = transaction.list(&kind.storage);
    let mut others = others.iter().map(|other| other.object());
    let counts = &mut api.allocated.lock();
    strategy
        .allocate(object, old, &mut others, counts, dry_run)
        .map_err(|causes| Status::invalid(kind, name, &causes))
}
