//! Random answers of a server, beside the rules of list and watch.

use super::*;
use crate::oracle::play;

const FAULTS: [Fault; 5] = [
    Fault::Expired,
    Fault::Busy(Some(Duration::from_secs(3))),
    Fault::Refused,
    Fault::Unreachable,
    Fault::Undecodable,
];

#[test]
fn no_server_is_asked_in_a_hot_loop_and_each_request_follows_the_last_answer() {
    play(|rng| {
        let mut protocol = Protocol::new();
        // The next request by the rules, refused watches in a row, requests without a pause.
        let (mut next, mut refused, mut at_once) = (Next::List { token: None }, 0, 0);
        for step in 0..40_u64 {
            assert_eq!(*protocol.next(), next, "step {step}");
            let is_list = matches!(next, Next::List { .. });
            let answer = rng.u8(0..10);
            let pause = match (is_list, answer) {
                (true, 0..=2) => {
                    next = Next::List { token: Some(step.to_string()) };
                    protocol.page(step.to_string());
                    continue;
                }
                (true, 3..=6) => {
                    (next, refused) = (Next::Watch { version: step.to_string() }, 0);
                    protocol.listed(step.to_string());
                    continue;
                }
                (false, 0..=2) => {
                    (next, refused) = (Next::Watch { version: step.to_string() }, 0);
                    protocol.progressed(Some(&step.to_string()));
                    at_once = 0;
                    continue;
                }
                (false, 3) => {
                    (refused, at_once) = (0, 0);
                    let lasted = SHORT_WATCH * rng.u32(1..300);
                    protocol.stood(lasted);
                    let pause = protocol.ended(rng.bool(), lasted, rng.u64(..));
                    assert_eq!(pause, Duration::ZERO, "step {step}");
                    continue;
                }
                (false, 4) => {
                    refused = 0;
                    protocol.ended(false, Duration::ZERO, rng.u64(..))
                }
                _ => {
                    let fault = FAULTS[rng.usize(..FAULTS.len())];
                    refused += u32::from(matches!(fault, Fault::Refused | Fault::Undecodable));
                    if is_list || fault == Fault::Expired || refused >= REFUSED_STARTS {
                        (next, refused) = (Next::List { token: None }, 0);
                    }
                    protocol.failed(fault, rng.u64(..))
                }
            };
            // At most one request goes out at once until the server has made progress.
            at_once += u32::from(pause.is_zero());
            assert!(at_once <= 1, "step {step}: {at_once} requests without a pause");
            assert!(pause <= LONGEST_PAUSE, "step {step}: {pause:?}");
        }
    });
}
