//! Figures: what a test measured, one line each.

use std::io::Write as _;

/// Shown also when the test passes: what `print!` writes would be kept back.
pub(crate) fn figure(text: &str) {
    let mut line = text.to_owned();
    line.push('\n');
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}
