//! Status tests: what an elector reports after one answer and the next.

use super::*;

#[test]
fn a_server_that_alters_records_is_warned_of_once_until_a_write_is_stored_as_it_was_sent() {
    let counters = Counters::default();
    let altered = StoreError::Altered { field: "renewTime" };
    assert!(counters.failed(false, &altered));
    for _ in 0..3 {
        // Reads succeed and other requests fail, but only the writes are at fault.
        counters.succeeded(false);
        assert!(!counters.failed(false, &StoreError::unknown("503")));
        assert!(!counters.failed(false, &altered));
        assert_eq!(counters.status().blocked, Some(altered.clone()));
    }
    counters.succeeded(true);
    assert_eq!(counters.status().blocked, None);
    assert!(counters.failed(false, &altered), "and warned of again");
}
