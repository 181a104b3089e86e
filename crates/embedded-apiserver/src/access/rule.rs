//! A rule of a role: matching, atoms and coverage. Pure. Follows
//! k8s.io/component-helpers/auth/rbac/validation and the helpers of rbac/v1.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::access::attributes::Attributes;

/// A `PolicyRule`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<Arc<str>>,
    pub(crate) groups: Vec<Arc<str>>,
    /// `pods`, `pods/status`, `*/status`, `*`.
    pub(crate) resources: Vec<Arc<str>>,
    /// Empty: every name.
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) paths: Vec<Arc<str>>,
}

/// The smallest right: one verb on one resource, for one name or any, or on one path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Atom {
    pub(crate) verb: Arc<str>,
    pub(crate) on: On,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum On {
    Resource { group: Arc<str>, resource: Arc<str>, name: Option<Arc<str>> },
    Path(Arc<str>),
}

const ALL: &str = "*";

fn find<'a>(set: &'a [Arc<str>], wanted: &str) -> Option<&'a Arc<str>> {
    set.iter().find(|one| ***one == *wanted).or_else(|| set.iter().find(|one| ***one == *ALL))
}

impl Rule {
    pub(crate) fn of(rule: &PolicyRule) -> Self {
        let set = |texts: Option<&Vec<String>>| -> Vec<Arc<str>> {
            texts.into_iter().flatten().map(|text| Arc::from(text.as_str())).collect()
        };
        Self {
            verbs: set(Some(&rule.verbs)),
            groups: set(rule.api_groups.as_ref()),
            resources: set(rule.resources.as_ref()),
            names: set(rule.resource_names.as_ref()),
            paths: set(rule.non_resource_urls.as_ref()),
        }
    }

    /// The atom that allows this, if there is one.
    pub(crate) fn allows(&self, asked: &Attributes<'_>) -> Option<Atom> {
        match asked {
            Attributes::Resource { verb, group, resource, subresource, name, .. } => {
                let verb = find(&self.verbs, verb)?;
                let group = find(&self.groups, group)?;
                let resource = self.resource(resource, subresource)?;
                let name = match &*self.names {
                    [] => None,
                    names => Some(names.iter().find(|one| ***one == **name)?.clone()),
                };
                let on = On::Resource { group: group.clone(), resource: resource.clone(), name };
                Some(Atom { verb: verb.clone(), on })
            }
            Attributes::Path { verb, path } => {
                let verb = find(&self.verbs, verb)?;
                let covered = self.paths.iter().find(|own| path_covers(own, path))?;
                Some(Atom { verb: verb.clone(), on: On::Path(covered.clone()) })
            }
        }
    }

    fn resource(&self, resource: &str, subresource: &str) -> Option<&Arc<str>> {
        self.resources.iter().find(|own| match own.split_once('/') {
            _ if ***own == *ALL => true,
            None => subresource.is_empty() && ***own == *resource,
            Some((of, part)) => {
                !subresource.is_empty() && part == subresource && (of == ALL || of == resource)
            }
        })
    }

    /// Every atom of the rule.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = Atom> {
        let names: Vec<Option<Arc<str>>> = match &*self.names {
            [] => vec![None],
            names => names.iter().cloned().map(Some).collect(),
        };
        let resources = self.groups.iter().flat_map(move |group| {
            let names = names.clone();
            self.resources.iter().flat_map(move |resource| {
                let (group, resource) = (group.clone(), resource.clone());
                let on = move |name: &Option<Arc<str>>| On::Resource {
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                };
                names.iter().map(on).collect::<Vec<_>>()
            })
        });
        let paths = self.paths.iter().map(|path| On::Path(path.clone()));
        resources.chain(paths).flat_map(|on| {
            self.verbs.iter().map(move |verb| Atom { verb: verb.clone(), on: on.clone() })
        })
    }

    /// The atom of this rule that covers another one, if there is one.
    pub(crate) fn covering(&self, atom: &Atom) -> Option<Atom> {
        let verb = find(&self.verbs, &atom.verb)?.clone();
        let on = match &atom.on {
            On::Resource { group, resource, name } => {
                let group = find(&self.groups, group)?.clone();
                let of_any = || {
                    let any = format!("*/{}", resource.split_once('/')?.1);
                    self.resources.iter().find(|own| ***own == *any)
                };
                let resource = find(&self.resources, resource).or_else(of_any)?.clone();
                let name = match (&*self.names, name) {
                    ([], _) => None,
                    (names, Some(name)) => Some(names.iter().find(|own| *own == name)?.clone()),
                    (_, None) => return None,
                };
                On::Resource { group, resource, name }
            }
            On::Path(path) => {
                On::Path(self.paths.iter().find(|own| path_covers(own, path))?.clone())
            }
        };
        Some(Atom { verb, on })
    }
}

/// `/healthz/*` covers all paths below `/healthz/`. `*` covers every path.
fn path_covers(own: &str, path: &str) -> bool {
    own == path
        || own
            .strip_suffix('*')
            .is_some_and(|prefix| path.starts_with(prefix.trim_end_matches('*')))
}

/// Group, resource, name.
type Named<'a> = (&'a Arc<str>, &'a Arc<str>, &'a Option<Arc<str>>);

/// The missing rights of an escalation, as upstream lists them: one sorted line per resource
/// (`CompactRules` and `CompactString`).
pub(crate) fn compact(missing: &[Atom]) -> Vec<String> {
    let mut resources: BTreeMap<Named<'_>, Vec<&str>> = BTreeMap::new();
    let mut lines = Vec::new();
    for Atom { verb, on } in missing {
        match on {
            On::Resource { group, resource, name } => {
                resources.entry((group, resource, name)).or_default().push(verb);
            }
            On::Path(path) => {
                lines.push(format!("{{NonResourceURLs:[{path:?}], Verbs:[{verb:?}]}}"))
            }
        }
    }
    for ((group, resource, name), verbs) in resources {
        let verbs: Vec<_> = verbs.iter().map(|verb| format!("{verb:?}")).collect();
        let names =
            name.as_ref().map(|name| format!(", ResourceNames:[{name:?}]")).unwrap_or_default();
        let verbs = verbs.join(" ");
        lines.push(format!(
            "{{APIGroups:[{group:?}], Resources:[{resource:?}]{names}, Verbs:[{verbs}]}}"
        ));
    }
    lines.sort();
    lines.dedup();
    lines
}

#[cfg(test)]
mod tests;
