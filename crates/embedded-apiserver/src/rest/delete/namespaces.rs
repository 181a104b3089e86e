//! The first steps of a namespace's delete, which are its own: `REST.Delete` of
//! pkg/registry/core/namespace/storage. When it is marked and its content is gone, the delete is
//! that of any object.

use super::*;

/// What the delete of a namespace does before it is like any other: nothing to be done is `None`.
pub(super) fn first_steps(
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    current: &Arc<Stored>,
    options: &DeleteOptions,
    admission: Option<&AdmissionChain<'_>>,
    now: Timestamp,
) -> Result<Option<Deleted>, Status> {
    let name = current.key.name();
    if let Some(wanted) = &options.preconditions {
        check_preconditions(kind, name, wanted, current)?;
    }
    // The admission plugin NamespaceLifecycle, which the storage asks like any other.
    if matches!(name, "default" | "kube-public" | "kube-system") {
        return Err(Status::forbidden(kind, name, "this namespace may not be deleted"));
    }
    let old = current.object();
    if metadata::is_being_deleted(&old) {
        // Whatever the options say, and nobody is asked.
        return Ok(
            holds_content(kind, &old).then(|| Deleted::Held(Answer::Known(Arc::clone(current))))
        );
    }
    if let Some(chain) = admission {
        chain.validate_deletion(&old)?;
    }
    let mut new = old;
    // It is only marked, even if nothing holds it: the next delete removes it.
    metadata::set(&mut new, "deletionTimestamp", clock::seconds(now));
    let status = new.entry("status").or_insert_with(|| json!({}));
    if let Value::Object(status) = status {
        status.insert("phase".to_owned(), "Terminating".into());
    }
    set_finalizers(&mut new, options);
    let dry_run = options.is_dry_run();
    let revision = if dry_run { current.revision } else { NEXT };
    let stored = Stored::new(kind, current.key.clone(), revision, &mut new, current.managed());
    Ok(Some(Deleted::Held(match dry_run {
        true => Answer::Known(Arc::new(stored)),
        false => Answer::Change(transaction.put(&kind.storage, stored)),
    })))
}

/// As the options want those of the garbage collector. That `orphanDependents: false` means the
/// foreground is so of namespaces alone. Where one comes or goes, the real server leaves the order
/// of all to chance.
fn set_finalizers(namespace: &mut Object, options: &DeleteOptions) {
    let finalizers = metadata::finalizers(namespace);
    let policy = options.propagation_policy.as_deref();
    let wants = |finalizer: &str, of_policy: &str, of_orphans: bool| match (
        options.orphan_dependents,
        policy,
    ) {
        (Some(orphans), _) => orphans == of_orphans,
        (None, Some(policy)) => policy == of_policy,
        (None, None) => finalizers.contains(&finalizer),
    };
    let wanted = [
        ("orphan", wants("orphan", "Orphan", true)),
        ("foregroundDeletion", wants("foregroundDeletion", "Foreground", false)),
    ];
    if wanted.iter().all(|(finalizer, wanted)| finalizers.contains(finalizer) == *wanted) {
        return;
    }
    let mut new: Vec<&str> = Vec::new();
    let kept = finalizers.iter().filter(|finalizer| wanted.iter().all(|(of, _)| of != *finalizer));
    for finalizer in
        kept.copied().chain(wanted.iter().filter(|(_, wanted)| *wanted).map(|(of, _)| *of))
    {
        if !new.contains(&finalizer) {
            new.push(finalizer);
        }
    }
    let new = Value::from(new);
    metadata::set(namespace, "finalizers", new);
    metadata::normalize(namespace);
}

/// In words of its own, which speak of the resource.
fn check_preconditions(
    kind: &ServedResource,
    name: &str,
    wanted: &Preconditions,
    current: &Stored,
) -> Result<(), Status> {
    let revision = current.revision.to_string();
    let pairs = [
        ("UID", &wanted.uid, current.uid()),
        ("ResourceVersion", &wanted.resource_version, revision.as_str()),
    ];
    for (what, wanted, is) in pairs {
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != is) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {is}"
            );
            return Err(Status::conflict(kind, name, &why));
        }
    }
    Ok(())
}
