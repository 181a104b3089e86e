//! Standing: the place of the library's `standing`, since no term of these scenarios is
//! coordinated.

/// No candidate stands.
#[derive(Debug)]
pub(crate) enum Standing {}

impl Standing {
    pub(crate) fn server_elects(&self) -> bool {
        match *self {}
    }
}
