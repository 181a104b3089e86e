//! The words of an expression: names, numbers, texts, signs (the lexer of cel-go's `CEL.g4`).

use std::fmt;

use crate::compile_error::Issue;

/// A word and where it begins, in characters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) word: Word,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    Name(String),
    /// Digits, in what base.
    Int(String, u32),
    Uint(String, u32),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Sign(&'static str),
    End,
}

/// The word in an error.
impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) | Self::Int(text, _) => f.write_str(text),
            Self::Uint(digits, _) => write!(f, "{digits}u"),
            Self::Double(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(_) => f.write_str("bytes"),
            Self::Sign(sign) => f.write_str(sign),
            Self::End => f.write_str("<EOF>"),
        }
    }
}

/// Longer ones first.
const SIGNS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%", "<", ">", "=",
];

/// All words, the last one the end.
///
/// # Errors
///
/// Says what is no word.
pub(super) fn read(source: &str) -> Result<Vec<Token>, Issue> {
    let mut reader = Reader { chars: source.chars().collect(), at: 0 };
    let mut tokens = Vec::new();
    while let Some(token) = reader.next()? {
        tokens.push(token);
    }
    tokens.push(Token { at: reader.chars.len(), word: Word::End });
    Ok(tokens)
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.peek(0).filter(|c| wanted(*c)) {
            taken.push(c);
            self.at += 1;
        }
        taken
    }

    fn unknown(&self, at: usize) -> Issue {
        let text: String =
            self.chars.get(at..=self.at.min(self.chars.len() - 1)).into_iter().flatten().collect();
        Issue::new(at, format!("Syntax error: token recognition error at: '{text}'"))
    }

    fn next(&mut self) -> Result<Option<Token>, Issue> {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{c}'));
            if self.peek(0) != Some('/') || self.peek(1) != Some('/') {
                break;
            }
            self.take_while(|c| c != '\n');
        }
        let at = self.at;
        let Some(first) = self.peek(0) else { return Ok(None) };
        let digit_follows = self.peek(1).is_some_and(|c| c.is_ascii_digit());
        let word = if let Some((prefix, raw, bytes)) = self.quoted() {
            self.at += prefix;
            let quoted = self.text(raw, bytes, at)?;
            if bytes { Word::Bytes(quoted) } else { Word::Text(into_text(quoted, at)?) }
        } else if first.is_ascii_digit() || (first == '.' && digit_follows) {
            self.number(at)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            Word::Name(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_'))
        } else {
            let found = SIGNS
                .into_iter()
                .find(|sign| sign.chars().enumerate().all(|(n, c)| self.peek(n) == Some(c)));
            let Some(sign) = found.filter(|sign| *sign != "=") else {
                // The error names both characters of a sign that should have two.
                self.at += usize::from(matches!(first, '=' | '|' | '&'));
                return Err(self.unknown(at));
            };
            self.at += sign.len();
            Word::Sign(sign)
        };
        Ok(Some(Token { at, word }))
    }

    /// Whether a text begins here: how long its prefix is, whether it is raw, whether it is of
    /// bytes.
    fn quoted(&self) -> Option<(usize, bool, bool)> {
        let quote = |ahead| matches!(self.peek(ahead), Some('"' | '\''));
        match (self.peek(0)?, self.peek(1)) {
            _ if quote(0) => Some((0, false, false)),
            ('r' | 'R', _) if quote(1) => Some((1, true, false)),
            ('b' | 'B', _) if quote(1) => Some((1, false, true)),
            ('b' | 'B', Some('r' | 'R')) if quote(2) => Some((2, true, true)),
            _ => None,
        }
    }

    fn text(&mut self, raw: bool, bytes: bool, at: usize) -> Result<Vec<u8>, Issue> {
        let Some(quote) = self.peek(0) else { return Err(self.unknown(at)) };
        let triple = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        let length = if triple { 3 } else { 1 };
        self.at += length;
        let mut out = Vec::new();
        loop {
            let Some(c) = self.peek(0) else { return Err(self.unknown(at)) };
            if (0..length).all(|n| self.peek(n) == Some(quote)) {
                self.at += length;
                return Ok(out);
            }
            if !triple && matches!(c, '\n' | '\r') {
                return Err(self.unknown(at));
            }
            self.at += 1;
            if c != '\\' || raw {
                push(&mut out, c);
                continue;
            }
            self.escape(bytes, at, &mut out)?;
        }
    }

    fn escape(&mut self, bytes: bool, at: usize, out: &mut Vec<u8>) -> Result<(), Issue> {
        let Some(c) = self.peek(0) else { return Err(self.unknown(at)) };
        self.at += 1;
        let (digits, base) = match c {
            'x' | 'X' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='3' => {
                self.at -= 1;
                (3, 8)
            }
            _ => {
                let plain = match c {
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\u{b}',
                    '\\' | '\'' | '"' | '`' | '?' => c,
                    _ => return Err(self.unknown(at)),
                };
                push(out, plain);
                return Ok(());
            }
        };
        if bytes && matches!(c, 'u' | 'U') {
            return Err(Issue::new(at, "unable to unescape string"));
        }
        let mut value = 0;
        for _ in 0..digits {
            let digit = self.peek(0).and_then(|c| c.to_digit(base));
            let Some(digit) = digit else { return Err(self.unknown(at)) };
            value = value * base + digit;
            self.at += 1;
        }
        match char::from_u32(value) {
            // In bytes, what is written as a number of a byte is that byte.
            _ if bytes && matches!(c, 'x' | 'X' | '0'..='3') => {
                out.push(u8::try_from(value).unwrap_or(0))
            }
            Some(c) => push(out, c),
            None => return Err(Issue::new(at, "invalid unicode code point")),
        }
        Ok(())
    }

    fn number(&mut self, at: usize) -> Result<Word, Issue> {
        let unsigned = |reader: &mut Self, digits: String, base| {
            if matches!(reader.peek(0), Some('u' | 'U')) {
                reader.at += 1;
                Word::Uint(digits, base)
            } else {
                Word::Int(digits, base)
            }
        };
        if self.peek(0) == Some('0') && self.peek(1) == Some('x') {
            self.at += 2;
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            return Ok(unsigned(self, digits, 16));
        }
        let whole = self.take_while(|c| c.is_ascii_digit());
        let mut text = whole.clone();
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            text = format!("{whole}.{}", self.take_while(|c| c.is_ascii_digit()));
        }
        let signed = usize::from(matches!(self.peek(1), Some('+' | '-')));
        if matches!(self.peek(0), Some('e' | 'E'))
            && self.peek(1 + signed).is_some_and(|c| c.is_ascii_digit())
        {
            text.push('e');
            self.at += 1;
            if signed == 1 {
                text.extend(self.peek(0));
                self.at += 1;
            }
            text.push_str(&self.take_while(|c| c.is_ascii_digit()));
        }
        if text == whole {
            return Ok(unsigned(self, whole, 10));
        }
        text.parse().map(Word::Double).map_err(|_| Issue::new(at, "invalid double literal"))
    }
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn into_text(bytes: Vec<u8>, at: usize) -> Result<String, Issue> {
    String::from_utf8(bytes).map_err(|_| Issue::new(at, "Syntax error: invalid string literal"))
}
