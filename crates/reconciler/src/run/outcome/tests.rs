//! The policy as a table.

use super::*;

const MS: Duration = Duration::from_millis(1);

fn policy(max_attempts: u32) -> Policy {
    Policy {
        max_attempts: (max_attempts > 0).then_some(max_attempts),
        min_requeue: 10 * MS,
        failing_interval: 1000 * MS,
        ignores_own_writes: false,
    }
}

#[test]
fn the_table() {
    let done = |action| Ended::Done(action);
    let failed = Ended::Failed;
    #[rustfmt::skip]
    let table = [
        // how it ended                             attempt  max  what the queue is told
        (done(Action::await_change()),                    0,  0,  Verdict::Rest),
        (done(Action::await_change()),                    9,  3,  Verdict::Rest),
        (done(Action::requeue(Duration::ZERO)),           0,  0,  Verdict::Requeue(10 * MS)),
        (done(Action::requeue(9 * MS)),                   0,  0,  Verdict::Requeue(10 * MS)),
        (done(Action::requeue(11 * MS)),                  0,  0,  Verdict::Requeue(11 * MS)),
        (done(Action::requeue(Duration::MAX)),            5,  3,  Verdict::Requeue(Duration::MAX)),
        (failed(Then::Retry),                             0,  0,  Verdict::Retry),
        (failed(Then::Retry),                      u32::MAX,  0,  Verdict::Retry),
        (failed(Then::Retry),                             0,  3,  Verdict::Retry),
        (failed(Then::Retry),                             1,  3,  Verdict::Retry),
        (failed(Then::Retry),                             2,  3,  Verdict::Park(Parked::Exhausted)),
        (failed(Then::Retry),                             7,  3,  Verdict::Park(Parked::Exhausted)),
        (failed(Then::Retry),                      u32::MAX,  3,  Verdict::Park(Parked::Exhausted)),
        (failed(Then::Retry),                             0,  1,  Verdict::Park(Parked::Exhausted)),
        (failed(Then::Conflict),                          1,  3,  Verdict::Retry),
        (failed(Then::Conflict),                          2,  3,  Verdict::Park(Parked::Exhausted)),
        (failed(Then::RetryAfter(Duration::ZERO)),        0,  3,  Verdict::RetryAfter(10 * MS)),
        (failed(Then::RetryAfter(40 * MS)),               1,  3,  Verdict::RetryAfter(40 * MS)),
        (failed(Then::RetryAfter(40 * MS)),               2,  3,  Verdict::Park(Parked::Exhausted)),
        (failed(Then::GiveUp),                            0,  0,  Verdict::Park(Parked::Terminal)),
        (failed(Then::GiveUp),                            2,  3,  Verdict::Park(Parked::Terminal)),
        (Ended::Panicked,                                 0,  0,  Verdict::Retry),
        (Ended::Panicked,                                 2,  3,  Verdict::Park(Parked::Exhausted)),
        (Ended::TimedOut,                                 0,  0,  Verdict::Retry),
        (Ended::TimedOut,                                 2,  3,  Verdict::Park(Parked::Exhausted)),
    ];
    for (ended, attempt, max, expected) in table {
        assert_eq!(
            decide(ended, attempt, &policy(max)),
            expected,
            "{ended:?}, attempt {attempt}, at most {max}"
        );
    }
}
