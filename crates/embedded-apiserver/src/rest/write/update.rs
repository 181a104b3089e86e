//! Update and patch: what comes of an object that is there.

use std::collections::BTreeSet;

use super::*;
use crate::stored::Form;

pub(crate) fn replace(call: Call<'_>) -> Result<Written, Status> {
    let Call { query, request, .. } = call;
    let (kind, name) = (call.kind(), call.name());
    check_path_name(name)?;
    media::require_json(request.headers())?;
    let (dry_run, validation) = query.write_options("UpdateOptions", Vec::new())?;
    let read = || {
        let mut decoded = decode::body(kind, request, validation)?;
        decoded.remove_equal_owners("");
        set_namespace(&mut decoded.object, call.target.namespace.as_deref())
            .and_then(|()| check_said_name(&decoded.object, name))
            .map_err(|status| status.warned(&decoded.warnings))?;
        Ok(decoded)
    };
    let mut first = read()?;
    let mut warnings = std::mem::take(&mut first.warnings);
    let mut first = Some(first);
    // A write that begins anew reads its body again.
    let next = || Ok(Edit::Replace(first.take().map_or_else(read, Ok)?));
    let mut written = update(call, next, dry_run).map_err(|status| status.warned(&warnings))?;
    warnings.append(&mut written.warnings);
    Ok(Written { warnings, ..written })
}

pub(crate) fn patch(call: Call<'_>) -> Result<Written, Status> {
    let Call { api, target, query, request, .. } = call;
    let (kind, name) = (call.kind(), call.name());
    check_path_name(name)?;
    let patch_type = media::patch_type(request.headers(), kind.builtin.is_some())?;
    if patch_type == media::PatchType::Apply {
        return apply::apply(call);
    }
    let forbidden = forbidden_force(query).into_iter().collect();
    let (dry_run, validation) = query.write_options("PatchOptions", forbidden)?;
    let patch = Patch::parse(patch_type, request.body(), kind, validation).map_err(|status| {
        // The object is looked for first, and the patch read only then.
        let is_there = api.store.get(&kind.storage, &key_of(target, name)).is_some();
        if is_there || !matches!(status.code(), 400 | 422) {
            status
        } else {
            Status::not_found(kind, name)
        }
    })?;
    let duplicates = duplicates_of(&patch, request.body());
    let next = || Ok(Edit::Patch { patch: &patch, duplicates: &duplicates, validation });
    update(call, next, dry_run)
}

/// What a patch says twice.
pub(in crate::rest) fn duplicates_of(patch: &Patch, body: &[u8]) -> Vec<String> {
    let found = duplicates::find(body, Shape::Any);
    match patch {
        Patch::Json(_) => found.into_iter().map(|why| format!("json patch {why}")).collect(),
        Patch::Merge(_) | Patch::Strategic(..) => found,
    }
}

/// Only an apply can be forced.
pub(in crate::rest) fn forbidden_force(query: &Query) -> Option<FieldError> {
    query
        .get("force")
        .map(|_| FieldError::forbidden("force", "may not be specified for non-apply patch"))
}

/// What is to become of an object.
enum Edit<'a> {
    Replace(Decoded),
    Patch { patch: &'a Patch, duplicates: &'a [String], validation: FieldValidation },
}

