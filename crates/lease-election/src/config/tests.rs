//! Config tests: what `build` accepts, and how it refuses the rest.

use super::*;

fn builder() -> ConfigBuilder {
    Config::builder("prod", "my-operator")
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let config = builder().build().unwrap();
    assert_eq!(config.lease_duration(), secs(15));
    assert_eq!(config.retry_period(), secs(2));
    assert_eq!(config.request_timeout(), secs(3));
    assert_eq!(config.stop_margin(), secs(2));
    assert_eq!(config.attempts_per_hold(), 3);
    // 15 s * 0.9995 / 1.0005 - 2 s.
    assert_eq!(config.hold(), Duration::from_nanos(12_985_007_496));
}

#[test]
fn each_preset_keeps_the_inequality_with_room_for_three_renewals_without_an_answer() {
    let millis = Duration::from_millis;
    let presets = [
        (builder().fast(), [5000, 1000, 900, 1000], 3_995_002_498),
        (builder().client_go_compatible(), [15_000, 2000, 2500, 5000], 9_985_007_496),
    ];
    for (preset, [lease, renew, request, margin], hold) in presets {
        let config = preset.clone().build().unwrap();
        assert_eq!(
            (config.lease_duration(), config.retry_period()),
            (millis(lease), millis(renew))
        );
        assert_eq!(
            (config.request_timeout(), config.stop_margin()),
            (millis(request), millis(margin))
        );
        assert_eq!(config.hold(), Duration::from_nanos(hold));
        assert_eq!((config.attempts_per_hold(), config.warnings()), (3, vec![]));
        // The preset keeps other values, and later calls override it.
        let config = preset.drain_timeout(secs(77)).stop_margin(millis(500)).build().unwrap();
        assert_eq!((config.drain_timeout(), config.stop_margin()), (secs(77), millis(500)));
    }
    let drained = builder().drain_timeout(secs(77));
    for preset in [drained.clone().fast(), drained.client_go_compatible()] {
        assert_eq!(preset.build().unwrap().drain_timeout(), secs(77));
    }
}

#[test]
fn client_gos_defaults_made_safe_stop_at_its_renew_deadline() {
    // LeaseDuration 15 s, RenewDeadline 10 s, RetryPeriod 2 s.
    let config = builder().client_go_compatible().build().unwrap();
    assert_eq!((config.lease_duration(), config.retry_period()), (secs(15), secs(2)));
    assert!(config.hold() <= secs(10) && config.hold() > Duration::from_millis(9_900));
    assert_eq!(config.stop_margin(), secs(15) - secs(10));
}

#[test]
fn default_identities_differ() {
    let (a, b) = (builder().build().unwrap(), builder().build().unwrap());
    assert_ne!(a.identity(), b.identity());
}

#[test]
fn v06_a_configuration_that_could_act_past_its_lease_is_refused_with_the_numbers() {
    let error = builder().retry_period(secs(10)).request_timeout(secs(5)).build().unwrap_err();
    assert_eq!(error.field, "retry_period");
    let text = error.to_string();
    for number in ["10s", "5s", "20s", "12.985007496s", "15s", "500 ppm", "2s"] {
        assert!(text.contains(number), "{number} is not in: {text}");
    }
    // client-go's 15/14/10, 2.9/2.8/2, 1.9/1.8/1 and 1/0.9/0.7, as the builder allows.
    for (lease, renew, timeout) in
        [(15_000, 10_000, 4_000), (2_900, 2_000, 800), (1_900, 1_000, 800), (1_000, 700, 200)]
    {
        let millis = Duration::from_millis;
        let result = builder()
            .lease_duration(millis(lease))
            .retry_period(millis(renew))
            .request_timeout(millis(timeout))
            .stop_margin(millis(50))
            .build();
        assert!(result.is_err(), "{lease}/{renew}/{timeout} was accepted");
    }
}

#[test]
fn the_inequality_is_exact() {
    // hold = 15 s - 1 s without drift; 2 + 2 * 6 = 14.
    let just = builder().clock_drift_ppm(0).stop_margin(secs(1)).request_timeout(secs(6));
    assert!(just.clone().build().is_ok());
    assert!(just.request_timeout(secs(6) + Duration::from_nanos(1)).build().is_err());
}

