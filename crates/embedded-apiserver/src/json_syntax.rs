//! What Go's `encoding/json` says of a text that is no JSON, and of JSON that is something else
//! than was expected. Pure.

#[cfg(test)]
mod tests;

use serde_json::Value;

use k8s_value::go_value::json_type;

/// As deep as Go reads.
const MAX_DEPTH: usize = 10_000;
/// As deep as `serde_json` reads.
pub(crate) const READABLE_DEPTH: usize = 127;

const END: &str = "unexpected end of JSON input";

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    /// A comma, or the end of the object.
    AfterPair,
    /// A comma, or the end of the array.
    AfterElement,
    Nothing,
}

/// What is wrong with a text, if anything; the words are those of `scanner.go`.
pub(crate) fn problem(json: &[u8]) -> Option<String> {
    let mut scanner = Scanner { rest: json, open: Vec::new(), ended: false };
    scanner.run().err()
}

/// Whether an object or a list is nested deeper than it can be read here, though not deeper than
/// the real server reads.
pub(crate) fn is_too_deep(json: &[u8]) -> bool {
    let opens = |byte: &&u8| matches!(byte, b'{' | b'[');
    if !json.trim_ascii_start().first().is_some_and(|byte| opens(&byte))
        || json.iter().filter(opens).count() <= READABLE_DEPTH
    {
        return false;
    }
    (READABLE_DEPTH + 1..=MAX_DEPTH).contains(&depth(json))
}

