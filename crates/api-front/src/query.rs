//! The parameters of a query, decoded as Go's `url.ParseQuery` does it.

use std::borrow::Cow;

/// The pairs of a query, decoded. Pairs that `url.ParseQuery` refuses are left out.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let sound = query.split('&').filter(|pair| !pair.contains(';') && !is_malformed(pair));
    sound.flat_map(|pair| form_urlencoded::parse(pair.as_bytes()))
}

/// Whether a percent sign is not followed by two hexadecimal digits.
fn is_malformed(pair: &str) -> bool {
    pair.split('%').skip(1).any(|rest| {
        !rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}
