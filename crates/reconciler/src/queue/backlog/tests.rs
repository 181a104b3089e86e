//! Tests of noted backlogs.

use wq_ratelimit::Fifo;

use super::*;

#[test]
fn reasons_go_with_their_key_also_when_memory_is_given_back() {
    let mut backlog = Noted::new(Fifo::default());
    let slot = SlotId::from_index;
    backlog.push(slot(9), Note { order: (), reasons: Reasons::carried() });
    backlog.push(slot(1), Note { order: (), reasons: Reasons::requeued() });
    assert_eq!(
        backlog.pop().map(|(id, note)| (id, note.reasons)),
        Some((slot(9), Reasons::carried()))
    );
    backlog.shrink();
    assert_eq!(
        backlog.pop().map(|(id, note)| (id, note.reasons)),
        Some((slot(1), Reasons::requeued()))
    );
    backlog.shrink();
    assert_eq!(backlog.reasons.capacity(), 0);
}
