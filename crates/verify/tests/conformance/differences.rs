//! A stated difference is checked as it is stated: it can neither go away nor become another one
//! unseen.

use verify::conformance::{Case, Failure, Outcome, Server, Side, case, cases, run_one, verdict};

fn fails() -> Outcome {
    Err("not so".to_owned())
}

async fn outcome(side: Side, case: &Case) -> Result<(), String> {
    let server = Server::embedded()?;
    run_one(&server, side, case).await.map(drop)
}

#[tokio::test]
async fn a_difference_that_is_as_stated_passes_and_says_how() {
    let case = case("a", "a rule", async |_| fails()).differs("for a reason", async |_| Ok(()));
    assert_eq!(case.difference(), Some("for a reason"));
    assert_eq!(outcome(Side::Embedded, &case).await, Ok(()));
}

#[tokio::test]
async fn a_difference_that_is_gone_fails() {
    let case = case("a", "a rule", async |_| Ok(())).differs("for a reason", async |_| Ok(()));
    let why = outcome(Side::Embedded, &case).await.unwrap_err();
    assert_eq!(why, "it is the same now, and is said to differ: for a reason");
}

#[tokio::test]
async fn a_difference_that_is_another_one_fails() {
    let case = case("a", "a rule", async |_| fails()).differs("for a reason", async |_| fails());
    let why = outcome(Side::Embedded, &case).await.unwrap_err();
    assert_eq!(why, "it differs otherwise than stated (for a reason): not so");
}

#[tokio::test]
async fn the_real_server_may_not_differ() {
    let case = case("a", "a rule", async |_| fails()).differs("for a reason", async |_| Ok(()));
    assert_eq!(outcome(Side::Real, &case).await, Err("not so".to_owned()));
}

#[test]
fn a_case_knows_its_file_and_line() {
    let (here, case) = (line!(), case("a", "a rule", async |_| Ok(())));
    assert_eq!((case.place.file(), case.place.line()), (file!(), here));
    for case in cases() {
        let file = case.place.file();
        assert!(file.contains("/conformance/"), "{} is said to be in {file}", case.full_name());
    }
}

#[test]
fn a_verdict_ends_with_the_commands_that_run_what_failed() {
    let failure = |name: &str| Failure {
        name: name.to_owned(),
        rule: "a rule",
        place: "crates/verify/src/conformance/a.rs:7".to_owned(),
        why: String::new(),
    };
    let failures = [failure("a::b"), failure("a::b"), failure("a::a")];
    let command = |name: &str| {
        format!(
            "CONFORMANCE_FILTER={name} cargo test -p verify --test conformance -- --nocapture    \
             # crates/verify/src/conformance/a.rs:7"
        )
    };
    let expected = format!("2 cases failed; each alone:\n{}\n{}", command("a::a"), command("a::b"));
    assert_eq!(verdict(&failures, "--test conformance"), expected);
}
