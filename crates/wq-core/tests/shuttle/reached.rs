//! Reached: rare states that the schedules must reach.

wq_contract::states! {
    RUNS_AGAIN: "items added while they were processed",
    CANCELLED: "waits for an item dropped",
    CANCELLED_WOKEN: "waits for an item dropped after they were woken",
    TIMED_OUT: "gets that timed out",
    REMOVED: "items removed",
    NOT_DRAINED: "drains that timed out",
    DRAINED: "drains that were over before shutdown",
    PANICKED: "workers that panicked",
    HANDED_BACK: "items that shutdown_now handed back",
    REFUSED: "adds refused for want of room",
    STALE: "guards that ended after their item was abandoned and handed out anew",
}
