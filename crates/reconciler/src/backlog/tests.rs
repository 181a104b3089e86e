//! Tests of noted backlogs.

use wq_ratelimit::Fifo;

use super::*;

/// The queue moves a key to another slot when it gives memory back.
#[test]
fn reasons_go_with_a_key_that_gets_another_slot() {
    let mut backlog = Noted::new(Fifo::default());
    let slot = SlotId::from_index;
    backlog.push(slot(0), Note { order: (), reasons: Reasons::carried() });
    backlog.push(slot(9), Note { order: (), reasons: Reasons::requeued() });
    assert!(backlog.rename(&[(slot(9), slot(1))]));
    backlog.shrink();
    assert_eq!(backlog.reasons.len(), 2);
    let mut popped = Vec::new();
    while let Some((id, note)) = backlog.pop() {
        popped.push((id, note.reasons));
    }
    assert_eq!(popped, [(slot(0), Reasons::carried()), (slot(1), Reasons::requeued())]);
}
