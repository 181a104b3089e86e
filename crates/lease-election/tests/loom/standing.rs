//! In place of the library's `standing`: no term of these scenarios is one of a coordinated
//! election.

/// Nobody stands.
#[derive(Debug)]
pub(crate) enum Standing {}

impl Standing {
    pub(crate) fn server_elects(&self) -> bool {
        match *self {}
    }
}
