//! Impersonation: `Impersonate-User` and its kin.
//!
//! Follows k8s.io/apiserver/pkg/endpoints/filters/impersonation in v1.36: first the constrained
//! modes, which also need a right for the request (`impersonate-on:user-info:list`), then the
//! legacy mode.

use api_front::{RequestInfo, User};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request};
use percent_encoding::percent_decode_str;

use crate::access::attributes::Attributes;
use crate::access::authorizer::Authorizer;
use crate::access::refusal::forbidden;
use crate::access::user::user_of;
use crate::api::status::Status;

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE: &str = "system:node:";
/// Where the user of a token has the node that it is bound to.
#[doc(alias = "NodeNameKey")]
const ACCOUNT_NODE: &str = "authentication.kubernetes.io/node-name";

/// The user to impersonate.
#[derive(Debug, Default)]
struct Impersonation {
    user: String,
    groups: Vec<String>,
    uid: String,
    /// Sorted by key.
    extra: Vec<(String, String)>,
}

/// A mode of impersonation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The node that the account's token names.
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

/// Returns the request as the impersonated user. Without the headers it is unchanged.
pub(super) fn apply(
    access: &Authorizer,
    mut request: Request<Bytes>,
) -> Result<Request<Bytes>, Status> {
    let Some(impersonation) = Impersonation::of(request.headers())? else { return Ok(request) };
    let asker = user_of(&mut request);
    let info = RequestInfo::of(request.method(), request.uri());
    let request_asks = Attributes::of(request.method(), &info);
    let mut first_refusal = None;
    for mode in Mode::ALL {
        if !mode.applies(&impersonation, &asker) {
            continue;
        }
        let questions = impersonation.questions(mode, &request_asks);
        let decide = |asked: &&Attributes<'_>| !access.decide(&asker, asked).is_allowed();
        match questions.iter().find(decide) {
            Some(refused) => {
                first_refusal.get_or_insert_with(|| refused.clone().into_owned());
            }
            None => {
                // Only the successful mode counts as used.
                for asked in &questions {
                    access
                        .authorize(&asker, asked)
                        .map_err(|reason| forbidden(&asker, asked, &reason))?;
                }
                request.extensions_mut().insert(impersonation.granted(mode));
                return Ok(request);
            }
        }
    }
    // The legacy mode always applies, so there is a refusal.
    let refused = first_refusal.unwrap_or_else(|| request_asks.into_owned());
    let reason = access.authorize(&asker, &refused).err().unwrap_or_default();
    Err(forbidden(&asker, &refused, &reason))
}

impl Mode {
    const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Legacy,
    ];

    fn applies(self, impersonation: &Impersonation, asker: &User) -> bool {
        let (node, account) = (
            node(&impersonation.user).is_some(),
            User::split_service_account(&impersonation.user).is_some(),
        );
        match self {
            Self::AssociatedNode => {
                impersonation.is_only_a_name() && node && is_on_node(asker, &impersonation.user)
            }
            Self::ArbitraryNode => impersonation.is_only_a_name() && node,
            Self::ServiceAccount => impersonation.is_only_a_name() && account,
            Self::UserInfo => {
                !node
                    && !account
                    && !impersonation
                        .groups
                        .iter()
                        .any(|group| group.is_empty() || group == User::MASTERS)
            }
            Self::Legacy => true,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }
}

/// Whether a service account's token names the node whose user this is.
#[doc(alias = "requesterAssociatedWithRequestedNodeUsername")]
fn is_on_node(asker: &User, user: &str) -> bool {
    let of = asker.get_extra().get(ACCOUNT_NODE).map(Vec::as_slice).unwrap_or_default();
    User::split_service_account(asker.name()).is_some()
        && node(user).is_some_and(|node| of == [node])
}

fn node(user: &str) -> Option<&str> {
    user.strip_prefix(NODE).filter(|name| !name.is_empty())
}

impl Impersonation {
    fn of(headers: &HeaderMap) -> Result<Option<Self>, Status> {
        let text =
            |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let one = |name: HeaderName| headers.get(name).map(text).unwrap_or_default();
        let groups: Vec<_> = headers.get_all(GROUP).iter().map(text).collect();
        let extra = headers.iter().filter_map(|(name, value)| {
            let key = name.as_str().strip_prefix(EXTRA)?;
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            Some((key, text(value)))
        });
        let mut extra: Vec<_> = extra.collect();
        // The order of different headers is irrelevant.
        extra.sort_by(|one, other| one.0.cmp(&other.0));
        let impersonation = Self { user: one(USER), groups, uid: one(UID), extra };
        if !impersonation.user.is_empty() {
            return Ok(Some(impersonation));
        }
        if impersonation.is_only_a_name() {
            return Ok(None);
        }
        Err(Status::bad_request(format!(
            "requested {} without impersonating a user name",
            impersonation.in_go()
        )))
    }

