//! Checks that need several crates at once: that the code in the workspace's README compiles, and that its worker loop runs.

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
