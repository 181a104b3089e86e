//! Compares our limiters with client-go's answers in `tests/data/client-go-limiters.txt`. The
//! command `go run . limits` in `crates/rivals/go` prints that file.

use std::time::Duration;
use wq_ratelimit::{
    ExponentialBackoff, FastSlow, ManualTimer, MaxOf, RateLimiter, Timer, TokenBucket, WithMaxWait,
    controller_default,
};

const RECORDED: &str = include_str!("../data/client-go-limiters.txt");

struct Line {
    name: &'static str,
    numbers: Vec<u64>,
    /// The time of each call and its answer, in nanoseconds.
    calls: Vec<(u64, i64)>,
}

fn lines(name: &str) -> Vec<Line> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (who, calls) = line.split_once(" = ").unwrap();
        let (name, numbers) = who.split_once(' ').unwrap_or((who, ""));
        let calls = calls.split(' ').flat_map(|call| {
            let (call, times) = call.split_once('*').unwrap();
            let (at, delay) = call.split_once(':').unwrap();
            vec![(at.parse().unwrap(), delay.parse().unwrap()); times.parse().unwrap()]
        });
        let numbers = numbers.split_whitespace().map(|number| number.parse().unwrap());
        Line { name, numbers: numbers.collect(), calls: calls.collect() }
    });
    let found: Vec<Line> = lines.filter(|line| line.name == name).collect();
    assert!(!found.is_empty(), "nothing was recorded of {name}");
    found
}

/// Asks our limiter at the same times, and passes both answers to `judge` with the number of the
/// call.
fn beside(line: &Line, mut ours: impl RateLimiter<u8>, mut judge: impl FnMut(u64, u64, i64)) {
    let start = ManualTimer::new().now();
    for (call, (at, theirs)) in (1..).zip(&line.calls) {
        let ours = ours.next_delay(&1, start + Duration::from_nanos(*at)).as_nanos();
        judge(call, u64::try_from(ours).unwrap(), *theirs);
    }
}

fn equal(call: u64, ours: u64, theirs: i64) {
    assert_eq!(i64::try_from(ours), Ok(theirs), "call {call}");
}

const fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// client-go computes in floating point. A negative answer is its overflow at 2^63, where ours is
/// the longest wait. Beyond 2^53 ns (104 days) it has no whole nanoseconds.
#[test]
fn exponential_back_off_is_client_gos_to_the_nanosecond() {
    let mut overflows = 0;
    for line in lines("exponential") {
        let (base, max) = (line.numbers[0], line.numbers[1]);
        let Ok(ours) = ExponentialBackoff::new(nanos(base), nanos(max)) else {
            assert_eq!(
                base, 0,
                "only a base of zero is refused: client-go's 1025th answer to it is negative"
            );
            assert_eq!((line.calls[1023].1, line.calls[1024].1), (0, i64::MIN));
            continue;
        };
        beside(&line, ours, |call, ours, theirs| match u64::try_from(theirs) {
            Ok(theirs) if base < 1 << 53 => {
                assert_eq!(ours, theirs, "call {call} of base {base}");
            }
            Ok(theirs) => {
                assert!(ours.abs_diff(theirs) <= theirs >> 53, "call {call} of base {base}")
            }
            Err(_) => {
                overflows += 1;
                assert_eq!(ours, max, "call {call} of base {base}");
            }
        });
    }
    assert_eq!(overflows, 5, "bases that meet 2^63");
}

#[test]
fn fast_slow_max_of_and_max_wait_are_client_gos() {
    for line in lines("fast-slow") {
        let [fast, slow, attempts] = line.numbers[..] else { panic!("three numbers") };
        let ours =
            FastSlow::new(nanos(fast), nanos(slow), u32::try_from(attempts).unwrap()).unwrap();
        beside(&line, ours, equal);
    }
    let (ms, second) = (Duration::from_millis(1), Duration::from_secs(1));
    let quick = || FastSlow::new(ms * 5, second * 3, 3).unwrap();
    let slow = ExponentialBackoff::new(ms, second).unwrap();
    beside(&lines("max-of")[0], MaxOf::new(quick(), slow), equal);
    beside(&lines("with-max-wait")[0], WithMaxWait::new(quick(), second * 2), equal);
}

/// client-go divides in floating point and truncates: 41 tokens at 10 a second are 4 099 999 999
/// ns. Ours is equal or 1 ns later where an interval is a whole number of nanoseconds. Otherwise
/// each token may be up to 1 ns later, because ours is never faster than asked for.
#[test]
fn a_bucket_is_client_gos_without_its_rounding() {
    let (mut calls, mut equal) = (0, 0);
    for line in lines("bucket") {
        let [tokens, burst] =
            [line.numbers[0], line.numbers[1]].map(|number| u32::try_from(number).unwrap());
        let is_whole = 1_000_000_000 % tokens == 0;
        beside(&line, TokenBucket::per_second(tokens, burst).unwrap(), |call, ours, theirs| {
            let late = i64::try_from(ours).unwrap() - theirs;
            let most = if is_whole { 1 } else { i64::try_from(call).unwrap() + 1 };
            assert!((0..=most).contains(&late), "call {call}, {tokens} a second: {late} ns late");
            (calls, equal) =
                (calls + i32::from(is_whole), equal + i32::from(is_whole && late == 0));
        });
    }
    assert_eq!((calls, equal), (1800, 1692), "of whole intervals");
}

#[test]
fn the_default_pair_is_client_gos() {
    beside(&lines("default-controller")[0], controller_default(), equal);
}
