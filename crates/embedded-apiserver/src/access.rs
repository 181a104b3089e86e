//! RBAC: decisions by the roles and bindings in the store, and the record of their use. Tokens of
//! service accounts.

mod account_tokens;
mod admit;
mod attributes;
mod authorizer;
mod creating;
mod escalation;
mod expressions;
mod grants;
mod impersonation;
mod jwt;
mod ledger;
mod policy;
mod refusal;
mod rule;
mod user;

pub(crate) use crate::access::account_tokens::{AccountTokens, Claims, ISSUER, reference};
pub(crate) use crate::access::admit::admit;
pub(crate) use crate::access::attributes::Attributes;
pub(crate) use crate::access::authorizer::{Authorizer, GROUP};
pub(crate) use crate::access::creating::CreateRight;
pub(crate) use crate::access::escalation::{RoleWrite, check_escalation};
pub(crate) use crate::access::expressions::authorizer_of;
pub use crate::access::grants::{Access, Account, Grant, Refusal};
pub(crate) use crate::access::rule::Rule;
pub(crate) use crate::access::user::user_of;
