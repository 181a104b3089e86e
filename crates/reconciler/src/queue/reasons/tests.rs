//! Tests of merged reasons.

use super::*;

fn shown(reasons: Reasons, sources: &[&str]) -> Vec<String> {
    let sources: Vec<Arc<str>> = sources.iter().map(|name| Arc::from(*name)).collect();
    reasons.iter(&sources).map(|reason| reason.to_string()).collect()
}

#[test]
fn merging_keeps_every_source_and_kind_once() {
    let mut reasons = Reasons::change(SourceNumber::new(0), ChangeKind::Appeared);
    reasons.merge(Reasons::change(SourceNumber::new(1), ChangeKind::Vanished));
    reasons.merge(Reasons::change(SourceNumber::new(0), ChangeKind::Appeared));
    reasons.merge(Reasons::named(SourceNumber::new(1)));
    reasons.merge(Reasons::carried());
    assert_eq!(
        shown(reasons, &["claims", "volumes"]),
        ["claims appeared", "volumes vanished", "named by volumes", "carried over"]
    );
}

#[test]
fn sources_beyond_the_last_bit_share_it() {
    let names: Vec<String> = (0..34).map(|i| format!("s{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let reasons = Reasons::named(SourceNumber::new(33));
    assert_eq!(shown(reasons, &names), ["named by s31", "named by s32", "named by s33"]);
    assert_eq!(shown(Reasons::named(SourceNumber::new(30)), &names), ["named by s30"]);
}
