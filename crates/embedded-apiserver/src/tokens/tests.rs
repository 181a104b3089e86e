//! Schemes, wrong and missing tokens.

use super::{ANONYMOUS, Tokens, Unauthorized};
use http::{HeaderMap, HeaderValue, header};

fn with(value: Option<&'static str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(value) = value {
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
    }
    headers
}

fn two_users() -> Tokens {
    let mut tokens = Tokens::default();
    tokens.insert("writer", "w-token".to_owned());
    tokens.insert("judge", "j:token".to_owned());
    tokens
}

#[test]
fn without_tokens_everybody_is_anonymous() {
    let user = Tokens::default().authenticate(&with(Some("Bearer whatever"))).expect("open");
    assert_eq!(&*user, ANONYMOUS);
}

#[test]
fn a_token_names_its_user_in_both_schemes() {
    let tokens = two_users();
    let user = |value| tokens.authenticate(&with(Some(value))).map(|user| user.to_string());
    assert_eq!(user("Bearer w-token").as_deref(), Ok("writer"));
    assert_eq!(user("bearer   j:token ").as_deref(), Ok("judge"));
    // judge:j:token
    assert_eq!(user("Basic anVkZ2U6ajp0b2tlbg==").as_deref(), Ok("judge"));
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
    ] {
        assert_eq!(tokens.authenticate(&with(value)), Err(Unauthorized), "{value:?}");
    }
}

#[test]
fn the_debug_form_shows_users_and_no_tokens() {
    let shown = format!("{:?}", two_users());
    assert!(shown.contains("writer") && !shown.contains("token"), "{shown}");
}
