//! JSON for people: the same text with line breaks, the members in the order they had.

/// Two spaces a level, as Go's `json.Indent`, with a line break at the end.
pub(crate) fn indented(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len().saturating_mul(2));
    let mut depth = 0_usize;
    let (mut quoted, mut escaped) = (false, false);
    let mut bytes = json.iter().copied().filter(|byte| *byte != b'\n').peekable();
    while let Some(byte) = bytes.next() {
        if quoted {
            out.push(byte);
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => {
                quoted = true;
                out.push(byte);
            }
            b'{' | b'[' => {
                out.push(byte);
                match bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth = depth.saturating_add(1);
                        line(&mut out, depth);
                    }
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
    }
    out.push(b'\n');
    out
}

fn line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', depth.saturating_mul(2)));
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn texts_stay_and_the_rest_gets_lines() {
        let json = br#"{"a":{"b":"x:{\"y\",}\\","c":[1,{"d":null}]},"e":[],"f":{}}"#;
        let text = String::from_utf8(indented(json)).unwrap();
        let expected = "{\n  \"a\": {\n    \"b\": \"x:{\\\"y\\\",}\\\\\",\n    \"c\": [\n      1,\n      {\n        \"d\": null\n      }\n    ]\n  },\n  \"e\": [],\n  \"f\": {}\n}\n";
        assert_eq!(text, expected);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            serde_json::from_slice::<serde_json::Value>(json).unwrap()
        );
    }
}
