//! Standing: the stub for a build without the feature `coordinated`.

use std::sync::Arc;

use tokio::sync::watch;

use crate::candidate::Candidate;
use crate::clock::Moment;
use crate::status::Counters;

/// Cannot exist without the feature.
#[derive(Debug)]
pub(crate) enum Standing {}

pub(crate) type Changes = watch::Receiver<()>;

impl Standing {
    pub(crate) fn counting(self, _counters: &Arc<Counters>) -> Self {
        match self {}
    }

    pub(crate) fn begin(self: &Arc<Self>) -> Stood {
        match **self {}
    }

    pub(crate) fn arrange(
        &self,
        _candidate: &mut Candidate,
        _barred: bool,
        _now: Moment,
    ) -> Changes {
        match *self {}
    }

    pub(crate) fn server_elects(&self) -> bool {
        match *self {}
    }

    pub(crate) fn lease_known(&self) {
        match *self {}
    }

    pub(crate) fn doubt_connection(&self) {
        match *self {}
    }

    pub(crate) fn bar(&self, _barred: bool) {
        match *self {}
    }

    pub(crate) fn await_clear(&self, _uncleared: bool) {
        match *self {}
    }

    pub(crate) fn occupy(&self, _occupied: bool) {
        match *self {}
    }

    pub(crate) fn follow(&self) {
        match *self {}
    }

    pub(crate) fn go_on(&self) {
        match *self {}
    }

    pub(crate) fn unwant(&self) {
        match *self {}
    }

    pub(crate) fn campaigns(&self) -> usize {
        match *self {}
    }

    pub(crate) async fn withdraw(&self) {
        match *self {}
    }
}

/// Empty, because there is nothing to withdraw.
pub(crate) struct Stood;

impl Stood {
    pub(crate) async fn end(self) {}

    pub(crate) fn leave(self) -> Leaving {
        Leaving
    }
}

pub(crate) struct Leaving;

impl Leaving {
    pub(crate) async fn done(self) {}
}
