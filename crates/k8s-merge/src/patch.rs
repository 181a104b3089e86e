//! Patches: JSON patch, JSON merge patch, and strategic merge patch.
//!
//! The first two change the text of a document, since a JSON patch compares texts. A strategic
//! merge patch changes an object, and needs the schema of its kind.

mod document;
mod error;
mod json;
mod merge;
mod strategic;
#[cfg(test)]
mod tests;

pub use error::PatchError;
pub use json::JsonPatch;
pub use merge::merge_patch;
pub use strategic::strategic_merge;
