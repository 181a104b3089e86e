//! The kinds of questions: they are posted, and their objects are never stored.

use crate::api::kind::Kind;

pub(crate) const AUTHORIZATION: &str = "authorization.k8s.io";
pub(crate) const AUTHENTICATION: &str = "authentication.k8s.io";

/// The kinds of questions.
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

/// Whether the kind is one of those: these groups have no others.
pub(crate) fn is_review(kind: &Kind) -> bool {
    matches!(kind.group(), AUTHORIZATION | AUTHENTICATION)
}
