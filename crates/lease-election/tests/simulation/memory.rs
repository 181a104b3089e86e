//! Memory: the faults that a link's weather causes in the store in memory, and their names in the
//! matrix.

use std::time::Duration;

use lease_election::{Fault, StoreError, Verb};

use crate::calamity::EXPIRED;
use crate::judge::Dice;

const MS: Duration = Duration::from_millis(1);

/// The answer to a request for a version that this server has not seen yet.
const TOO_LARGE: &str = "status 504: Timeout: Too large resource version";

pub(crate) fn fault(weather: u64, verb: Verb, dice: &mut Dice) -> Fault {
    let slow = |dice: &mut Dice| Fault::Slow {
        before: Duration::from_millis(dice.roll(700)),
        after: Duration::from_millis(dice.roll(700)),
    };
    match weather {
        // Fair: a few milliseconds, sometimes a spurious conflict.
        0 => match dice.roll(40) {
            0 if verb == Verb::Update => Fault::Refused(StoreError::Conflict),
            1 if verb == Verb::Event => Fault::Refused(StoreError::unknown("cut")),
            _ => Fault::Slow { before: dice.roll(4) as u32 * MS, after: dice.roll(4) as u32 * MS },
        },
        // Foul: any fault.
        1 => match (verb, dice.roll(10)) {
            (Verb::Event, 0..=3) => Fault::Slow {
                before: Duration::from_millis(dice.roll(3000)),
                after: Duration::ZERO,
            },
            (Verb::Event, 4..=5) => Fault::Lost,
            (Verb::Event, 6) => Fault::Refused(StoreError::Expired),
            (Verb::Event, _) => Fault::None,
            (Verb::Watch, 6) => Fault::Refused(StoreError::Expired),
            (Verb::Watch, 7) => Fault::Refused(StoreError::unknown(TOO_LARGE)),
            (_, 0) => Fault::Lost,
            (_, 1) => Fault::AnswerLost,
            (_, 2) => Fault::Late(Duration::from_millis(dice.roll(12_000))),
            (_, 3) => Fault::AppliedBut(StoreError::unknown("500")),
            (_, 4) => Fault::Refused(StoreError::unknown("503")),
            (_, 5) => Fault::Refused(StoreError::TooManyRequests {
                retry_after: Some(dice.roll(5000) as u32 * MS),
            }),
            (Verb::Update, 6) => Fault::AppliedBut(StoreError::Conflict),
            (Verb::Update, 7) => Fault::Refused(StoreError::Conflict),
            _ => slow(dice),
        },
        // Cut off, but writes may arrive later.
        2 => match verb {
            Verb::Update | Verb::Create if dice.roll(2) == 0 => {
                Fault::Late(Duration::from_millis(dice.roll(20_000)))
            }
            _ => Fault::Lost,
        },
        // Credentials have expired; open watches go on.
        EXPIRED => match verb {
            Verb::Event => Fault::None,
            _ => Fault::Refused(StoreError::Rejected { code: 401, message: "Unauthorized".into() }),
        },
        // Answers are lost.
        _ => match verb {
            Verb::Update | Verb::Create => Fault::AnswerLost,
            _ => slow(dice),
        },
    }
}

/// The namespace is missing, so creates fail.
pub(crate) fn no_namespace() -> Fault {
    Fault::Refused(StoreError::Rejected { code: 404, message: "no namespace default".into() })
}

/// The name of a fault in the matrix.
pub(crate) fn name(verb: Verb, fault: &Fault) -> Option<&'static str> {
    Some(match (verb, fault) {
        (Verb::Event, Fault::Lost) => "event lost",
        (Verb::Event, Fault::Slow { .. }) => "event late",
        (Verb::Event, Fault::Refused(StoreError::Expired)) => "watch expired",
        (Verb::Watch, Fault::Refused(StoreError::Expired)) => "watch refused as expired",
        (Verb::Watch, Fault::Refused(error)) if error.to_string().contains(TOO_LARGE) => {
            "version too large"
        }
        (Verb::Event, Fault::Refused(_)) => "watch broke",
        (_, Fault::Lost) => "lost",
        (_, Fault::AnswerLost) => "applied, not answered",
        (Verb::Update | Verb::Create, Fault::Late(_)) => "applied late",
        (_, Fault::Late(_)) => "lost",
        (_, Fault::Slow { before, after }) if *before + *after > 300 * MS => "slow",
        (_, Fault::Refused(StoreError::Conflict)) => "conflict",
        (_, Fault::Refused(StoreError::TooManyRequests { .. })) => "too many requests",
        (_, Fault::Refused(StoreError::Rejected { code: 401, .. })) => "unauthorized",
        (_, Fault::Refused(StoreError::Rejected { code: 404, .. })) => "no such namespace",
        (_, Fault::Refused(_)) => "server error",
        (_, Fault::AppliedBut(StoreError::Conflict)) => "applied, and a conflict",
        (_, Fault::AppliedBut(_)) => "applied, and an error",
        _ => return None,
    })
}
