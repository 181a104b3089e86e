//! Which requests a selection is about. Pure.

use super::entry::{Entry, OTHERS, Series};
use crate::request_info::{Verb, resource_matches};
use std::fmt;

/// A request must meet all of these conditions. An empty list admits every value.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pub(super) users: Vec<String>,
    pub(super) verbs: Vec<Verb>,
    pub(super) writes: Option<bool>,
    pub(super) resources: Vec<String>,
    pub(super) except: Vec<String>,
}

impl Filter {
    fn admits(
        &self,
        user: &str,
        verb: Verb,
        group: &str,
        resource: &str,
        subresource: Option<&str>,
    ) -> bool {
        let is = |pattern: &String| resource_matches(pattern, group, resource, subresource);
        (self.users.is_empty() || self.users.iter().any(|wanted| wanted == user))
            && (self.verbs.is_empty() || self.verbs.contains(&verb))
            && self.writes.is_none_or(|writes| writes == verb.is_write())
            && (self.resources.is_empty() || self.resources.iter().any(is))
            && !self.except.iter().any(is)
    }

    /// Whether all requests of a series are admitted.
    pub(super) fn admits_series(&self, series: &Series) -> bool {
        self.admits(
            &series.user,
            series.verb,
            &series.group,
            &series.resource,
            series.subresource.as_deref(),
        ) && !self.may_be_among(series)
    }

    /// Whether requests that it admits may be among those of a series, if that is a series without
    /// a resource.
    pub(super) fn may_be_among(&self, series: &Series) -> bool {
        let others = Self { resources: Vec::new(), except: Vec::new(), ..self.clone() };
        let by_resource = !(self.resources.is_empty() && self.except.is_empty());
        by_resource
            && series.is_of_others()
            && others.admits(&series.user, series.verb, "", OTHERS, None)
            && !self.admits_by_name(OTHERS)
    }

    /// Whether it asks for this very word.
    fn admits_by_name(&self, word: &str) -> bool {
        self.resources.iter().any(|resource| resource == word)
    }

    pub(super) fn admits_entry(&self, entry: &Entry) -> bool {
        let request = &entry.request;
        self.admits(
            &entry.user,
            request.verb,
            &request.group,
            &request.resource,
            request.subresource.as_deref(),
        )
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.writes {
            Some(true) => f.write_str("writes")?,
            Some(false) => f.write_str("reads")?,
            None => f.write_str("requests")?,
        }
        let verbs: Vec<_> = self.verbs.iter().map(|verb| verb.as_str()).collect();
        for (word, values) in [
            (" with verb ", &verbs.join("|")),
            (" of ", &self.resources.join("|")),
            (" except of ", &self.except.join("|")),
            (" by ", &self.users.join("|")),
        ] {
            if !values.is_empty() {
                write!(f, "{word}{values}")?;
            }
        }
        Ok(())
    }
}
