//! `CompileError`: why an expression does not compile.

use std::fmt;

/// One thing that is wrong in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    /// Where, in characters.
    pub(crate) at: usize,
    pub(crate) why: String,
}

impl Issue {
    pub(crate) fn new(at: usize, why: impl Into<String>) -> Self {
        Self { at, why: why.into() }
    }

    /// In cel-go's words, with the line that it is in.
    fn shown(&self, source: &str) -> String {
        let before: Vec<char> = source.chars().take(self.at).collect();
        let line = before.iter().filter(|c| **c == '\n').count();
        let column = before.iter().rev().take_while(|c| **c != '\n').count();
        let text = source.split('\n').nth(line).unwrap_or_default();
        let dots = ".".repeat(column);
        format!("ERROR: <input>:{}:{}: {}\n | {text}\n | {dots}^", line + 1, column + 1, self.why)
    }
}

/// Why an expression does not compile: all that is wrong with it, in cel-go's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileError(String);

impl CompileError {
    pub(crate) fn new(source: &str, issues: &[Issue]) -> Self {
        let issues: Vec<String> = issues.iter().map(|issue| issue.shown(source)).collect();
        Self(issues.join("\n"))
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CompileError {}
