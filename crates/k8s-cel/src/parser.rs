//! Reads expressions (the grammar and the macros of cel-go's parser).

use std::collections::VecDeque;

use crate::ast::{Expr, ExprKind, Literal};
use crate::compile_error::Issue;
use crate::macros;
use crate::names;
use crate::operators;
use crate::tokens::{self, Token, Word};

/// What an expression begins with.
const EXPRESSION: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, \
                          BYTES, IDENTIFIER}";
/// How many characters an expression has (`expressionSizeCodePointLimit` of cel-go's parser).
const MAX_SIZE: usize = 100_000;
/// How deep expressions nest. cel-go takes 250 levels, for which a thread's stack of 2 MiB is too
/// small here. A deeper expression is unsupported.
pub(super) const MAX_DEPTH: usize = 64;
/// The error of an expression that nests deeper.
pub(super) const TOO_DEEP: &str = "expression recursion limit exceeded";

/// What cel-go reads and this parser does not: a definition with it is answered as not implemented.
pub(super) const MISSING: [&str; 2] = [OPTIONAL_ELEMENTS, LEADING_DOT];
const OPTIONAL_ELEMENTS: &str = "optional elements of lists and maps";
const LEADING_DOT: &str = "names that begin with a dot";

/// Reads a whole expression. Returns it with the number of its nodes.
///
/// # Errors
///
/// Says what of it cannot be read.
pub(super) fn parse(source: &str) -> Result<(Expr, usize), Issue> {
    let size = source.chars().count();
    if size > MAX_SIZE {
        let why =
            format!("expression code point size exceeds limit: size: {size}, limit {MAX_SIZE}");
        return Err(Issue::new(0, why));
    }
    let mut parser = Parser { tokens: tokens::read(source)?, next: 0, nodes: 0, depth: 0 };
    let expr = parser.expression()?;
    match parser.word() {
        Word::End => Ok((expr, parser.nodes)),
        _ => Err(parser.unexpected("<EOF>")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    nodes: usize,
    depth: usize,
}

impl Parser {
    fn token(&self) -> &Token {
        const END: &Token = &Token { at: 0, word: Word::End };
        self.tokens.get(self.next).or_else(|| self.tokens.last()).unwrap_or(END)
    }

    fn word(&self) -> &Word {
        &self.token().word
    }

    fn at(&self) -> usize {
        self.token().at
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.word(), Word::Sign(found) if *found == sign)
    }

    fn accept(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Issue> {
        if self.accept(sign) {
            return Ok(());
        }
        // At the end nothing else can be meant.
        if *self.word() == Word::End {
            return Err(Issue::new(
                self.at(),
                format!("Syntax error: missing '{sign}' at '<EOF>'"),
            ));
        }
        Err(self.unexpected(&format!("'{sign}'")))
    }

    fn unexpected(&self, wanted: &str) -> Issue {
        Issue::new(
            self.at(),
            format!("Syntax error: mismatched input '{}' expecting {wanted}", self.word()),
        )
    }

    fn node(&mut self, at: usize, kind: ExprKind) -> Expr {
        self.nodes += 1;
        Expr { id: self.nodes - 1, at, kind }
    }

    fn call(&mut self, at: usize, function: &str, args: Vec<Expr>) -> Expr {
        self.node(at, ExprKind::Call { function: function.to_owned(), is_method: false, args })
    }

    /// One level deeper: what nests without end would overflow the stack.
    fn deeper(&mut self) -> Result<(), Issue> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Issue::new(self.at(), TOO_DEEP));
        }
        Ok(())
    }

    fn expression(&mut self) -> Result<Expr, Issue> {
        self.deeper()?;
        let begun = self.depth;
        let condition = self.binary(1)?;
        let at = self.at();
        let whole = if self.accept("?") {
            let then = self.binary(1)?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            self.call(at, "_?_:_", vec![condition, then, otherwise])
        } else {
            condition
        };
        self.depth = begun - 1;
        Ok(whole)
    }

    fn operator(&self) -> Option<(u8, &'static str)> {
        let found = match self.word() {
            Word::Sign(sign) => *sign,
            Word::Name(name) if name == "in" => "in",
            _ => return None,
        };
        operators::binary(found)
    }

    fn binary(&mut self, least: u8) -> Result<Expr, Issue> {
        let mut left = self.unary()?;
        let begun = self.depth;
        while let Some((level, name)) = self.operator().filter(|(level, _)| *level >= least) {
            if matches!(name, "_||_" | "_&&_") {
                left = self.logic(left, level, name)?;
                continue;
            }
            // Every operator puts what is before it one level down.
            self.deeper()?;
            let at = self.at();
            self.next += 1;
            let right = self.binary(level + 1)?;
            left = self.call(at, name, vec![left, right]);
        }
        self.depth = begun;
        Ok(left)
    }

    /// All that one operator joins, as a tree that is as flat as can be, as cel-go makes it.
    fn logic(&mut self, first: Expr, level: u8, name: &str) -> Result<Expr, Issue> {
        let mut terms = VecDeque::from([(first.at, first)]);
        while self.operator().is_some_and(|(_, found)| found == name) {
            let at = self.at();
            self.next += 1;
            terms.push_back((at, self.binary(level + 1)?));
        }
        let count = terms.len();
        Ok(self.joined(&mut terms, count, name))
    }

    /// A tree of `count` terms; each has the place of the operator before it.
    fn joined(&mut self, terms: &mut VecDeque<(usize, Expr)>, count: usize, name: &str) -> Expr {
        if count <= 1 {
            let nothing = ExprKind::Literal(Literal::Null);
            return terms.pop_front().map_or_else(|| self.node(0, nothing), |(_, term)| term);
        }
        let left = self.joined(terms, count.div_ceil(2), name);
        let at = terms.front().map_or(0, |(at, _)| *at);
        let right = self.joined(terms, count / 2, name);
        self.call(at, name, vec![left, right])
    }

    fn unary(&mut self) -> Result<Expr, Issue> {
        let at = self.at();
        let negative_number = self.is("-")
            && matches!(
                self.tokens.get(self.next + 1).map(|token| &token.word),
                Some(Word::Int(..) | Word::Double(_))
            );
        if negative_number {
            return self.member();
        }
        for (sign, name) in [("!", "!_"), ("-", "-_")] {
            let mut count = 0_usize;
            while self.accept(sign) {
                count += 1;
            }
            if count > 0 {
                self.deeper()?;
                let operand = self.member()?;
                self.depth -= 1;
                // Two of a kind undo each other.
                return Ok(if count.is_multiple_of(2) {
                    operand
                } else {
                    self.call(at, name, vec![operand])
                });
            }
        }
        self.member()
    }

    fn member(&mut self) -> Result<Expr, Issue> {
        let mut of = self.primary()?;
        let begun = self.depth;
        loop {
            let at = self.at();
            if self.accept(".") {
                self.deeper()?;
                let optional = self.accept("?");
                let name = self.selected()?;
                self.next += 1;
                let call = self.at();
                of = if !optional && self.accept("(") {
                    let args = self.arguments(")")?;
                    self.method(call, of, name, args)?
                } else {
                    self.node(at, ExprKind::Select { of: Box::new(of), member: name, optional })
                };
            } else if self.accept("[") {
                self.deeper()?;
                let name = if self.accept("?") { "_[?_]" } else { "_[_]" };
                let index = self.expression()?;
                self.expect("]")?;
                of = self.call(at, name, vec![of, index]);
            } else {
                self.depth = begun;
                return Ok(of);
            }
        }
    }

    /// The name of a member, which is no word of the grammar.
    fn selected(&self) -> Result<String, Issue> {
        let no_way = |found: &str| {
            Issue::new(
                self.at(),
                format!("Syntax error: no viable alternative at input '.{found}'"),
            )
        };
        match self.word() {
            Word::Name(name) if matches!(name.as_str(), "true" | "false" | "null") => {
                Err(self.unexpected("IDENTIFIER"))
            }
            Word::Name(name) if name == "in" => Err(no_way("in")),
            Word::Name(name) => Ok(name.clone()),
            Word::End => Err(no_way("")),
            _ => Err(self.unexpected("IDENTIFIER")),
        }
    }

    /// Expressions up to a closing sign, which is taken.
    fn arguments(&mut self, closing: &str) -> Result<Vec<Expr>, Issue> {
        let mut args = Vec::new();
        if self.accept(closing) {
            return Ok(args);
        }
        loop {
            if closing == "]" && self.is("?") {
                return Err(Issue::new(self.at(), OPTIONAL_ELEMENTS));
            }
            args.push(self.expression()?);
            if !self.accept(",") {
                // Only a list may end in a comma.
                if closing == "]" && *self.word() == Word::End {
                    return Err(self.unexpected("{']', ','}"));
                }
                self.expect(closing)?;
                return Ok(args);
            }
            if closing == "]" && self.accept(closing) {
                return Ok(args);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, Issue> {
        let at = self.at();
        let negative = self.accept("-");
        let word = self.word().clone();
        self.next += 1;
        let literal = match word {
            Word::Int(digits, base) => {
                let signed = if negative { format!("-{digits}") } else { digits };
                let number = i64::from_str_radix(&signed, base);
                Literal::Int(number.map_err(|_| Issue::new(at, "invalid int literal"))?)
            }
            Word::Uint(digits, base) => {
                let number = u64::from_str_radix(&digits, base);
                Literal::Uint(number.map_err(|_| Issue::new(at, "invalid uint literal"))?)
            }
            Word::Double(number) if number.is_infinite() => {
                return Err(Issue::new(at, "invalid double literal"));
            }
            Word::Double(number) => Literal::Double(if negative { -number } else { number }),
            Word::Text(text) => Literal::Text(text),
            Word::Bytes(bytes) => Literal::Bytes(bytes),
            Word::Name(name) if matches!(name.as_str(), "true" | "false") => {
                Literal::Bool(name == "true")
            }
            Word::Name(name) if name == "null" => Literal::Null,
            Word::Name(name) => return self.name(at, name),
            Word::Sign("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Word::Sign("[") => {
                let items = self.arguments("]")?;
                return Ok(self.node(at, ExprKind::List(items)));
            }
            Word::Sign("{") => return self.map(at),
            Word::Sign(".") if matches!(self.word(), Word::Name(_)) => {
                return Err(Issue::new(at, LEADING_DOT));
            }
            _ => {
                self.next -= 1;
                return Err(self.unexpected(EXPRESSION));
            }
        };
        Ok(self.node(at, ExprKind::Literal(literal)))
    }

    fn map(&mut self, at: usize) -> Result<Expr, Issue> {
        let mut entries = Vec::new();
        while !self.accept("}") {
            if self.is("?") {
                return Err(Issue::new(self.at(), OPTIONAL_ELEMENTS));
            }
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, self.expression()?));
            if !self.accept(",") {
                if *self.word() == Word::End {
                    return Err(self.unexpected("{'}', ','}"));
                }
                self.expect("}")?;
                break;
            }
        }
        Ok(self.node(at, ExprKind::Map(entries)))
    }

    fn name(&mut self, at: usize, name: String) -> Result<Expr, Issue> {
        if names::is_reserved(&name) {
            return Err(Issue::new(at, format!("reserved identifier: {name}")));
        }
        let call = self.at();
        if !self.accept("(") {
            return Ok(self.node(at, ExprKind::Name(name)));
        }
        let mut args = self.arguments(")")?;
        if name == "has"
            && args.len() == 1
            && let Some(arg) = args.pop()
        {
            let has = macros::has(arg)?;
            return Ok(self.node(call, has));
        }
        Ok(self.node(call, ExprKind::Call { function: name, is_method: false, args }))
    }

    /// `of.name(args)`: a macro, or a method.
    fn method(
        &mut self,
        at: usize,
        of: Expr,
        name: String,
        mut args: Vec<Expr>,
    ) -> Result<Expr, Issue> {
        let kind = match macros::comprehension(&name, args.len()) {
            Some(kind) => macros::fold(kind, at, of, args)?,
            None => {
                args.insert(0, of);
                ExprKind::Call { function: name, is_method: true, args }
            }
        };
        Ok(self.node(at, kind))
    }
}