fn update<'a>(
    call: Call<'_>,
    mut next: impl FnMut() -> Result<Edit<'a>, Status>,
    dry_run: bool,
) -> Result<Written, Status> {
    let Call { api, target, .. } = call;
    let (kind, name, author) = (call.kind(), call.name(), call.author());
    let key = key_of(target, name);
    let now = api.clock.now();
    let admission = AdmissionChain::of(api, call.writer(dry_run));
    let right = call.create_right();
    let written = guaranteed_update(api, |transaction| {
        let edit = next()?;
        let Some(current) = transaction.get(&kind.storage, &key) else {
            let creates = kind.builtin.is_some_and(Builtin::creates_on_update)
                && (target.subresource.is_none() || creates_by_status(kind));
            let Edit::Replace(Decoded { mut object, sent, hidden, .. }) = edit else {
                return Err(Status::not_found(kind, name));
            };
            if !creates {
                return Err(Status::not_found(kind, name));
            }
            let uid = metadata::text(&object, "uid");
            if !uid.is_empty() {
                return Err(other_uid(target, name, (uid, ""), dry_run));
            }
            check_number(&object)?;
            // Only the store does, and a dry run does not get there.
            if !dry_run {
                metadata::of(&mut object).remove("resourceVersion");
            }
            let owners = Owners::Changes(&author, sent);
            let new = New::by_update(target, &admission, &right, now, dry_run).hiding(hidden);
            let answer = insert(api, transaction, &new, object, owners)?;
            return Ok((answer, None, Vec::new()));
        };
        let old = shown(kind, &current);
        let decoded = edited(target, name, edit, &current, &old, dry_run)?;
        let Decoded { object: new, warnings, sent, hidden } = decoded;
        let owned = ManagedFields::parse(current.managed());
        let edited = Edited {
            api,
            kind,
            target,
            name,
            current: &current,
            old: &old,
            owned: &owned,
            now,
            hidden,
            admission: &admission,
        };
        let answer = edited.store(transaction, new, Owners::Changes(&author, sent), dry_run);
        let answer = answer.map_err(|status| status.warned(&warnings))?;
        Ok((answer, Some(old), warnings))
    });
    right.note(&api.access);
    let (written, (answer, old, mut warnings)) = written?;
    let object = answer.resolve(&written)?;
    warnings.extend(warned(kind, &object, old.as_ref()));
    Ok(Written { object, created: old.is_none(), warnings })
}

/// A version that is said must be a number, be there an object or not.
pub(in crate::rest) fn check_number(object: &Object) -> Result<(), Status> {
    let version = metadata::text(object, "resourceVersion");
    parse_version(version).map(drop).map_err(|why| Status::unknown(why.plain()))
}

/// An update of another object than is there, in the words of the real server's store.
pub(in crate::rest) fn other_uid(
    target: &Target,
    name: &str,
    (wanted, found): (&str, &str),
    dry_run: bool,
) -> Status {
    let why = format!("UID in precondition: {wanted}, UID in object meta: {found}");
    unmet(&target.kind, target.namespace.as_deref(), name, &why, dry_run)
}

/// A precondition that the real server's store finds not to hold, in its words.
pub(in crate::rest) fn unmet(
    kind: &ServedResource,
    namespace: Option<&str>,
    name: &str,
    why: &str,
    dry_run: bool,
) -> Status {
    let place = match kind.builtin {
        Some(Builtin::Service) => "services/specs".to_owned(),
        Some(Builtin::Endpoints) => "services/endpoints".to_owned(),
        Some(Builtin::Node) => "minions".to_owned(),
        Some(builtin) if builtin != Builtin::Definition => kind.plural().to_owned(),
        _ => format!("{}/{}", kind.group(), kind.plural()),
    };
    let parts =
        [if dry_run { "" } else { "/registry" }, &place].into_iter().chain(namespace).chain([name]);
    let key = parts.collect::<Vec<_>>().join("/");
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
         failed: {why}"
    );
    Status::conflict(kind, name, &why)
}

/// An update carries the name of the path it goes to.
pub(in crate::rest) fn check_said_name(object: &Object, name: &str) -> Result<(), Status> {
    match metadata::text(object, "name") {
        said if said == name => Ok(()),
        "" => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        said => Err(Status::bad_request(format!(
            "the name of the object ({said}) does not match the name on the URL ({name})"
        ))),
    }
}

/// The new object as the client wants it.
fn edited(
    target: &Target,
    name: &str,
    edit: Edit<'_>,
    current: &Stored,
    old: &Object,
    dry_run: bool,
) -> Result<Decoded, Status> {
    match edit {
        Edit::Replace(decoded) => {
            let uid = metadata::text(&decoded.object, "uid");
            let existing = metadata::text(old, "uid");
            if !uid.is_empty() && uid != existing {
                return Err(other_uid(target, name, (uid, existing), dry_run));
            }
            Ok(decoded)
        }
        Edit::Patch { patch, duplicates, validation } => {
            patched(&target.kind, name, patch, duplicates, validation, current, old)
        }
    }
}

