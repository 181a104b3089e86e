//! Random adds and hand-outs of keys of the start and of changes, beside two plain lines.

use std::collections::VecDeque;

use wq_priority::Order;

use super::*;
use crate::oracle::play;
use crate::queue::{INITIAL, order_of_turns};

/// A key with its reasons.
type Waiting = VecDeque<(u32, Reasons)>;

fn merged(line: &mut Waiting, key: u32, reasons: Reasons) -> bool {
    let held = line.iter_mut().find(|(waiting, _)| *waiting == key);
    held.map(|(_, held)| held.merge(reasons)).is_some()
}

#[test]
fn keys_of_the_start_and_changes_take_turns_each_in_its_order_with_all_reasons() {
    play(|rng| {
        let mut backlog = Noted::new(order_of_turns());
        let (mut start, mut changes) = (Waiting::new(), Waiting::new());
        // How often a line was passed over since it had a turn.
        let mut passed = [0_u32; 2];
        for _ in 0..60 {
            let key = rng.u32(0..8);
            let id = SlotId::from_index(key);
            let reasons = if rng.bool() { Reasons::added() } else { Reasons::carried() };
            match rng.u8(0..5) {
                0 | 1 => {
                    let is_initial = rng.bool();
                    let order =
                        if is_initial { Order::priority(INITIAL) } else { Order::default() };
                    let note = Note { order, reasons };
                    if merged(&mut changes, key, reasons) {
                        backlog.touch(id, &note);
                    } else if start.iter().any(|(waiting, _)| *waiting == key) {
                        backlog.touch(id, &note);
                        merged(&mut start, key, reasons);
                        if !is_initial {
                            let place = start.iter().position(|(waiting, _)| *waiting == key);
                            changes.extend(place.and_then(|place| start.remove(place)));
                        }
                    } else {
                        backlog.push(id, note);
                        if is_initial { &mut start } else { &mut changes }
                            .push_back((key, reasons));
                    }
                }
                _ => {
                    let popped = backlog.pop().map(|(id, note)| (id.index(), note.reasons));
                    let of_start = popped.is_some() && popped == start.front().copied();
                    let line = if of_start { &mut start } else { &mut changes };
                    assert_eq!(popped, line.pop_front(), "the first of its line");
                    for (line, waits) in [(0, !start.is_empty()), (1, !changes.is_empty())] {
                        let has_turn = (line == 0) == of_start || popped.is_none();
                        passed[line] = if has_turn || !waits { 0 } else { passed[line] + 1 };
                        // By ageing once, and once before the line was in use.
                        assert!(passed[line] <= 2, "a line was passed over {} times", passed[line]);
                    }
                }
            }
            // A line that was empty comes last.
            for (line, is_empty) in [(0, start.is_empty()), (1, changes.is_empty())] {
                passed[line] *= u32::from(!is_empty);
            }
            assert_eq!(backlog.len(), start.len() + changes.len());
        }
    });
}
