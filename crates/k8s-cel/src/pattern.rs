//! `Pattern`: a regular expression in the syntax of Go's `regexp`, which is nearly that of the
//! crate `regex`.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// A regular expression in the syntax of Go's `regexp`. It is compiled when it is first used.
#[derive(Debug)]
pub struct Pattern {
    text: String,
    compiled: OnceLock<Result<Regex, String>>,
}

/// The most memory of one compiled pattern: the definition may be hostile.
const MAX_COMPILED: usize = 1 << 20;
/// Go refuses to repeat something more often.
const MAX_REPEAT: u32 = 1000;

impl Pattern {
    /// Keeps a pattern.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: OnceLock::new() }
    }

    /// Returns the pattern as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether some part of a text matches.
    ///
    /// # Errors
    ///
    /// Says why the pattern cannot be compiled.
    pub fn matches(&self, text: &str) -> Result<bool, &str> {
        self.compiled().map(|regex| regex.is_match(text))
    }

    /// Returns the parts of a text that match, at most `most` of them.
    ///
    /// # Errors
    ///
    /// Says why the pattern cannot be compiled.
    pub fn find_all(&self, text: &str, most: usize) -> Result<Vec<String>, &str> {
        let regex = self.compiled()?;
        Ok(regex.find_iter(text).take(most).map(|found| found.as_str().to_owned()).collect())
    }

    fn compiled(&self) -> Result<&Regex, &str> {
        let compiled = self.compiled.get_or_init(|| {
            RegexBuilder::new(&translated(&self.text))
                .size_limit(MAX_COMPILED)
                .build()
                .map_err(|_| "error parsing regexp: expression too large".to_owned())
        });
        compiled.as_ref().map_err(String::as_str)
    }

    /// Returns why Go would not compile a pattern, in Go's words where these are known. The pattern
    /// is only parsed.
    pub fn problem(text: &str) -> Option<String> {
        use regex_syntax::ast::ErrorKind as Kind;
        let mut parser = regex_syntax::ast::parse::Parser::new();
        let ast = match parser.parse(&translated(text)) {
            Ok(ast) => ast,
            Err(error) => {
                let at = |span: &regex_syntax::ast::Span| {
                    error
                        .pattern()
                        .get(span.start.offset..span.end.offset)
                        .unwrap_or_default()
                        .to_owned()
                };
                let rest = || error.pattern().get(error.span().start.offset..).unwrap_or_default();
                let why = match error.kind() {
                    Kind::GroupUnclosed => format!("missing closing ): `{text}`"),
                    Kind::GroupUnopened => format!("unexpected ): `{text}`"),
                    Kind::ClassUnclosed => format!("missing closing ]: `{}`", rest()),
                    Kind::RepetitionMissing => {
                        format!("missing argument to repetition operator: `{}`", at(error.span()))
                    }
                    Kind::EscapeUnexpectedEof => {
                        "trailing backslash at end of expression: ``".to_owned()
                    }
                    Kind::EscapeUnrecognized | Kind::UnsupportedBackreference => {
                        format!("invalid escape sequence: `{}`", at(error.span()))
                    }
                    Kind::UnsupportedLookAround => {
                        format!("invalid or unsupported Perl syntax: `{}`", at(error.span()))
                    }
                    Kind::ClassRangeInvalid => {
                        format!("invalid character class range: `{}`", at(error.span()))
                    }
                    Kind::NestLimitExceeded(_) => "expression nests too deeply".to_owned(),
                    other => format!("{other}: `{}`", at(error.span())),
                };
                return Some(format!("error parsing regexp: {why}"));
            }
        };
        if let Some(repeat) = too_many(&ast) {
            return Some(format!("error parsing regexp: invalid repeat count: `{repeat}`"));
        }
        let hir =
            regex_syntax::hir::translate::Translator::new().translate(&translated(text), &ast);
        hir.err().map(|error| format!("error parsing regexp: {}: `{text}`", error.kind()))
    }
}

fn too_many(ast: &regex_syntax::ast::Ast) -> Option<String> {
    use regex_syntax::ast::{Ast, RepetitionKind, RepetitionRange, Visitor};
    struct Repeats(Option<String>);
    impl Visitor for Repeats {
        type Output = Option<String>;
        type Err = std::convert::Infallible;
        fn finish(self) -> Result<Self::Output, Self::Err> {
            Ok(self.0)
        }
        fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
            if let Ast::Repetition(repetition) = ast
                && let RepetitionKind::Range(range) = &repetition.op.kind
            {
                let (most, text) = match range {
                    RepetitionRange::Exactly(n) => (*n, format!("{{{n}}}")),
                    RepetitionRange::AtLeast(n) => (*n, format!("{{{n},}}")),
                    RepetitionRange::Bounded(from, to) => (*to, format!("{{{from},{to}}}")),
                };
                if most > MAX_REPEAT {
                    self.0.get_or_insert(text);
                }
            }
            Ok(())
        }
    }
    match regex_syntax::ast::visit(ast, Repeats(None)) {
        Ok(found) => found,
        Err(never) => match never {},
    }
}

/// The same pattern for the crate `regex`: Go's Perl classes are ASCII, its bracket expressions
/// know no nesting and no operations, and it has `\Q...\E`.
fn translated(go: &str) -> String {
    let mut out = String::with_capacity(go.len());
    let mut chars = go.chars().peekable();
    let mut in_class = false;
    let mut class_start = false;
    while let Some(c) = chars.next() {
        let first = std::mem::take(&mut class_start);
        match c {
            '\\' => match chars.next() {
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[0-9A-Za-z_]"),
                Some('W') => out.push_str("[^0-9A-Za-z_]"),
                Some('s') => out.push_str("[\\t\\n\\f\\r ]"),
                Some('S') => out.push_str("[^\\t\\n\\f\\r ]"),
                Some(boundary @ ('b' | 'B')) if !in_class => {
                    out.push_str("(?-u:\\");
                    out.push(boundary);
                    out.push(')');
                }
                Some('Q') => {
                    let mut literal = String::new();
                    for c in chars.by_ref() {
                        literal.push(c);
                        if literal.ends_with("\\E") {
                            literal.truncate(literal.len() - 2);
                            break;
                        }
                    }
                    out.push_str(&regex::escape(&literal));
                }
                Some(c) => {
                    out.push('\\');
                    out.push(c);
                }
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                class_start = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
            }
            // POSIX: `[[:alpha:]]`.
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' | '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            ']' if first => out.push_str("\\]"),
            ']' => {
                in_class = false;
                out.push(']');
            }
            c => out.push(c),
        }
    }
    out
}
