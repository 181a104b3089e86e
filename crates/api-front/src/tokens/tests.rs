//! Schemes, wrong and missing tokens.

use super::{Tokens, Unauthorized};
use crate::user::User;
use http::{HeaderMap, HeaderValue, header};

fn with(value: Option<&'static str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(value) = value {
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
    }
    headers
}

/// The server behind knows none.
fn none(_: &str) -> Result<Option<User>, String> {
    Ok(None)
}

fn two_users() -> Tokens {
    let mut tokens = Tokens::default();
    tokens.insert(User::new("writer"), "w-token".to_owned());
    tokens.insert(User::new("judge"), "j:token".to_owned());
    tokens.insert(User::service_account("ns", "sa"), "s-token".to_owned());
    tokens
}

#[test]
fn without_tokens_everybody_is_anonymous() {
    let user = Tokens::default().authenticate(&with(Some("Bearer whatever")), none).expect("open");
    assert_eq!(user, User::anonymous());
}

#[test]
fn a_token_names_its_user_in_both_schemes() {
    let tokens = two_users();
    let user =
        |value| tokens.authenticate(&with(Some(value)), none).map(|user| user.name().to_owned());
    assert_eq!(user("Bearer w-token").as_deref(), Ok("writer"));
    assert_eq!(user("bearer   j:token ").as_deref(), Ok("judge"));
    // judge:j:token
    assert_eq!(user("Basic anVkZ2U6ajp0b2tlbg==").as_deref(), Ok("judge"));
    // system:serviceaccount:ns:sa:s-token
    let account = "Basic c3lzdGVtOnNlcnZpY2VhY2NvdW50Om5zOnNhOnMtdG9rZW4=";
    assert_eq!(user(account).as_deref(), Ok("system:serviceaccount:ns:sa"));
}

#[test]
fn anything_else_is_unauthorized() {
    let tokens = two_users();
    for value in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer w-toke"),
        Some("Bearer w-token2"),
        Some("w-token"),
        Some("Digest w-token"),
        Some("Basic w-token"),
        Some("Basic ////"),
        Some("Basic d3JpdGVyOg=="),
        // writer:j:token, the token of another user
        Some("Basic d3JpdGVyOmo6dG9rZW4="),
    ] {
        assert_eq!(tokens.authenticate(&with(value), none), Err(Unauthorized), "{value:?}");
    }
}

#[test]
fn where_somebody_else_decides_only_a_request_without_credentials_is_anonymous() {
    let mut tokens = two_users();
    tokens.admit_anonymous = true;
    assert_eq!(tokens.authenticate(&with(None), none), Ok(User::anonymous()));
    assert_eq!(tokens.authenticate(&with(Some("Bearer wrong")), none), Err(Unauthorized));
}

#[test]
fn the_server_behind_is_asked_about_other_tokens() {
    let issued = |token: &str| match token {
        "issued" => Ok(Some(User::new("account"))),
        "expired" => Err("expired".to_owned()),
        _ => Ok(None),
    };
    for tokens in [Tokens::default(), two_users()] {
        let user = |value| tokens.authenticate(&with(Some(value)), issued);
        assert_eq!(user("Bearer issued"), Ok(User::new("account")));
        // account:issued
        assert_eq!(user("Basic YWNjb3VudDppc3N1ZWQ="), Ok(User::new("account")));
        assert_eq!(user("Bearer expired"), Err(Unauthorized));
    }
}

#[test]
fn the_debug_form_shows_users_and_no_tokens() {
    let shown = format!("{:?}", two_users());
    assert!(shown.contains("writer") && !shown.contains("token"), "{shown}");
}
