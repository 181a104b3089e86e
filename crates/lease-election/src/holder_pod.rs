//! HolderPod: the Pod that a holder's identity names, and the verdict on the object found there.

/// The Pod that an identity names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HolderPod<'a> {
    pub(crate) name: &'a str,
    uid: &'a str,
}

/// The object under a Pod's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found<'a> {
    Nothing,
    Pod {
        uid: &'a str,
        /// Nothing of it runs.
        has_ended: bool,
    },
}

/// The verdict on the named Pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    /// No evidence: the holder may run.
    Nothing,
    /// This very Pod was found, and nothing of it runs.
    Ended,
    /// This Pod is not there. If it ever was, it has ended: Kubernetes removes a Pod once nothing
    /// of it runs.
    NotHere,
}

impl<'a> HolderPod<'a> {
    /// Any client may have written the identity, and its name goes into a URL. Only an identity
    /// made by [`identity_of`] names a Pod. client-go's `<host name>_<uuid>` does not, although the
    /// host name is its Pod's and the uuid looks like a uid.
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
        // As Kubernetes writes them: uids compare letter by letter.
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let groups = uid.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
        let is_uid = groups && uid.bytes().all(|byte| is_hex(byte) || byte == b'-');
        let is_random = random.len() == 16 && random.bytes().all(is_hex);
        (is_name && is_uid && is_random).then_some(Self { name, uid })
    }

    /// Whether this uid is the named Pod's.
    fn is(&self, uid: &str) -> bool {
        uid == self.uid
    }

    /// Whether this very Pod was found, alive or not.
    pub(crate) fn is_here(&self, found: Found<'_>) -> bool {
        matches!(found, Found::Pod { uid, .. } if self.is(uid))
    }

    /// The verdict on the named Pod.
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

/// An identity of a process in this Pod, unique by `random`.
pub(crate) fn identity_of(pod_name: &str, pod_uid: &str, random: u64) -> String {
    format!("{pod_name}_{pod_uid}_{random:016x}")
}

#[cfg(test)]
mod tests;
