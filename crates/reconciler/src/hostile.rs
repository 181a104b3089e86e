//! Makes untrusted text safe for a log line: short, and without control characters.

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
