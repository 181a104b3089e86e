//! Go durations: `1m30s`, `-1.5h`, `0`.

const UNITS: [&str; 8] = ["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"];

/// Whether a text is a duration (`time.ParseDuration`).
pub(crate) fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(rest, "0" | "") {
        return rest == "0";
    }
    while !rest.is_empty() {
        let is_digit = |c: char| c == '.' || c.is_ascii_digit();
        let (number, after) = rest.split_at(rest.find(|c| !is_digit(c)).unwrap_or(rest.len()));
        let (unit, next) = after.split_at(after.find(is_digit).unwrap_or(after.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        // More digits overflow 64 bits of nanoseconds.
        let is_number = whole.len() + fraction.len() > 0 && whole.len() <= 19;
        if !is_number || fraction.contains('.') || !UNITS.contains(&unit) {
            return false;
        }
        rest = next;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_duration;

    #[test]
    fn durations_are_those_of_go() {
        for fine in ["0", "-0", "1s", "1m30s", "-1.5h", "+.5s", "1.s", "10ms", "3\u{b5}s"] {
            assert!(is_duration(fine), "{fine}");
        }
        for wrong in ["bla", "-", ".s", "1.2.3s", "5", "5d", "99999999999999999999s"] {
            assert!(!is_duration(wrong), "{wrong}");
        }
    }
}
