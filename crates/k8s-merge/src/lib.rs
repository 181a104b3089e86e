#![doc = include_str!("../README.md")]

pub mod managed_fields;
pub mod patch;
mod schema;

use serde_json::{Map, Value};

pub use schema::Schema;

/// An object of Kubernetes, as members.
pub type Object = Map<String, Value>;
