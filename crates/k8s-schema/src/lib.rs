#![doc = include_str!("../README.md")]

mod declared;
mod defaults;
mod formats;
mod lists;
mod numbers;
mod old;
mod path;
mod prune;
mod schema;
#[cfg(test)]
mod tests;
mod types;
mod validate;

pub use defaults::set_defaults;
pub use formats::Format;
pub use lists::validate_lists;
pub use old::Old;
pub use path::Path;
pub use prune::{prune, prune_nulls, prune_value};
pub use schema::{Additional, Limits, ListType, Schema};
pub use types::Type;
pub use validate::{validate, validate_member};
