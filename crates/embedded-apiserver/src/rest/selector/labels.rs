//! Label selectors: the grammar and the errors of `k8s.io/apimachinery/pkg/labels`.

use std::collections::BTreeSet;

use k8s_value::names;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelRequirement {
    pub(super) key: String,
    pub(super) test: LabelTest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LabelTest {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Greater(i64),
    Less(i64),
}

impl LabelRequirement {
    pub(super) fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match &self.test {
            LabelTest::Exists => value.is_some(),
            LabelTest::Absent => value.is_none(),
            LabelTest::In(values) => value.is_some_and(|v| values.contains(v)),
            LabelTest::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
            LabelTest::Greater(bound) => number().is_some_and(|v| v > *bound),
            LabelTest::Less(bound) => number().is_some_and(|v| v < *bound),
        }
    }
}

/// A token of a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    /// A key, a value, `in` or `notin`.
    Text(&'a str),
    Sign(&'a str),
    End,
}

impl<'a> Word<'a> {
    const fn text(self) -> &'a str {
        match self {
            Self::Text(text) | Self::Sign(text) => text,
            Self::End => "",
        }
    }

    /// Whether a requirement may begin with it.
    fn begins(self) -> bool {
        matches!(self, Self::Text(_) | Self::Sign("!"))
    }
}

/// Longer signs before their prefixes.
const SIGNS: [&str; 9] = ["==", "!=", "(", ")", ",", "!", "=", ">", "<"];

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            return words;
        }
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        let length = match sign {
            Some(sign) => sign.len(),
            None => rest
                .find([' ', '\t', '\r', '\n', '=', '!', '(', ')', ',', '>', '<'])
                .unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(length);
        words.push(if sign.is_some() { Word::Sign(word) } else { Word::Text(word) });
        rest = after;
    }
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    at: usize,
}

/// `a=b`, `a==b`, `a!=b`, `a`, `!a`, `a in (b,c)`, `a notin (b,c)`, `a>1`, `a<1`, separated by
/// commas.
pub(super) fn parse(text: &str) -> Result<Vec<LabelRequirement>, String> {
    let mut parser = Parser { words: words(text), at: 0 };
    let mut requirements = Vec::new();
    loop {
        let first = parser.look();
        if first == Word::End {
            return Ok(requirements);
        }
        if !first.begins() {
            return Err(format!(
                "found '{}', expected: !, identifier, or 'end of string'",
                first.text()
            ));
        }
        let requirement =
            parser.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
        requirements.push(requirement);
        match parser.take() {
            Word::End => return Ok(requirements),
            Word::Sign(",") => {
                let next = parser.look();
                if !next.begins() {
                    return Err(format!("found '{}', expected: identifier after ','", next.text()));
                }
            }
            other => {
                return Err(format!("found '{}', expected: ',' or 'end of string'", other.text()));
            }
        }
    }
}

impl<'a> Parser<'a> {
    fn look(&self) -> Word<'a> {
        self.words.get(self.at).copied().unwrap_or(Word::End)
    }

    fn take(&mut self) -> Word<'a> {
        let word = self.look();
        self.at += 1;
        word
    }

    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        let mut word = self.take();
        let denied = word == Word::Sign("!");
        if denied {
            word = self.take();
        }
        let Word::Text(key) = word else {
            return Err(format!("found '{}', expected: identifier", word.text()));
        };
        if let Some(why) = names::wrong_qualified_name(key) {
            // The field path of a selector in a query is nil upstream.
            let why = why.replace("a qualified name", "a valid label key");
            return Err(format!("<nil>: Invalid value: \"{key}\": {why}"));
        }
        let requirement = |test| LabelRequirement { key: key.to_owned(), test };
        if denied {
            // A value after it is reported as an unexpected token.
            return Ok(requirement(LabelTest::Absent));
        }
        if matches!(self.look(), Word::End | Word::Sign(",")) {
            return Ok(requirement(LabelTest::Exists));
        }
        let operator = self.take().text();
        let values = match operator {
            "in" | "notin" => self.values()?,
            "=" | "==" | "!=" | ">" | "<" => BTreeSet::from([self.value()?.to_owned()]),
            other => {
                return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        if matches!(operator, ">" | "<") {
            let value = values.first().map_or("", String::as_str);
            let bound = value.parse().map_err(|_| {
                format!("values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer")
            })?;
            check(key, &values)?;
            return Ok(requirement(if operator == ">" {
                LabelTest::Greater(bound)
            } else {
                LabelTest::Less(bound)
            }));
        }
        check(key, &values)?;
        Ok(requirement(match operator {
            "notin" | "!=" => LabelTest::NotIn(values),
            _ => LabelTest::In(values),
        }))
    }

    fn value(&mut self) -> Result<&'a str, String> {
        match self.look() {
            Word::End | Word::Sign(",") => Ok(""),
            Word::Text(value) => {
                self.at += 1;
                Ok(value)
            }
            Word::Sign(other) => Err(format!("found '{other}', expected: identifier")),
        }
    }

    /// `(a,b)`. A missing value is the empty one.
    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let open = self.take();
        if open != Word::Sign("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = BTreeSet::new();
        match self.look() {
            Word::Text(_) | Word::Sign(",") => {}
            Word::Sign(")") => {
                self.at += 1;
                return Ok(BTreeSet::from([String::new()]));
            }
            other => {
                return Err(format!("found '{}', expected: ',', ')' or identifier", other.text()));
            }
        }
        loop {
            match self.take() {
                Word::Text(value) => {
                    values.insert(value.to_owned());
                    match self.look() {
                        Word::Sign(",") => {}
                        Word::Sign(")") => break,
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                        }
                    }
                }
                Word::Sign(",") => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.look() {
                        Word::Sign(")") => {
                            values.insert(String::new());
                            break;
                        }
                        Word::Sign(",") => {
                            self.at += 1;
                            values.insert(String::new());
                            if self.look() == Word::Sign(")") {
                                break;
                            }
                        }
                        _ => {}
                    }
                }
                other => {
                    return Err(format!("found '{}', expected: ',', or identifier", other.text()));
                }
            }
        }
        self.at += 1;
        Ok(values)
    }
}

fn check(key: &str, values: &BTreeSet<String>) -> Result<(), String> {
    let wrong = values.iter().enumerate().filter_map(|(at, value)| {
        let why = names::wrong_label_value(value)?;
        Some(format!("values[{at}][{key}]: Invalid value: \"{value}\": {why}"))
    });
    let wrong: Vec<_> = wrong.collect();
    match &*wrong {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}
