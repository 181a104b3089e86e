//! Formats of times and durations.

pub(super) fn is_date(text: &str) -> bool {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(at, b)| match at {
            4 | 7 => b == b'-',
            _ => b.is_ascii_digit(),
        });
    shape && text.parse::<jiff::civil::Date>().is_ok()
}

pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time).is_some()
}

/// `hh:mm:ss`, perhaps a fraction after any one character, and a zone.
fn is_time(text: &str) -> Option<()> {
    fn two(text: &str, most: &str) -> Option<()> {
        (text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()) && text <= most).then_some(())
    }
    two(text.get(0..2)?, "23")?;
    two(text.get(3..5)?, "59")?;
    two(text.get(6..8)?, "59")?;
    (text.get(2..3)? == ":" && text.get(5..6)? == ":").then_some(())?;
    let rest = text.get(8..)?;
    let zone = match rest.strip_suffix('z') {
        Some(fraction) => fraction,
        None => {
            let (fraction, zone) = rest.split_at_checked(rest.len().checked_sub(6)?)?;
            let zone = zone.strip_prefix(['+', '-'])?;
            two(zone.get(0..2)?, "99")?;
            two(zone.get(3..5)?, "99")?;
            (zone.get(2..3)? == ":").then_some(())?;
            fraction
        }
    };
    let mut fraction = zone.chars();
    let is_fraction = match fraction.next() {
        None => true,
        Some('\n') => false,
        Some(_) => !fraction.as_str().is_empty() && fraction.all(|c| c.is_ascii_digit()),
    };
    is_fraction.then_some(())
}

/// Go's `time.ParseDuration`, or words as `3 days`.
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_worded_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        if !digits.bytes().any(|b| b.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return false;
        }
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        if !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            return false;
        }
        rest = after;
    }
    true
}

fn is_worded_duration(text: &str) -> bool {
    const UNITS: [(&[&str], &str); 8] = [
        (&["ns"], "nano"),
        (&["us", "µs"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    let known = |word: &str| {
        let word = word.to_lowercase();
        UNITS
            .iter()
            .any(|(whole, beginning)| whole.contains(&word.as_str()) || word.starts_with(beginning))
    };
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest =
            rest.get(start..).unwrap_or_default().trim_start_matches(|c: char| c.is_ascii_digit());
        let word = rest.trim_start_matches([' ', '\t', '\n', '\u{c}', '\r']);
        let end = word.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(word.len());
        if known(word.get(..end).unwrap_or_default()) {
            return true;
        }
    }
    false
}
