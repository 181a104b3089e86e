//! JSON web tokens, signed with HMAC-SHA256. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value};
use sha2::Sha256;

/// As long as a block of SHA-256.
pub(super) type SigningKey = [u8; 64];

const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// A token with these claims.
pub(super) fn sign(key: &SigningKey, claims: &Value) -> String {
    let signed = [HEADER, &claims.to_string()].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let signature = URL_SAFE_NO_PAD.encode(signer(key, &signed).finalize().into_bytes());
    format!("{signed}.{signature}")
}

/// The claims of a token, whoever has signed it. `None`: it is no token of this form.
pub(super) fn claims(token: &str) -> Option<Map<String, Value>> {
    let (signed, _) = token.rsplit_once('.')?;
    let (_, claims) = signed.split_once('.')?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
}

/// Whether the token was signed with this key.
pub(super) fn is_signed(key: &SigningKey, token: &str) -> bool {
    let verify = || {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        signer(key, signed).verify_slice(&signature).ok()
    };
    verify().is_some()
}

fn signer(key: &SigningKey, signed: &str) -> Hmac<Sha256> {
    Hmac::<Sha256>::new(&(*key).into()).chain_update(signed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_token_has_its_claims_and_is_signed_with_one_key() {
        let token = sign(&[1; 64], &json!({ "iss": "a" }));
        assert_eq!(claims(&token), json!({ "iss": "a" }).as_object().cloned());
        assert!(is_signed(&[1; 64], &token) && !is_signed(&[2; 64], &token));
    }

    #[test]
    fn other_claims_need_another_signature() {
        let [one, other] = ["a", "b"].map(|issuer| sign(&[1; 64], &json!({ "iss": issuer })));
        let signature = one.rsplit('.').next().expect("three parts");
        let (signed, _) = other.rsplit_once('.').expect("three parts");
        assert!(!is_signed(&[1; 64], &format!("{signed}.{signature}")));
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for text in ["", ".", "..", "a.b.c", "a.e30", "e30.!.e30"] {
            assert_eq!(claims(text), None, "{text}");
            assert!(!is_signed(&[1; 64], text), "{text}");
        }
    }
}
