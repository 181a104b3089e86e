//! Texts as exporters write them.

use super::{Sample, parse};

#[test]
fn depths_and_retries_of_all_queues_are_summed() {
    let text = "# HELP workqueue_depth Current depth\n# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"claims\",controller=\"claims\"} 12\n\
        workqueue_depth{name=\"volumes\"} 3.0\nworkqueue_retries_total{name=\"claims\"} 7\nworkqueue_retries_total{name=\"volumes\"} 1\n\
        workqueue_depth_of_something_else 99\n# EOF\n";
    assert_eq!(parse(text), Sample { depth: 15, retries: 8 });
}

#[test]
fn what_is_no_such_text_counts_nothing() {
    assert_eq!(parse(""), Sample::default());
    assert_eq!(
        parse("<html>\nworkqueue_depth\nworkqueue_depth NaN\nworkqueue_retries_total{} -4\n"),
        Sample::default()
    );
}