/// How many objects and lists are within each other.
pub(crate) fn depth(json: &[u8]) -> usize {
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

/// JSON without the blanks between its parts.
pub(crate) fn compact(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let mut text = InText::default();
    out.extend(json.iter().filter(|byte| text.step(**byte) || !byte.is_ascii_whitespace()));
    out
}

/// The bytes that are no part of a string.
fn beside_strings(json: &[u8]) -> impl Iterator<Item = u8> {
    let mut text = InText::default();
    json.iter().copied().filter(move |byte| !text.step(*byte))
}

/// Whether a scan is within a string.
#[derive(Debug, Default)]
struct InText {
    inside: bool,
    escaped: bool,
}

impl InText {
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

struct Scanner<'a> {
    rest: &'a [u8],
    /// What is begun and not ended: whether each is an object.
    open: Vec<bool>,
    /// The text has ended within a value.
    ended: bool,
}

impl Scanner<'_> {
    fn run(&mut self) -> Result<(), String> {
        let mut next = Next::Value;
        loop {
            while self.rest.first().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
            {
                self.take();
            }
            let Some(byte) = self.take() else {
                return if next == Next::Nothing { Ok(()) } else { Err(END.to_owned()) };
            };
            next = self.step(next, byte)?;
        }
    }

    fn take(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn step(&mut self, next: Next, byte: u8) -> Result<Next, String> {
        use Next::{AfterElement, AfterPair, Colon, Key, KeyOrEnd, Nothing, ValueOrEnd};
        match (next, byte) {
            (Next::Value | ValueOrEnd, b'{' | b'[') => self.begin(byte),
            (ValueOrEnd | AfterElement, b']') | (KeyOrEnd | AfterPair, b'}') => {
                self.open.pop();
                Ok(self.after_value())
            }
            (Next::Value | ValueOrEnd, _) => {
                self.scalar(byte)?;
                Ok(self.after_value())
            }
            (Key | KeyOrEnd, b'"') => self.string().map(|()| Colon),
            (Colon, b':') | (AfterElement, b',') => Ok(Next::Value),
            (AfterPair, b',') => Ok(Key),
            (Key | KeyOrEnd, _) => Err(invalid(byte, "looking for beginning of object key string")),
            (Colon, _) => Err(invalid(byte, "after object key")),
            (AfterPair, _) => Err(invalid(byte, "after object key:value pair")),
            (AfterElement, _) => Err(invalid(byte, "after array element")),
            (Nothing, _) => Err(invalid(byte, "after top-level value")),
        }
    }

    fn begin(&mut self, byte: u8) -> Result<Next, String> {
        if self.open.len() >= MAX_DEPTH {
            return Err(invalid(byte, "exceeded max depth"));
        }
        let object = byte == b'{';
        self.open.push(object);
        Ok(if object { Next::KeyOrEnd } else { Next::ValueOrEnd })
    }

    fn after_value(&self) -> Next {
        match self.open.last() {
            Some(true) => Next::AfterPair,
            Some(false) => Next::AfterElement,
            None => Next::Nothing,
        }
    }

    fn scalar(&mut self, first: u8) -> Result<(), String> {
        match first {
            b'"' => self.string(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' => match self.need()? {
                digit @ b'0'..=b'9' => self.number(digit),
                other => Err(invalid(other, "in numeric literal")),
            },
            b'0'..=b'9' => self.number(first),
            other => Err(invalid(other, "looking for beginning of value")),
        }
    }

    /// The next byte of something that has not ended. As Go's, behind the end of the text stands a
    /// space: what cannot have one is refused for it.
    fn need(&mut self) -> Result<u8, String> {
        match self.take() {
            Some(byte) => Ok(byte),
            None if self.ended => Err(END.to_owned()),
            None => {
                self.ended = true;
                Ok(b' ')
            }
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes().skip(1) {
            let byte = self.need()?;
            if byte != expected {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(invalid(byte, &context));
            }
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), String> {
        loop {
            match self.need()? {
                b'"' => return Ok(()),
                b'\\' => match self.need()? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let digit = self.need()?;
                            if !digit.is_ascii_hexdigit() {
                                return Err(invalid(digit, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    other => return Err(invalid(other, "in string escape code")),
                },
                control @ 0..0x20 => return Err(invalid(control, "in string literal")),
                _ => {}
            }
        }
    }

    fn digits(&mut self) {
        while self.rest.first().is_some_and(u8::is_ascii_digit) {
            self.take();
        }
    }

    fn number(&mut self, first: u8) -> Result<(), String> {
        if first != b'0' {
            self.digits();
        }
        if self.rest.first() == Some(&b'.') {
            self.take();
            self.digit("after decimal point in numeric literal")?;
        }
        if matches!(self.rest.first(), Some(b'e' | b'E')) {
            self.take();
            if matches!(self.rest.first(), Some(b'+' | b'-')) {
                self.take();
            }
            self.digit("in exponent of numeric literal")?;
        }
        Ok(())
    }

    /// One digit at least.
    fn digit(&mut self, context: &str) -> Result<(), String> {
        let byte = self.need()?;
        if !byte.is_ascii_digit() {
            return Err(invalid(byte, context));
        }
        self.digits();
        Ok(())
    }
}

fn invalid(byte: u8, context: &str) -> String {
    let shown = match byte {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        b'\\' => "\\\\".to_owned(),
        7 => "\\a".to_owned(),
        8 => "\\b".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\n' => "\\n".to_owned(),
        11 => "\\v".to_owned(),
        12 => "\\f".to_owned(),
        b'\r' => "\\r".to_owned(),
        0..0x20 | 0x7f => format!("\\x{byte:02x}"),
        0x80..0xa0 | 0xad => format!("\\u{byte:04x}"),
        _ => char::from(byte).to_string(),
    };
    format!("invalid character '{shown}' {context}")
}

/// A value that is not what Go wanted: `json: cannot unmarshal array into Go value of type int`.
pub(crate) fn mismatch(value: &Value, into: &str) -> String {
    let what = json_type(value);
    format!("json: cannot unmarshal {what} into Go {into}")
}

/// The members that say what an object is, as Go's serializer reads them first:
/// `json.SimpleMetaFactory.Interpret`.
///
/// # Errors
///
/// Says what stands in their place.
pub(crate) fn interpret(value: &Value) -> Result<(), String> {
    let into = match value {
        Value::Object(members) => {
            let wrong = ["apiVersion", "kind"].into_iter().find_map(|name| {
                let value =
                    members.get(name).filter(|value| !value.is_string() && !value.is_null())?;
                Some(mismatch(value, &format!("struct field .{name} of type string")))
            });
            match wrong {
                Some(wrong) => wrong,
                None => return Ok(()),
            }
        }
        Value::Null => return Ok(()),
        other => {
            let members = r#"APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"""#;
            mismatch(other, &format!("value of type struct {{ {members} }}"))
        }
    };
    Err(format!("couldn't get version/kind; json parse error: {into}"))
}

/// A body that cannot be read as anything: why, in Go's words.
pub(crate) fn unreadable(json: &[u8], error: &serde_json::Error) -> String {
    match problem(json) {
        Some(why) => format!("couldn't get version/kind; json parse error: {why}"),
        None => error.to_string(),
    }
}

/// What of a body is shown in a refusal: `summarizeData` of k8s.io/apiserver.
pub(crate) fn summary(body: &[u8]) -> String {
    const MOST: usize = 30;
    let shown = body.get(..MOST).unwrap_or(body);
    let text = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => shown.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    if body.len() > MOST { text + " ..." } else { text }
}
