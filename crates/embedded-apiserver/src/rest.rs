//! Requests for objects: one file a verb.

mod admission_chain;
mod apply;
mod call;
mod continuation;
mod decode;
mod definitions;
mod delete;
mod duplicates;
mod get;
mod guaranteed_update;
mod list;
pub(crate) mod odd_places;
mod ownership;
mod put;
pub(crate) mod rescale;
pub(crate) mod reviews;
pub(crate) mod scale;
mod state;
mod version;
mod watch;
pub(crate) mod way;
mod write;
mod written;

pub(crate) use crate::rest::call::Call;
pub(crate) use crate::rest::definitions::warn_of_deprecation;
pub(crate) use crate::rest::delete::{delete, delete_all, delete_collection};
pub(crate) use crate::rest::get::get;
pub(crate) use crate::rest::list::list;
pub(crate) use crate::rest::ownership::of_controllers;
pub(crate) use crate::rest::put::put;
pub(crate) use crate::rest::state::{ApiState, Options};
pub(crate) use crate::rest::version::wait_for;
pub(crate) use crate::rest::watch::watch;
pub(crate) use crate::rest::write::{create, create_object, patch, replace};
