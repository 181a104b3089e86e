//! Random histories of failing keys, beside a list of all that happened.

use tokio::time::Instant;

use super::*;
use crate::ChangeKind;
use crate::failure::Then;
use crate::oracle::play;
use crate::queue::reasons::SourceNumber;
use crate::run::outcome::{Ended, Policy, Verdict, decide};

const MS: Duration = Duration::from_millis(1);

/// The words of the design: what an event may do after the last run of its key.
fn expected(
    last: Option<(Instant, bool)>,
    is_weak: bool,
    now: Instant,
    interval: Duration,
) -> Admission {
    match last {
        Some((_, true)) if is_weak => Admission::Leave,
        Some((ended, true)) if now < ended + interval => {
            Admission::Postpone(ended + interval - now)
        }
        _ => Admission::Run,
    }
}

#[tokio::test(start_paused = true)]
async fn admissions_and_verdicts_follow_the_last_run_of_each_key() {
    let start = Instant::now();
    play(|rng| {
        let policy = Policy {
            max_attempts: Some(rng.u32(0..4)).filter(|most| *most > 0),
            min_requeue: MS * rng.u32(0..20),
            failing_interval: MS * rng.u32(0..1500),
            ignores_own_writes: false,
        };
        let (keys, mut now) = (FailingKeys::new(), start);
        // Of each run its key, its end, and whether its key is failing since.
        let mut runs: Vec<(u8, Instant, bool)> = Vec::new();
        for _ in 0..20 {
            now += MS * rng.u32(0..700);
            let key = rng.u8(0..3);
            let of_key = || runs.iter().rev().filter(|run| run.0 == key);
            let last = of_key().next().map(|run| (run.1, run.2));
            let source = SourceNumber::new(rng.usize(0..3));
            let (reasons, is_weak) = match rng.u8(0..5) {
                0 => (Reasons::status(source), true),
                1 => (Reasons::change(source, ChangeKind::Changed), false),
                2 => (Reasons::added(), false),
                3 => (Reasons::resynced(), true),
                _ => (Reasons::retried(), false),
            };
            let admission = admit(keys.since(&key), reasons, now, policy.failing_interval);
            let due = if reasons.are_events() {
                expected(last, is_weak, now, policy.failing_interval)
            } else {
                Admission::Run
            };
            assert_eq!(admission, due, "{reasons:?} after {last:?}");
            if admission != Admission::Run {
                continue;
            }
            let attempt = u32::try_from(of_key().take_while(|run| run.2).count()).unwrap();
            let (ended, is_failure) = match rng.u8(0..6) {
                0 => (Ended::Done(crate::Action::await_change()), false),
                1 => (Ended::Done(crate::Action::requeue(MS * rng.u32(0..40))), false),
                2 => (Ended::Failed(Then::RetryAfter(MS * rng.u32(0..40))), true),
                3 => (Ended::Failed(Then::GiveUp), true),
                4 => (Ended::Panicked, true),
                _ => (Ended::Failed(Then::Retry), true),
            };
            let is_over = policy.max_attempts.is_some_and(|most| attempt + 1 >= most);
            let verdict = decide(ended, attempt, &policy);
            let is_parked = matches!(verdict, Verdict::Park(_));
            let gives_up = ended == Ended::Failed(Then::GiveUp);
            assert_eq!(
                is_parked,
                is_failure && (is_over || gives_up),
                "{ended:?}, attempt {attempt}"
            );
            match verdict {
                Verdict::Requeue(after) | Verdict::RetryAfter(after) => {
                    assert!(after >= policy.min_requeue, "{verdict:?}");
                }
                Verdict::Rest | Verdict::Retry | Verdict::Park(_) => {}
            }
            let is_failing = is_failure && !is_parked;
            if is_failing {
                keys.failed(key, now, Box::default())
            } else {
                keys.recovered(&key)
            }
            runs.push((key, now, is_failing));
        }
    });
}
