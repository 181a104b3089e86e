//! The cache of a replica: [`lag`] says how far it stays behind, [`reads`] which requests see it,
//! [`pump`] brings it on.

pub(crate) mod lag;
pub(crate) mod pump;
pub(crate) mod reads;
