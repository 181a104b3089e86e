//! JSON as text: how deep it is nested, and its compact form.

/// The most levels of objects and lists that `serde_json` reads.
pub const READABLE_DEPTH: usize = 127;

/// Returns how many levels of objects and lists a text of JSON has.
///
/// ```
/// assert_eq!(k8s_value::json_text::depth(br#"{"a": [{}], "b": "["}"#), 3);
/// ```
pub fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in beside_strings(json) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Returns a text of JSON without the blanks between its tokens.
///
/// ```
/// assert_eq!(k8s_value::json_text::compact(br#"{ "a b": 1 }"#), br#"{"a b":1}"#);
/// ```
pub fn compact(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let mut text = InString::default();
    out.extend(json.iter().filter(|byte| text.step(**byte) || !byte.is_ascii_whitespace()));
    out
}

/// The bytes outside of strings.
fn beside_strings(json: &[u8]) -> impl Iterator<Item = u8> {
    let mut text = InString::default();
    json.iter().copied().filter(move |byte| !text.step(*byte))
}

/// Whether a scan is within a string.
#[derive(Debug, Default)]
struct InString {
    inside: bool,
    escaped: bool,
}

impl InString {
    /// Whether the next byte is part of a string, its quotes included.
    fn step(&mut self, byte: u8) -> bool {
        let was = self.inside;
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.inside => self.escaped = true,
            b'"' => self.inside = !self.inside,
            _ => {}
        }
        was || self.inside
    }
}
