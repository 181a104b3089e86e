//! Tests of the options: versions in the server's order, strategies, names, and refusals.

use super::*;

#[test]
fn versions_are_those_of_semver_and_in_its_order() {
    // The order of semver.org, clause 11.
    let ordered = [
        "0.0.0",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0",
        "1.2.0",
        "1.10.0",
        "18446744073709551615.0.0",
    ];
    let versions: Vec<SemVer> =
        ordered.iter().map(|text| SemVer::parse(text).expect(text)).collect();
    assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
    assert_eq!(
        SemVer::parse("1.0.0+a.b-c"),
        SemVer::parse("1.0.0"),
        "build metadata does not count"
    );
    let wrong = [
        "",
        "1",
        "1.2",
        "v1.2.3",
        "1.2.3.4",
        "01.2.3",
        "1.2.03",
        "1.2.-3",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3-a..b",
        "1.2.3+",
        "1.2.3+ä",
        " 1.2.3",
        "1.2.3 ",
        "+1.2.3",
        "18446744073709551616.0.0",
        "1.2.3-ä",
    ];
    for text in wrong {
        assert_eq!(SemVer::parse(text), None, "{text:?}");
    }
}

fn refused(coordination: &Coordination) -> (&'static str, String) {
    let error = coordination.wanted("lease").unwrap_err();
    (error.field, error.to_string())
}

#[test]
fn what_is_refused_is_named_with_its_value_and_the_rule() {
    let (field, text) = refused(&Coordination::new("v1.4.0"));
    assert_eq!(field, "binary_version");
    assert!(text.contains("\"v1.4.0\"") && text.contains("no 'v' before"), "{text}");
    let (field, text) = refused(&Coordination::new("1.4.0").emulating("1.5.0"));
    assert_eq!(field, "emulation_version");
    assert!(
        text.contains("\"1.5.0\"") && text.contains("at most the binary version \"1.4.0\""),
        "{text}"
    );
    assert_eq!(refused(&Coordination::new("1.4.0").emulating("1.4")).0, "emulation_version");
    assert_eq!(refused(&Coordination::new("0.0.0")).0, "emulation_version");
    for name in ["Nearest", "/nearest", "example.com/", "Example.com/a", "example.com/-a", "a/b/c"]
    {
        assert_eq!(
            refused(&Coordination::new("1.0.0").strategy(Strategy::Other(name.into()))).0,
            "strategy"
        );
    }
}

#[test]
fn what_is_fine_is_passed_on_as_it_is() {
    let fine = Coordination::new("1.4.0-rc.1+7").emulating("1.3.0").wanted("lease").unwrap();
    assert_eq!((&*fine.binary_version, &*fine.emulation_version), ("1.4.0-rc.1+7", "1.3.0"));
    assert_eq!((&*fine.strategy, &*fine.lease), ("OldestEmulationVersion", "lease"));
    let other =
        Coordination::new("0.0.0").strategy(Strategy::Other("example.com/Nearest_1".into()));
    assert_eq!(
        other.wanted("lease").unwrap().strategy,
        "example.com/Nearest_1",
        "a third party's is passed through"
    );
    assert!(!other.is_servers());
}

#[test]
fn an_identity_is_a_name_or_refused_and_one_left_out_becomes_one() {
    let error = named(Config::builder("ns", "lease").identity("pod_1")).unwrap_err();
    assert_eq!(error.field, "identity");
    assert!(error.bound.contains("DNS-1123 subdomain"), "{error}");
    let config =
        named(Config::builder("ns", "lease").identity("pod-1.x")).unwrap().build().unwrap();
    assert_eq!(config.identity(), "pod-1.x");
    let one = named(Config::builder("ns", "lease")).unwrap().build().unwrap();
    let other = named(Config::builder("ns", "lease")).unwrap().build().unwrap();
    assert_ne!(one.identity(), other.identity());
}

#[test]
fn renewals_within_a_second_are_refused_with_the_numbers() {
    let config = |millis| {
        let builder =
            Config::builder("ns", "lease").fast().retry_period(Duration::from_millis(millis));
        builder.build().unwrap()
    };
    assert!(paced(config(1000)).is_ok());
    for millis in [999, 500, 10] {
        let error = paced(config(millis)).unwrap_err();
        assert_eq!(error.field, "retry_period");
        assert_eq!(error.value, format!("{millis}ms"));
        assert!(error.bound.contains("at least 1s"), "{error}");
    }
}
