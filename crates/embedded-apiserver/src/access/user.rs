//! Who makes a request.

use http::Request;

use api_front::User;

/// The user of a request; the pipeline has put one there.
pub(crate) fn user_of<B>(request: &mut Request<B>) -> User {
    request.extensions_mut().get_or_insert_with(User::anonymous).clone()
}
