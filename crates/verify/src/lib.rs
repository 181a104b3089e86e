//! Checks that need several crates at once, or a real control plane; among them that the code in
//! the workspace's README compiles.

pub mod real;
pub mod go;
pub mod elector;
pub mod conformance;
pub mod fuzz;
pub mod histories;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
