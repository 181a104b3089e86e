//! Whether a plan names resources that an API server can have: a rule about any other would never
//! fire. Pure.

use std::fmt;

use super::matching::Match;
use super::plan::FaultPlan;
use crate::resources::RESOURCES;

/// A plan names a resource that no API server has.
///
/// ```
/// use api_front::{Fault, FaultPlan, Match, Rule};
///
/// let plan = FaultPlan::none().rule(Rule::new(Match::any().resource("deployment"), Fault::Conflict));
/// let unknown = plan.check().expect_err("the plural is deployments");
/// assert!(unknown.to_string().contains("write deployments"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownResource {
    field: String,
    resource: String,
    remedy: String,
}

impl fmt::Display for UnknownResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, resource, remedy } = self;
        write!(f, "{field} is {resource:?}, which no API server has; {remedy}")
    }
}

impl std::error::Error for UnknownResource {}

impl FaultPlan {
    /// Checks that Kubernetes has the resources that the rules and exemptions name, or may have
    /// them as custom ones: a custom resource is written with its group, as
    /// `widgets.example.com`.
    ///
    /// # Errors
    ///
    /// Names the first resource that no API server has, and what to write instead.
    pub fn check(&self) -> Result<(), UnknownResource> {
        let rules = self.rules.iter().enumerate();
        let rules = rules.map(|(at, rule)| (format!("rules[{at}].match"), &rule.matching));
        let exempt =
            self.exempt.iter().enumerate().map(|(at, spared)| (format!("exempt[{at}]"), spared));
        rules.chain(exempt).try_for_each(|(at, matching)| check(&at, matching))
    }
}

/// # Panics
///
/// The plan names a resource that no API server has.
#[track_caller]
pub(crate) fn assert_checked(plan: &FaultPlan) {
    if let Err(unknown) = plan.check() {
        panic!("the fault plan is refused: {unknown}");
    }
}

fn check(at: &str, matching: &Match) -> Result<(), UnknownResource> {
    let lists =
        [("resources", &matching.resources), ("except_resources", &matching.except_resources)];
    for (list, resources) in lists {
        for (place, resource) in resources.iter().enumerate() {
            if let Err(remedy) = known(resource) {
                let field = format!("{at}.{list}[{place}]");
                return Err(UnknownResource { field, resource: resource.clone(), remedy });
            }
        }
    }
    Ok(())
}

/// A resource of the real server.
struct Row<'a> {
    group: &'a str,
    /// With the subresource after a slash.
    name: &'a str,
    kind: &'a str,
}

fn rows() -> impl Iterator<Item = Row<'static>> {
    RESOURCES.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (version, name, kind) = (words.next()?, words.next()?, words.next_back()?);
        let group = version.split_once('/').map_or("", |(group, _)| group);
        Some(Row { group, name, kind })
    })
}

/// # Errors
///
/// What to write instead.
fn known(resource: &str) -> Result<(), String> {
    let (object, subresource) = match resource.split_once('/') {
        Some((object, subresource)) => (object, Some(subresource)),
        None => (resource, None),
    };
    let (plural, group) = match object.split_once('.') {
        Some((plural, group)) => (plural, Some(group)),
        None => (object, None),
    };
    let is_built_in = |group: &str| rows().any(|row| row.group == group);
    if group.is_some_and(|group| !group.is_empty() && !is_built_in(group)) {
        let is_name =
            |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_uppercase() || c == ' ');
        return if is_name(plural) {
            Ok(())
        } else {
            Err("a plural is written in small letters".to_owned())
        };
    }
    let name = subresource
        .map_or_else(|| plural.to_owned(), |subresource| format!("{plural}/{subresource}"));
    let mut of_group = rows().filter(|row| group.is_none_or(|group| row.group == group));
    if of_group.any(|row| row.name == name) {
        return Ok(());
    }
    if rows().any(|row| row.name == plural) {
        let groups: Vec<_> = rows().filter(|row| row.name == plural).map(|row| row.group).collect();
        return Err(match (subresource, groups.first()) {
            (Some(_), _) if group.is_none_or(|group| groups.contains(&group)) => {
                let subresources =
                    rows().filter_map(|row| row.name.strip_prefix(plural)?.strip_prefix('/'));
                let subresources: Vec<_> = subresources.collect();
                format!("the subresources of {plural} are: {}", subresources.join(", "))
            }
            (_, Some(&"")) => format!("write {plural}"),
            (_, Some(group)) => format!("write {plural}.{group}"),
            (_, None) => String::new(),
        });
    }
    let singular =
        rows().find(|row| !row.name.contains('/') && row.kind.eq_ignore_ascii_case(plural));
    Err(match singular {
        Some(row) => format!("write {}", row.name),
        None => {
            "write the plural of a resource of Kubernetes, or a custom resource with its group, as \
                 widgets.example.com"
                .to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::fault::{Fault, FaultPlan, Match, Rule};

    fn refused(resource: &str) -> Option<String> {
        let plan =
            FaultPlan::none().rule(Rule::new(Match::any().resource(resource), Fault::Conflict));
        plan.check().err().map(|unknown| unknown.to_string())
    }

    #[test]
    fn resources_of_kubernetes_and_custom_ones_with_a_group_are_known() {
        for resource in [
            "leases",
            "leases.coordination.k8s.io",
            "pods/status",
            "statefulsets.apps/scale",
            "events.events.k8s.io",
            "widgets.example.com",
            "widgets.example.com/status",
        ] {
            assert_eq!(refused(resource), None, "{resource}");
        }
    }

    #[test]
    fn what_no_server_has_is_refused_with_what_to_write_instead() {
        for (resource, remedy) in [
            ("deployment", "write deployments"),
            ("Deployment", "write deployments"),
            ("deployments.batch", "write deployments.apps"),
            ("pods.apps", "write pods"),
            ("pods/odd", "the subresources of pods are: "),
            ("widgets", "widgets.example.com"),
            ("Widgets.example.com", "small letters"),
            ("", "widgets.example.com"),
        ] {
            let why = refused(resource).unwrap_or_default();
            assert!(why.contains(remedy), "{resource}: {why}");
        }
        let plan = FaultPlan::none().exempt(Match::any().except_resource("pod"));
        let why = plan.check().unwrap_err().to_string();
        assert_eq!(
            why,
            r#"exempt[0].except_resources[0] is "pod", which no API server has; write pods"#
        );
    }
}