#[test]
fn v09_leases_of_a_fraction_of_a_second_are_refused() {
    for lease in [0, 900, 1_500, 14_999, 600_001] {
        let error =
            builder().fast().lease_duration(Duration::from_millis(lease)).build().unwrap_err();
        assert_eq!(error.field, "lease_duration", "{lease} ms");
    }
    assert_eq!(
        builder().lease_duration(Duration::MAX).build().unwrap_err().field,
        "lease_duration"
    );
    assert_eq!(
        builder().lease_duration(secs(1 << 31)).build().unwrap_err().field,
        "lease_duration"
    );
}

#[test]
fn upstream_config_validation_cases() {
    // client-go accepts 15/2/1 and rejects an empty identity.
    let upstream =
        builder().lease_duration(secs(15)).request_timeout(secs(2)).retry_period(secs(1));
    assert!(upstream.clone().identity("foo").build().is_ok());
    assert_eq!(upstream.identity("").build().unwrap_err().field, "identity");
}

#[test]
fn every_value_out_of_range_is_named() {
    let cases: Vec<(&str, ConfigBuilder)> = vec![
        ("retry_period", builder().retry_period(Duration::ZERO)),
        ("retry_period", builder().retry_period(Duration::from_nanos(1))),
        ("retry_period", builder().retry_period(Duration::MAX)),
        ("request_timeout", builder().request_timeout(Duration::ZERO)),
        ("request_timeout", builder().request_timeout(Duration::MAX)),
        ("stop_margin", builder().stop_margin(Duration::ZERO)),
        ("stop_margin", builder().stop_margin(secs(15))),
        ("clock_drift_ppm", builder().clock_drift_ppm(100_001)),
        ("clock_drift_ppm", builder().clock_drift_ppm(u32::MAX)),
        ("takeover_jitter", builder().takeover_jitter(secs(16))),
        ("foreign_lease_cap", builder().foreign_lease_cap(secs(60))),
        ("identity", builder().identity(" \t ")),
        ("identity", builder().identity("a\nb")),
        ("identity", builder().identity("x".repeat(254))),
    ];
    for (field, case) in cases {
        let error = case.build().unwrap_err();
        assert_eq!(error.field, field);
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn names_are_dns_1123_before_a_url_is_built_of_them() {
    for bad in ["", "A", "../x", "a/b", "a?b", "%2f", "-a", "a-", "a..b", ".a", "a_b", "ä", "a b"]
    {
        assert_eq!(Config::builder("ns", bad).build().unwrap_err().field, "name", "{bad:?}");
        assert_eq!(Config::builder(bad, "n").build().unwrap_err().field, "namespace", "{bad:?}");
    }
    assert!(Config::builder("ns", "a.b-c.d").build().is_ok());
    assert_eq!(Config::builder("a.b", "n").build().unwrap_err().field, "namespace");
    assert!(Config::builder("n".repeat(63), "n".repeat(253)).build().is_ok());
    assert_eq!(Config::builder("n".repeat(64), "n").build().unwrap_err().field, "namespace");
    assert_eq!(Config::builder("n", "n".repeat(254)).build().unwrap_err().field, "name");
}

#[test]
fn ranks_and_the_wait_for_a_successor_are_bounded() {
    let builder = || Config::builder("ns", "lease").identity("a");
    let config = builder().rank(MAX_RANK).hand_over_wait(Duration::from_secs(15)).build().unwrap();
    assert_eq!((config.rank(), config.hand_over_wait()), (Some(7), Duration::from_secs(15)));
    let error = builder().rank(8).build().unwrap_err();
    assert_eq!((error.field, error.value.as_str()), ("rank", "8"));
    assert!(error.to_string().contains("from 0 (the first) to 7"));
    let error = builder().hand_over_wait(Duration::from_millis(15_001)).build().unwrap_err();
    assert_eq!((error.field, error.value.as_str()), ("hand_over_wait", "15.001s"));
    // A candidate without a rank waits longest: a second, eight turns, and the jitter.
    assert_eq!(builder().build().unwrap().hold_back(), Duration::from_millis(2600));
    assert_eq!(config.turn(|_| Duration::MAX), Duration::from_millis(1400));
}
