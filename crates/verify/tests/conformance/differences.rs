//! A stated difference is checked as it is stated: it can neither go away nor become another one unseen.

use verify::conformance::{Case, Outcome, Server, Side, case, run_one};

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
