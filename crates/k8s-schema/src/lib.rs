#![doc = include_str!("../README.md")]

mod check;
mod declared;
mod defaults;
mod field_path;
mod formats;
mod keywords;
mod lists;
mod numbers;
mod old;
mod path;
mod prune;
mod rules;
mod schema;
#[cfg(test)]
mod tests;
mod types;
mod validate;
mod validator;

pub use check::{check_schema, check_schema_with_status, unsupported_in_rules};
pub use defaults::set_defaults;
pub use field_path::{Step, find_field};
pub use formats::Format;
pub use keywords::subschemas;
pub use lists::validate_lists;
pub use old::Old;
pub use path::Path;
pub use prune::{prune, prune_nulls, prune_value};
pub use schema::{Additional, Limits, ListType, Schema};
pub use types::Type;
pub use validate::{validate, validate_member};
pub use validator::Validator;
