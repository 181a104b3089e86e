//! Durations as kubectl shows them.

/// As `HumanDuration` in k8s.io/apimachinery (pkg/util/duration/duration.go): two units at most,
/// fewer the longer it is.
pub(crate) fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let two = |first: i64, unit: char, rest: i64, smaller: char| match rest {
        0 => format!("{first}{unit}"),
        rest => format!("{first}{unit}{rest}{smaller}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        _ if minutes < 3 * 60 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 8 * 24 => two(hours / 24, 'd', hours % 24, 'h'),
        _ if hours < 2 * 365 * 24 => format!("{}d", hours / 24),
        _ if hours < 8 * 365 * 24 => two(hours / 24 / 365, 'y', hours / 24 % 365, 'd'),
        _ => format!("{}y", hours / 24 / 365),
    }
}
