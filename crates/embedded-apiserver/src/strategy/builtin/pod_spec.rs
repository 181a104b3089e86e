//! The spec of Pods and of pod templates.

mod container;
mod defaults;
mod probe;
mod resources;
mod validation;
mod volume;
mod warnings;

pub(super) use crate::strategy::builtin::pod_spec::defaults::{
    default_pod_spec, default_template, default_template_of,
};
pub(super) use crate::strategy::builtin::pod_spec::resources::validate_resources;
pub(super) use crate::strategy::builtin::pod_spec::validation::{
    validate_spec, validate_template, validate_toleration,
};
pub(super) use crate::strategy::builtin::pod_spec::volume::validate_tokens;
pub(super) use crate::strategy::builtin::pod_spec::warnings::add_warnings;
