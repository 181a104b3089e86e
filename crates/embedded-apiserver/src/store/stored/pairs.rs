//! Short texts by name in one allocation: labels, and the values of selectable fields.

use std::fmt;

/// Pairs of texts, each after its length in four bytes. Empty pairs do not allocate.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Pairs(Box<[u8]>);

const LENGTH: usize = size_of::<u32>();

impl Pairs {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name.as_bytes()).map(|(_, value)| {
            // Only valid UTF-8 is stored.
            std::str::from_utf8(value).unwrap_or_default()
        })
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || Some((take(&mut rest)?, take(&mut rest)?)))
    }
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<LENGTH>()?;
    let (text, after) =
        after.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    *rest = after;
    Some(text)
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut all = Vec::new();
        for (name, value) in pairs {
            for text in [name.as_ref(), value.as_ref()] {
                // Requests are bounded, so texts are smaller than 4 GiB.
                all.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
                all.extend_from_slice(text.as_bytes());
            }
        }
        Self(all.into_boxed_slice())
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text| String::from_utf8_lossy(text).into_owned();
        f.debug_map().entries(self.iter().map(|(name, value)| (shown(name), shown(value)))).finish()
    }
}