/// What a patch makes of an object, who owns it included.
fn patched(
    kind: &ServedResource,
    name: &str,
    patch: &Patch,
    duplicates: &[String],
    validation: FieldValidation,
    current: &Stored,
    old: &Object,
) -> Result<Decoded, Status> {
    let document = patch.apply(current.to_bytes(kind, Form::Full))?;
    let origin = Origin::of(patch);
    let mut decoded = decode::patched(kind, document, duplicates, validation, origin)?;
    decoded.remove_equal_owners(AFTER_HOOKS);
    let namespace =
        Some(metadata::text(old, "namespace")).filter(|namespace| !namespace.is_empty());
    set_namespace(&mut decoded.object, namespace)?;
    check_said_name(&decoded.object, name)?;
    Ok(decoded)
}

/// An update between its two versions.
pub(in crate::rest) struct Edited<'a> {
    pub(in crate::rest) api: &'a ApiState,
    pub(in crate::rest) kind: &'a ServedResource,
    pub(in crate::rest) target: &'a Target,
    pub(in crate::rest) name: &'a str,
    pub(in crate::rest) current: &'a Arc<Stored>,
    pub(in crate::rest) old: &'a Object,
    /// Whose its fields are.
    pub(in crate::rest) owned: &'a ManagedFields,
    pub(in crate::rest) now: Timestamp,
    pub(in crate::rest) hidden: Hidden,
    pub(in crate::rest) admission: &'a AdmissionChain<'a>,
}

