//! State: all that a candidate knows and remembers, in parts.
//! The file that defines a part has its rules.

use std::sync::Arc;

use super::deeds::Tenure;
use super::grants::Grants;
use super::known::Known;
use super::late::Late;
use super::pacing::Pacing;
use super::remains::Remains;
use super::vacancy::Vacancy;
use super::writes::Writes;
use crate::config::Config;
use crate::draws::draw;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Role {
    Standby,
    Leading(Tenure),
    /// The work has ended, and the lease is to be released.
    Leaving,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Candidate {
    pub(super) config: Arc<Config>,
    pub(super) role: Role,
    /// The candidate must not acquire for now.
    pub(super) barred: bool,
    /// The successor that the next release names; empty if none.
    pub(super) successor: String,
    pub(super) known: Known,
    pub(super) writes: Writes,
    pub(super) pacing: Pacing,
    pub(super) remains: Remains,
    pub(super) late: Late,
    pub(super) vacancy: Vacancy,
    pub(super) grants: Grants,
    pub(super) random: u64,
}

impl Candidate {
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        let mut random = seed;
        let writer = format!("{:016x}", draw(&mut random));
        Self {
            config: Arc::new(config.clone()),
            role: Role::Standby,
            barred: false,
            successor: String::new(),
            known: Known::default(),
            writes: Writes::new(writer),
            pacing: Pacing::default(),
            remains: Remains::Nothing,
            late: Late::default(),
            vacancy: Vacancy::default(),
            grants: Grants::default(),
            random,
        }
    }

    pub(super) fn draw(&mut self) -> u64 {
        draw(&mut self.random)
    }
}
