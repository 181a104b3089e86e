//! The sizes of tests that show a bound or repeat a run.

/// `small`, or `full` with `EMBEDDED_APISERVER_SIZES=full`, as in the stage `properties`.
pub(crate) fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("EMBEDDED_APISERVER_SIZES").is_some_and(|sizes| sizes == "full") {
        full
    } else {
        small
    }
}
