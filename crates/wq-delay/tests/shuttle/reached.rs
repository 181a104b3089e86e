//! Reached: rare states that the schedules must reach.

wq_contract::states! {
    EARLY_LOOKS: "gets that found only delayed items",
    MOVED: "deadlines that moved",
    CANCELLED: "delayed items taken out",
    GAVE_UP: "waits for an item dropped",
    GAVE_UP_WOKEN: "waits for an item dropped after they were woken",
    TIMED_OUT: "gets that timed out",
    STALLED: "timekeepers held without being polled",
    HANDED_BACK: "items that a shutdown handed back",
    REFUSED: "delayed adds refused after a shutdown",
    DRAINED: "drains that were over before shutdown",
}
