//! Schedules of CronJobs, and what is wrong with them, in the words of github.com/robfig/cron/v3.

use k8s_value::go_value::quoted;

use crate::api::query::duration::is_duration;
use crate::strategy::builtin::cron_job::time_zone;

/// The values of a field.
struct Bounds {
    least: i64,
    most: i64,
    /// Names of the values from `least` on.
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Minute, hour, day of the month, month, day of the week.
const FIELDS: [Bounds; 5] = [
    Bounds { least: 0, most: 59, names: &[] },
    Bounds { least: 0, most: 23, names: &[] },
    Bounds { least: 1, most: 31, names: &[] },
    Bounds { least: 1, most: 12, names: &MONTHS },
    Bounds { least: 0, most: 6, names: &DAYS },
];

const DESCRIPTORS: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Checks a schedule that is not empty.
///
/// # Errors
///
/// Says what is wrong with it.
#[doc(alias("ParseStandard", "ParseCronScheduleWithPanicRecovery"))]
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let zoned = schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ="));
    let rest = match zoned.map(|zoned| zoned.split_once(' ')) {
        None => schedule,
        // Go panics here.
        Some(None) => {
            let why = "invalid schedule format: runtime error: slice bounds out of range [:-1]";
            return Err(why.to_owned());
        }
        Some(Some((zone, rest))) => {
            time_zone::find(zone).map_err(|why| format!("provided bad location {zone}: {why}"))?;
            rest.trim()
        }
    };
    if rest.starts_with('@') {
        return check_descriptor(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let (count, fields) = (fields.len(), fields.join(" "));
        return Err(format!("expected exactly 5 fields, found {count}: [{fields}]"));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        let ranges = field.split(',').filter(|range| !range.is_empty());
        for range in ranges {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

fn check_descriptor(descriptor: &str) -> Result<(), String> {
    match descriptor.strip_prefix("@every ") {
        Some(every) if is_duration(every) => Ok(()),
        Some(every) => {
            let why = format!("time: invalid duration {}", quoted(every));
            Err(format!("failed to parse duration {descriptor}: {why}"))
        }
        None if DESCRIPTORS.contains(&descriptor) => Ok(()),
        None => Err(format!("unrecognized descriptor: {descriptor}")),
    }
}

/// `*`, a number, or two with a hyphen; each may have a step after a slash.
fn check_range(range: &str, bounds: &Bounds) -> Result<(), String> {
    let parts: Vec<&str> = range.split('/').collect();
    let (ends, step) = match parts.as_slice() {
        [ends, step @ ..] => (ends.split('-').collect::<Vec<_>>(), step),
        [] => return Ok(()),
    };
    let (first, mut last) = match ends.as_slice() {
        ["*" | "?", ..] => (bounds.least, bounds.most),
        [one] => (number(one, bounds.names)?, number(one, bounds.names)?),
        [first, last] => (number(first, bounds.names)?, number(last, bounds.names)?),
        [first, ..] => {
            number(first, bounds.names)?;
            return Err(format!("too many hyphens: {range}"));
        }
        [] => return Ok(()),
    };
    let step = match step {
        [] => 1,
        [step] => {
            let step = number(step, &[])?;
            if ends.len() == 1 {
                last = bounds.most;
            }
            step
        }
        _ => return Err(format!("too many slashes: {range}")),
    };
    let Bounds { least, most, .. } = *bounds;
    match () {
        () if first < least => {
            Err(format!("beginning of range ({first}) below minimum ({least}): {range}"))
        }
        () if last > most => Err(format!("end of range ({last}) above maximum ({most}): {range}")),
        () if first > last => {
            Err(format!("beginning of range ({first}) beyond end of range ({last}): {range}"))
        }
        () if step == 0 => Err(format!("step of range should be a positive number: {range}")),
        () => Ok(()),
    }
}

/// The value of a number or a name.
fn number(text: &str, names: &[&str]) -> Result<i64, String> {
    let least = if names.len() == MONTHS.len() { 1 } else { 0 };
    let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
    if let Some(named) = named.and_then(|named| i64::try_from(named).ok()) {
        return Ok(named.saturating_add(least));
    }
    let number = text.parse::<i64>().map_err(|_| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let why = if is_number { "value out of range" } else { "invalid syntax" };
        format!("failed to parse int from {text}: strconv.Atoi: parsing {}: {why}", quoted(text))
    })?;
    if number < 0 {
        return Err(format!("negative number ({number}) not allowed: {text}"));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules_are_those_of_cron() {
        for fine in [
            "* * * * *",
            "0 0 1 jan sun",
            "*/5,30-40/2 0-23 ? * MON-fri",
            "@hourly",
            "@every 1h30m",
            "TZ=UTC @daily",
            "CRON_TZ=Europe/Berlin 5 4 * * 6",
            ", * * * *",
        ] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for (wrong, why) in [
            (" ", "expected exactly 5 fields, found 0: []"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            (
                "x * * * *",
                "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax",
            ),
            ("@often", "unrecognized descriptor: @often"),
            ("TZ=Moon * * * * *", "provided bad location Moon: unknown time zone Moon"),
            ("TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
        ] {
            assert_eq!(check(wrong), Err(why.to_owned()), "{wrong}");
        }
    }
}
