//! Random answers of a server, beside the rules of list and watch.

use super::*;
use crate::oracle::play;

const FAULTS: [Fault; 6] = [
    Fault::Expired,
    Fault::Busy(Some(Duration::from_secs(3))),
    Fault::Invalid,
    Fault::Refused,
    Fault::Unreachable,
    Fault::Undecodable,
];

/// How the next list comes, by the rules.
struct Lists {
    is_streaming: bool,
    has_streamed: bool,
    broken: u32,
}

impl Lists {
    fn first(&self) -> Next {
        if self.is_streaming && self.broken < BROKEN_STREAMS {
            return Next::StreamingList;
        }
        Next::List { token: None }
    }

    /// A list was complete.
    fn complete(&mut self, streamed: bool) {
        self.has_streamed |= streamed;
        self.broken = 0;
    }
}

#[test]
fn no_server_is_asked_in_a_hot_loop_and_each_request_follows_the_last_answer() {
    play(|rng| {
        let is_streaming = rng.bool();
        let mut protocol = Protocol::new(is_streaming);
        let mut lists = Lists { is_streaming, has_streamed: false, broken: 0 };
        // The next request by the rules, refused watches in a row, requests without a pause, and
        // streams given up since the last complete list.
        let (mut next, mut refused, mut at_once, mut given_up) = (lists.first(), 0, 0, 0);
        for step in 0..40_u64 {
            assert_eq!(*protocol.next(), next, "step {step}");
            let (is_list, is_stream) =
                (matches!(next, Next::List { .. }), next == Next::StreamingList);
            let answer = rng.u8(0..10);
            let pause = match (is_list || is_stream, answer) {
                (true, 0..=2) if is_list => {
                    next = Next::List { token: Some(step.to_string()) };
                    protocol.page(step.to_string());
                    continue;
                }
                (true, 3..=6) => {
                    (next, refused, given_up) = (Next::Watch { version: step.to_string() }, 0, 0);
                    lists.complete(is_stream);
                    protocol.listed(step.to_string());
                    continue;
                }
                (true, 0..=2) => {
                    match answer {
                        0 => {
                            assert!(protocol.fall_back(Fault::Invalid), "step {step}");
                            lists.is_streaming = false;
                        }
                        1 => {
                            assert!(protocol.fall_back(Fault::Refused), "step {step}");
                            lists.broken = BROKEN_STREAMS;
                        }
                        _ => {
                            assert_eq!(protocol.unended(), lists.has_streamed, "step {step}");
                            lists.broken = BROKEN_STREAMS;
                            lists.is_streaming &= lists.has_streamed;
                        }
                    }
                    (next, refused) = (Next::List { token: None }, 0);
                    // Pages come at once, so no stream may follow before their end.
                    given_up += 1;
                    assert_eq!(given_up, 1, "step {step}");
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
                    protocol.lasted(lasted);
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
                    let is_refusal = matches!(fault, Fault::Invalid | Fault::Refused);
                    if is_stream && is_refusal {
                        continue;
                    }
                    assert!(!protocol.fall_back(fault), "step {step}");
                    refused += u32::from(is_refusal || fault == Fault::Undecodable);
                    lists.broken += u32::from(is_stream);
                    let is_again = is_list || is_stream || fault == Fault::Expired;
                    if is_again || refused >= REFUSED_STARTS {
                        (next, refused) = (lists.first(), 0);
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
