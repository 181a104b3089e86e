//! The kinds of reviews: they are created and never stored.

use crate::api::kind::Kind;
use crate::strategy::builtin::named_create::is_binding;

pub(crate) const AUTHORIZATION: &str = "authorization.k8s.io";
pub(crate) const AUTHENTICATION: &str = "authentication.k8s.io";

/// The kinds of reviews.
pub(crate) fn kinds() -> [Kind; 6] {
    let cluster = |group, kind, plural| Kind::cluster_scoped(group, "v1", kind, plural);
    [
        cluster(AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews"),
        cluster(AUTHENTICATION, "TokenReview", "tokenreviews"),
        Kind::namespaced(
            AUTHORIZATION,
            "v1",
            "LocalSubjectAccessReview",
            "localsubjectaccessreviews",
        ),
        cluster(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
        cluster(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
        cluster(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews"),
    ]
}

/// Whether objects of the kind are stored. Reviews and Bindings are only created.
pub(crate) fn is_stored(kind: &Kind) -> bool {
    !is_review(kind) && !is_binding(kind)
}

/// Whether the kind is a review. Their groups have no other kinds.
pub(crate) fn is_review(kind: &Kind) -> bool {
    matches!(kind.group(), AUTHORIZATION | AUTHENTICATION)
}
