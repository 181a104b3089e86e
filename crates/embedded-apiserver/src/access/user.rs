//! The user of a request.

use http::Request;

use api_front::User;

/// Returns the user that the pipeline has set.
pub(crate) fn user_of<B>(request: &mut Request<B>) -> User {
    request.extensions_mut().get_or_insert_with(User::anonymous).clone()
}