    fn is_only_a_name(&self) -> bool {
        self.groups.is_empty() && self.uid.is_empty() && self.extra.is_empty()
    }

    /// The needed rights of the original user, in upstream's order.
    fn questions<'a>(&'a self, mode: Mode, request: &Attributes<'a>) -> Vec<Attributes<'a>> {
        let constrained = mode != Mode::Legacy;
        let verb = if constrained {
            format!("impersonate:{}", mode.word())
        } else {
            "impersonate".to_owned()
        };
        // The legacy mode has users and groups as core resources.
        let group = if constrained { AUTHENTICATION } else { "" };
        let ask = |group: &'static str,
                   resource: &'static str,
                   part: &'a str,
                   namespace: &'a str,
                   name: &'a str| {
            Attributes::Resource {
                verb: verb.clone().into(),
                group: group.into(),
                resource: resource.into(),
                subresource: part.into(),
                namespace: namespace.into(),
                name: name.into(),
            }
        };
        let mut all = Vec::new();
        if constrained {
            all.push(
                request.clone().with_verb(|verb| format!("impersonate-on:{}:{verb}", mode.word())),
            );
        }
        all.push(match (User::split_service_account(&self.user), node(&self.user)) {
            (Some((namespace, name)), _) => ask(group, "serviceaccounts", "", namespace, name),
            // A right for every node, whichever it is.
            (None, Some(_)) if mode == Mode::AssociatedNode => ask(group, "nodes", "", "", "*"),
            (None, Some(name)) if constrained => ask(group, "nodes", "", "", name),
            (None, _) => ask(group, "users", "", "", &self.user),
        });
        if !self.uid.is_empty() {
            all.push(ask(AUTHENTICATION, "uids", "", "", &self.uid));
        }
        all.extend(self.groups.iter().map(|name| ask(group, "groups", "", "", name)));
        all.extend(
            self.extra.iter().map(|(key, value)| ask(AUTHENTICATION, "userextras", key, "", value)),
        );
        all
    }

    fn granted(self, mode: Mode) -> User {
        let groups = match mode {
            Mode::AssociatedNode | Mode::ArbitraryNode => vec!["system:nodes".to_owned()],
            _ => self.groups,
        };
        let user = User::with_groups(&self.user, known_groups(&self.user, groups)).uid(self.uid);
        self.extra.into_iter().fold(user, |user, (key, value)| user.extra(key, value))
    }

    /// Formats as Go's `%#v` of a `*user.DefaultInfo`.
    fn in_go(&self) -> String {
        let list = |texts: &[&String]| {
            let texts: Vec<_> = texts.iter().map(|text| format!("{text:?}")).collect();
            format!("[]string{{{}}}", texts.join(", "))
        };
        let groups = match &*self.groups {
            [] => "[]string(nil)".to_owned(),
            groups => list(&groups.iter().collect::<Vec<_>>()),
        };
        let mut keys: Vec<_> = self.extra.iter().map(|(key, _)| key).collect();
        keys.dedup();
        let values = |key: &String| {
            let values =
                self.extra.iter().filter(|(other, _)| other == key).map(|(_, value)| value);
            format!("{key:?}:{}", list(&values.collect::<Vec<_>>()))
        };
        let extra = match &*keys {
            [] => "map[string][]string(nil)".to_owned(),
            keys => {
                let members: Vec<_> = keys.iter().map(|key| values(key)).collect();
                format!("map[string][]string{{{}}}", members.join(", "))
            }
        };
        format!(
            "&user.DefaultInfo{{Name:\"\", UID:{:?}, Groups:{groups}, Extra:{extra}}}",
            self.uid
        )
    }
}

/// The groups of an impersonated user (`WithImpersonation` of k8s.io/apiserver): those of the
/// request, or the default ones of a service account. Always adds the authenticated or
/// unauthenticated group.
fn known_groups(user: &str, mut groups: Vec<String>) -> Vec<String> {
    let user = User::new(user);
    let own = user.groups();
    if groups.is_empty() {
        return own.to_vec();
    }
    let has = |group: &str| groups.iter().any(|of| of == group);
    if let Some(last) = own.last() {
        let is_known = has(last) || (user != User::anonymous() && has("system:unauthenticated"));
        if !is_known {
            groups.push(last.clone());
        }
    }
    groups
}
