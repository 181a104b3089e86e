//! How large tests are that show a bound or play a run again and again.

/// `small`, or `full` where the environment has `EMBEDDED_APISERVER_SIZES=full`, as in the stage
/// `properties`.
pub(crate) fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("EMBEDDED_APISERVER_SIZES").is_some_and(|sizes| sizes == "full") {
        full
    } else {
        small
    }
}
