#![doc = include_str!("../README.md")]

mod activation;
mod ast;
mod authorizer;
mod check;
mod compile_error;
mod composition;
mod cost;
mod declarations;
mod declared;
mod environment;
mod eval;
mod eval_error;
mod expression;
mod functions;
mod literals;
mod macros;
mod missing;
mod names;
mod operators;
mod parser;
mod pattern;
#[cfg(test)]
mod tests;
mod tokens;
mod types;
mod value;

pub use crate::activation::Activation;
pub use crate::authorizer::{Asked, AskedResource, Authorizer, Check, Decision};
pub use crate::compile_error::CompileError;
pub use crate::composition::Composition;
pub use crate::declared::Declared;
pub use crate::environment::Environment;
pub use crate::eval_error::EvalError;
pub use crate::expression::{Evaluation, Expression};
pub use crate::functions::duration;
pub use crate::names::{escaped, is_reserved};
pub use crate::pattern::Pattern;
pub use crate::types::{ObjectType, Type};
pub use crate::value::{Key, List, Object, Order, Value};
