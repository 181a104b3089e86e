//! Durations as Go writes them: `1m30s`, `-1.5h`, `0`. Read to say what is wrong with them.

const UNITS: [&str; 8] = ["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"];

/// Go's own words if it is none (`time.ParseDuration`).
pub(crate) fn check(text: &str) -> Result<(), String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        let dots = digits.bytes().filter(|byte| *byte == b'.').count();
        if dots > 1
            || digits.len() == dots
            || digits.split('.').next().is_some_and(|whole| whole.len() > 19)
        {
            return Err(invalid());
        }
        let unit = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(unit);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        if !UNITS.contains(&unit) {
            return Err(format!("time: unknown unit {unit:?} in duration {text:?}"));
        }
        rest = next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn durations_are_those_of_go() {
        for fine in ["0", "-0", "1s", "1m30s", "-1.5h", "+.5s", "1.s", "10ms", "3\u{b5}s"] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for (wrong, why) in [
            ("bla", "time: invalid duration \"bla\""),
            ("-", "time: invalid duration \"-\""),
            (".s", "time: invalid duration \".s\""),
            ("1.2.3s", "time: invalid duration \"1.2.3s\""),
            ("5", "time: missing unit in duration \"5\""),
            ("5d", "time: unknown unit \"d\" in duration \"5d\""),
            ("99999999999999999999s", "time: invalid duration \"99999999999999999999s\""),
        ] {
            assert_eq!(check(wrong), Err(why.to_owned()), "{wrong}");
        }
    }
}
