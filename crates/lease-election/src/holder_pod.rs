//! HolderPod: the Pod that a holder's identity names, and what that which is found under its name
//! says of it. Pure.

/// The Pod that an identity names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HolderPod<'a> {
    pub(crate) name: &'a str,
    uid: &'a str,
}

/// What there is under the name of a Pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found<'a> {
    Nothing,
    Pod {
        uid: &'a str,
        /// Nothing of it runs.
        has_ended: bool,
    },
}

/// What that says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    /// Nothing: the holder may run.
    Nothing,
    /// The Pod that was meant is the one that was found, and nothing of it runs.
    Ended,
    /// It is not there. It has ended, if it ever was there: Kubernetes lets a Pod go when nothing
    /// of it runs.
    NotHere,
}

impl<'a> HolderPod<'a> {
    /// Anybody may have written the identity, and the name goes into a URL. Only what
    /// [`identity_of`] makes names a Pod: client-go's `<host name>_<uuid>` does not, although
    /// the host is named as its Pod and a uuid is what a uid looks like.
    pub(crate) fn of(identity: &'a str) -> Option<Self> {
        let mut parts = identity.split('_');
        let (Some(name), Some(uid), Some(random), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        let is_name = (1..=253).contains(&name.len())
            && name.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte)
            })
            && !name.starts_with('.')
            && !name.contains("..");
        // As Kubernetes writes them: a Pod is known by its uid, letter by letter.
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let groups = uid.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
        let is_uid = groups && uid.bytes().all(|byte| is_hex(byte) || byte == b'-');
        let is_random = random.len() == 16 && random.bytes().all(is_hex);
        (is_name && is_uid && is_random).then_some(Self { name, uid })
    }

    /// Whether the Pod of this uid is the one meant, and not another of its name.
    fn is(&self, uid: &str) -> bool {
        uid == self.uid
    }

    /// Whether the Pod itself was found, alive or not.
    pub(crate) fn is_here(&self, found: Found<'_>) -> bool {
        matches!(found, Found::Pod { uid, .. } if self.is(uid))
    }

    /// What is found under its name says this of it.
    pub(crate) fn judge(&self, found: Found<'_>) -> Word {
        match found {
            Found::Pod { has_ended, .. } if self.is_here(found) => {
                if has_ended {
                    Word::Ended
                } else {
                    Word::Nothing
                }
            }
            Found::Pod { .. } | Found::Nothing => Word::NotHere,
        }
    }
}

/// The identity of a process in this Pod: no two have the same.
pub(crate) fn identity_of(pod_name: &str, pod_uid: &str, random: u64) -> String {
    format!("{pod_name}_{pod_uid}_{random:016x}")
}

#[cfg(test)]
mod tests;