impl Edited<'_> {
    pub(in crate::rest) fn store(
        &self,
        transaction: &mut Transaction<'_>,
        new: Object,
        owners: Owners<'_>,
        dry_run: bool,
    ) -> Result<Answer, Status> {
        let Self { kind, old, current, owned, .. } = *self;
        if let Some(namespace) = &self.target.namespace {
            check_namespace_of_update(self.api, transaction, namespace)?;
        }
        let unmutated = self.admission.mutates().then(|| new.clone());
        let mut new = self.admission.mutate(new, Some(old))?;
        self.check_version(&new)?;
        set_namespace(&mut new, self.target.namespace.as_deref())?;
        if let Some(builtin) = kind.builtin {
            rules::default(builtin, &mut new);
        }
        metadata::normalize(&mut new);
        // Compared as the client wants it, defaults included; what such a write cannot change is
        // left out there. What a hook has changed is nobody's, as on the real server.
        let unmutated = unmutated.map(|object| defaulted(kind, object));
        let wanted = unmutated.as_ref().unwrap_or(&new);
        // What ends at zero is owned, and not stored for longer than until the next write.
        let is_custom = kind.builtin.is_none() && self.target.subresource.is_none();
        let ending = (is_custom && self.hidden.ends_at_zero).then(|| {
            let mut ending = wanted.clone();
            metadata::set(&mut ending, "deletionTimestamp", Value::Null);
            ending
        });
        let wanted = ending.as_ref().unwrap_or(wanted);
        // What says to be something else has no structure to find owners by, and is refused in its
        // own name; of a write to the status, the status is all that is taken.
        let (of, version) = decode::said_types(kind, &new);
        let (of, version) = (of.map(str::to_owned), version.map(str::to_owned));
        let says_other = of.is_some() || version.is_some();
        let managed = if says_other {
            ManagedFields::default()
        } else {
            owners.of(self.api, kind, Some((old, owned)), wanted, self.now)
        };
        self.keep_system_metadata(&mut new);
        self.split_status(&mut new);
        let unlabelled = kind.builtin.is_some_and(|builtin| rules::leaves_unsaid(builtin, &new));
        // A write to the status leaves the metadata of a custom object alone.
        let emptied = self.hidden.emptied && self.target.subresource.is_none();
        let signed = match self.target.subresource.as_deref() {
            None => self.hidden.sign || (self.hidden.sign_in_status && !kind.has_status()),
            Some(_) => self.hidden.sign_in_status,
        };
        let ending = ending.is_some() && !metadata::is_being_deleted(old);
        let unsaid = unlabelled || self.hidden.pruned || emptied || signed || ending;
        if let Some(builtin) = kind.builtin {
            rules::default(builtin, &mut new);
            if self.target.subresource.is_none() {
                rules::prepare_update(builtin, &mut new, old);
                let (api, name) = (self.api, self.name);
                allocate(api, transaction, kind, name, &mut new, Some(old), dry_run)?;
            }
        }
        definitions::prepare_update(kind, &mut new, self.target.subresource.as_deref())?;
        metadata::normalize(&mut new);
        decode::check_own_type(kind, &new, Some(old), self.target.subresource.as_deref())?;
        let mut causes = FieldErrors::default();
        managed.validate(&mut causes);
        check_base(kind, &new, self.target.subresource.as_deref(), &mut causes);
        metadata::check(&new, &mut causes);
        self.check_metadata(&new, &mut causes);
        check(kind, &new, Some(old), self.target.subresource.as_deref(), &mut causes);
        if let Some(builtin) =
            kind.builtin.filter(|_| self.target.subresource.as_deref() == Some("status"))
        {
            rules::check_status(builtin, &new, old, &mut causes);
        }
        if !causes.is_empty() && says_other {
            let said = (of.as_deref(), version.as_deref());
            return Err(Status::invalid_of(kind, said, self.name, &causes));
        }
        if !causes.is_empty() {
            return Err(Status::invalid(kind, self.name, &causes));
        }
        metadata::copy(old, &mut new, "resourceVersion");
        if self.ends_at_zero() {
            metadata::set(&mut new, "deletionTimestamp", Value::Null);
        }
        // A write that moves nothing but times in the managedFields is none. What it leaves unsaid,
        // or what was, is compared with what is read, where it is said.
        let changes = new != *old || self.counts_floats() || unsaid || current.leaves_unsaid();
        let is_released = is_released(kind, &new, old);
        if !changes && managed.equals_but_for_times(owned) && !is_released {
            self.admission.validate(&new, Some(old))?;
            return Ok(Answer::Known(Arc::clone(current)));
        }
        if kind.builtin == Some(Builtin::Claim) && self.target.subresource.is_none() {
            check_resize(transaction, kind, self.name, old, &new)?;
        }
        if self.bumps_generation(&new) {
            metadata::set(&mut new, "generation", metadata::generation(old).saturating_add(1));
        }
        self.admission.validate(&new, Some(old))?;
        if is_released {
            if unlabelled {
                // Nobody reads it again, which would fill them in.
                metadata::of(&mut new).remove("labels");
            }
            let mut last = kind.to_storage(new);
            let managed = managed.encode();
            let answer =
                Stored::new(kind, current.key.clone(), current.revision, &mut last, &managed);
            if !dry_run {
                // As etcd's event: what was there before, at the revision of the removal.
                transaction.remove(&kind.storage, current.at_revision(kind, NEXT));
                delete::gone(self.api, transaction, kind, &current.key, self.now);
            }
            return Ok(Answer::Known(Arc::new(answer)));
        }
        let version = Version { key: current.key.clone(), object: new, managed: &managed, unsaid };
        put(transaction, kind, version, current.revision, dry_run)
    }

    fn check_version(&self, new: &Object) -> Result<(), Status> {
        let (kind, name) = (self.kind, self.name);
        let version = metadata::text(new, "resourceVersion");
        match parse_version(version).map_err(|why| Status::unknown(why.plain()))? {
            0 if kind.builtin.is_some_and(Builtin::updates_unconditionally) => Ok(()),
            0 => Err(Status::version_required(kind, name)),
            seen if seen == self.current.revision => Ok(()),
            _ => Err(Status::conflict(kind, name, STALE)),
        }
    }

    /// What no client can change is put back, as `rest.BeforeUpdate` does.
    fn keep_system_metadata(&self, new: &mut Object) {
        let old = self.old;
        metadata::copy(old, new, "creationTimestamp");
        metadata::copy(old, new, "generation");
        for member in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            let absent = metadata::get(new, member).is_none();
            if absent || (member == "deletionTimestamp" && metadata::is_being_deleted(old)) {
                metadata::copy(old, new, member);
            }
        }
    }

    /// A write to the object leaves its status alone; a write to a subresource, everything else.
    fn split_status(&self, new: &mut Object) {
        let (kind, old) = (self.kind, self.old);
        let keep = |new: &mut Object, member: &str| match old.get(member) {
            Some(value) => drop(new.insert(member.to_owned(), value.clone())),
            None => drop(new.remove(member)),
        };
        match self.target.subresource.as_deref() {
            None => {
                if kind.has_status() {
                    keep(new, "status");
                }
                if kind.builtin == Some(Builtin::Namespace) {
                    // Its finalizers are the only spec, and have a subresource of their own.
                    keep(new, "spec");
                }
            }
            Some(subresource) => {
                let own = if subresource == "finalize" { "spec" } else { "status" };
                let kept: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
                for member in kept {
                    // Built-in kinds take changes of metadata along, custom kinds do not.
                    let open = member == "metadata" && kind.builtin.is_some();
                    if member != own && !open {
                        keep(new, &member);
                    }
                }
                if let Some(builtin) = kind.builtin {
                    rules::prepare_status(builtin, new, old, self.now);
                }
            }
        }
    }

    fn check_metadata(&self, new: &Object, causes: &mut FieldErrors) {
        let old = self.old;
        for member in ["name", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            if metadata::get(new, member) != metadata::get(old, member) {
                let value = metadata::get(new, member).cloned().unwrap_or_else(|| "".into());
                causes.push(FieldError::invalid_json(
                    format!("metadata.{member}"),
                    &value,
                    "field is immutable",
                ));
            }
        }
        if self.ends_at_zero() != metadata::ends_at_zero(old) {
            causes.push(FieldError::invalid_json(
                "metadata.deletionTimestamp",
                &Value::Null,
                "field is immutable",
            ));
        }
        if metadata::is_being_deleted(old) {
            let before: HashSet<_> = metadata::finalizers(old).into_iter().collect();
            let added: BTreeSet<_> =
                metadata::finalizers(new).into_iter().filter(|f| !before.contains(f)).collect();
            if !added.is_empty() {
                let added = added.iter().map(|f| format!("{f:?}")).collect::<Vec<_>>().join(", ");
                let why = format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers \
                     []string{{{added}}}"
                );
                causes.push(FieldError::forbidden("metadata.finalizers", &why));
            }
        }
    }

    /// Whether a built-in object is to have Go's zero time as its deletionTimestamp.
    fn ends_at_zero(&self) -> bool {
        self.hidden.ends_at_zero
            && self.kind.builtin.is_some()
            && !metadata::is_being_deleted(self.old)
    }

    /// Whether whole numbers that are written as floats make another version of what is stored
    /// without.
    const fn counts_floats(&self) -> bool {
        self.hidden.floats && self.target.subresource.is_none()
    }

    fn bumps_generation(&self, new: &Object) -> bool {
        let differs = |member: &str| new.get(member) != self.old.get(member);
        match self.kind.builtin {
            Some(builtin) => {
                let of_status = self.target.subresource.as_deref() == Some("status");
                !of_status && builtin.bumps_generation(new, self.old)
            }
            None => {
                let names = new.keys().chain(self.old.keys());
                self.counts_floats()
                    || names
                        .filter(|name| {
                            *name != "metadata" && !(self.kind.has_status() && *name == "status")
                        })
                        .any(|name| differs(name))
            }
        }
    }
}

/// The table of the storage classes.
static CLASSES: LazyLock<Arc<str>> = LazyLock::new(|| "storage.k8s.io/storageclasses".into());

/// The admission plugin PersistentVolumeClaimResize: a claim grows only where its class says so.
fn check_resize(
    transaction: &mut Transaction<'_>,
    kind: &ServedResource,
    name: &str,
    old: &Object,
    new: &Object,
) -> Result<(), Status> {
    if !storage::grows(old, new) {
        return Ok(());
    }
    let class = rules::at(new, "spec.storageClassName").and_then(Value::as_str).unwrap_or_default();
    let class = transaction.get(&CLASSES, &Key::new("", class));
    if class
        .is_some_and(|class| class.object().get("allowVolumeExpansion") == Some(&Value::Bool(true)))
    {
        return Ok(());
    }
    let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
               support resize";
    Err(Status::forbidden(kind, name, why))
}
