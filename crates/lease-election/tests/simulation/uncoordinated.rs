//! Uncoordinated: the place of `coordinated.rs` in builds without an API server, where no
//! controller elects.

use std::time::Duration;

use tokio::time::Instant;

use crate::judge::Dice;
use crate::node::{Mode, Node, Stage};

pub(crate) const LONGER: u64 = 0;

/// No value exists, since no controller does.
pub(crate) enum Coordinated {}

impl Coordinated {
    pub(crate) fn new(_: &Stage, _: &mut Dice) -> Option<Self> {
        None
    }
    pub(crate) fn next(&self) -> u64 {
        match *self {}
    }
    pub(crate) fn admits(&mut self, _: u64) -> bool {
        match *self {}
    }
    pub(crate) fn one_at_a_time(
        &mut self,
        _: u64,
        _: u64,
        _: &mut Dice,
    ) -> Option<(usize, u64, u64)> {
        match *self {}
    }
    pub(crate) async fn trouble(&mut self, _: u64, _: &mut Dice) -> Option<u64> {
        match *self {}
    }
    pub(crate) async fn be_fair(&mut self, _: &[Node], _: &mut Dice) {
        match *self {}
    }
    pub(crate) fn end(&mut self) {
        match *self {}
    }
    pub(crate) fn unled_longer(&self) -> Duration {
        match *self {}
    }
    pub(crate) async fn check(&mut self, _: &[Node], _: Duration, _: Instant) {
        match *self {}
    }
}

pub(crate) fn may_stay_held(_: &Stage, _: &str) -> bool {
    false
}

pub(crate) fn stands_on(_: Mode, _: &mut Dice) -> bool {
    false
}
