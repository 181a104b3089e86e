//! The cache of a replica: [`lag`] computes its delay, [`reads`] selects its requests, [`pump`]
//! feeds it.

pub(crate) mod lag;
pub(crate) mod pump;
pub(crate) mod reads;
