//! The dependency law: which arrows pass, and what is said of those that do not.

use super::{Arrow, violation};

const DOWN: Arrow<'_> = Arrow {
    from: "wq-delay",
    from_published: true,
    to: "wq-core",
    to_ours: Some(true),
    dev: false,
    versioned: true,
    optional: false,
};

#[track_caller]
fn refused(arrow: Arrow<'_>, why: &str) {
    let said = violation(arrow).unwrap_or_default();
    assert!(said.contains(why), "{arrow:?}: {said:?}");
}

#[test]
fn an_arrow_that_points_down_passes() {
    assert_eq!(violation(DOWN), None);
}

#[test]
fn an_arrow_that_points_up_or_past_a_layer_is_refused() {
    refused(Arrow { from: "wq-core", to: "wq-delay", ..DOWN }, "does not point down");
    refused(Arrow { from: "reconciler", to: "wq-core", ..DOWN }, "does not point down");
}

#[test]
fn nothing_published_depends_on_anything_unpublished() {
    refused(Arrow { to: "wq-contract", to_ours: Some(false), ..DOWN }, "which is not");
    assert_eq!(
        violation(Arrow {
            from: "demo",
            from_published: false,
            to: "verify",
            to_ours: Some(false),
            ..DOWN
        }),
        None
    );
}

#[test]
fn an_optional_arrow_must_be_optional() {
    let election = Arrow { from: "reconciler", to: "lease-election", ..DOWN };
    refused(election, "only behind a feature");
    assert_eq!(violation(Arrow { optional: true, ..election }), None);
}

#[test]
fn dev_dependencies_among_ours_carry_no_version_and_others_do() {
    let contract =
        Arrow { to: "wq-contract", to_ours: Some(false), dev: true, versioned: false, ..DOWN };
    assert_eq!(violation(contract), None);
    refused(Arrow { versioned: true, ..contract }, "without a version");
    assert_eq!(
        violation(Arrow { to: "proptest", to_ours: None, versioned: true, ..contract }),
        None
    );
    refused(Arrow { versioned: false, ..DOWN }, "cannot be published");
}

#[test]
fn heavy_crates_stay_out_of_the_layers_that_do_without_them() {
    refused(
        Arrow { from: "wq-core", to: "tokio", to_ours: None, optional: true, ..DOWN },
        "must not depend on tokio",
    );
    assert_eq!(
        violation(Arrow { from: "wq-core", to: "tokio", to_ours: None, dev: true, ..DOWN }),
        None
    );
}
