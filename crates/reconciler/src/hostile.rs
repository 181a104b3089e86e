//! Untrusted text and values of user code: made safe for a log line, and dropped without harm.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Longest text taken into a log line or an error, in bytes.
const LONGEST: usize = 256;

/// Cuts at a character's edge, replaces control characters (and with them terminal escapes).
pub(crate) fn loggable(text: &str) -> String {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (shown, rest) = text.split_at(end);
    let mut out: String = shown.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if !rest.is_empty() {
        out.push('…');
    }
    out
}

/// A key of user code as its `Debug` shows it, which may panic.
pub(crate) fn shown(key: &impl fmt::Debug) -> String {
    let text = catch_unwind(AssertUnwindSafe(|| format!("{key:?}")));
    text.map_or_else(|_| "(its Debug panicked)".to_owned(), |text| loggable(&text))
}

/// Calls user code under a read. `None` if it panics.
#[cfg(feature = "admin")]
pub(crate) fn unless_panics<T>(read: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).map_err(std::mem::forget).ok()
}

/// The text of an error of user code, whose `Display` may panic.
pub(crate) fn said(error: &(impl fmt::Display + ?Sized)) -> String {
    let text = catch_unwind(AssertUnwindSafe(|| error.to_string()));
    text.map_or_else(|_| "(its Display panicked)".to_owned(), |text| loggable(&text))
}

/// Drops the value, and logs a panic in its destructor.
pub(crate) fn let_go<T>(held: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(held))) {
        tracing::error!("a destructor panicked");
        std::mem::forget(panic); // It may be of the same kind.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_length_do_not_reach_the_log() {
        assert_eq!(loggable("a\n\x1b[31mb"), "a  [31mb");
        let long = loggable(&"é".repeat(1000));
        assert_eq!(long.chars().count(), 129);
        assert!(long.ends_with('…'));
    }
}
