//! One case: a rule of the API, and how it is seen to hold.

use std::panic::Location;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use crate::conformance::answer::Outcome;
use crate::conformance::target::Target;

pub(super) type Assertion = Box<dyn for<'a> Fn(&'a Target) -> LocalBoxFuture<'a, Outcome>>;

/// One rule of the API, and how to see it.
pub struct Case {
    /// The file it is in: what it is about.
    pub group: &'static str,
    /// The rule's name, unique in the group.
    pub name: &'static str,
    /// The rule, in one sentence.
    pub rule: &'static str,
    /// Where it is written.
    pub place: &'static Location<'static>,
    pub(super) run: Assertion,
    pub(super) difference: Option<(&'static str, Assertion)>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("name", &self.full_name()).finish_non_exhaustive()
    }
}

/// A case; `run` asserts what the real server does.
#[track_caller]
pub fn case<F>(name: &'static str, rule: &'static str, run: F) -> Case
where
    F: for<'a> AsyncFn(&'a Target) -> Outcome + Copy + 'static,
{
    Case { group: "", name, rule, place: Location::caller(), run: boxed(run), difference: None }
}

fn boxed<F>(run: F) -> Assertion
where
    F: for<'a> AsyncFn(&'a Target) -> Outcome + Copy + 'static,
{
    Box::new(move |target| async move { run(target).await }.boxed_local())
}

impl Case {
    /// States that the embedded server does something else: how and why, and a check of exactly
    /// that.
    #[must_use]
    pub fn differs<F>(mut self, how: &'static str, embedded: F) -> Self
    where
        F: for<'a> AsyncFn(&'a Target) -> Outcome + Copy + 'static,
    {
        self.difference = Some((how, boxed(embedded)));
        self
    }

    /// `group::name`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.group, self.name)
    }

    /// How and why the embedded server differs, if it does.
    #[must_use]
    pub fn difference(&self) -> Option<&'static str> {
        self.difference.as_ref().map(|(how, _)| *how)
    }
}
