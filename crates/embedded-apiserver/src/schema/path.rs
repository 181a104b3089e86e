//! Where in an object a value is: a chain on the stack, written out only when something is wrong
//! there.

use std::fmt::{self, Display, Write as _};

/// A place in an object, as `k8s.io/apimachinery/pkg/util/validation/field.Path` writes it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The object itself: `<nil>`.
    Root,
    Field(&'a Self, &'a str),
    /// A key of a map: `[key]`.
    Key(&'a Self, &'a str),
    Index(&'a Self, usize),
}

impl<'a> Path<'a> {
    pub(crate) const fn field(&'a self, name: &'a str) -> Self {
        Self::Field(self, name)
    }

    pub(crate) const fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    pub(crate) const fn index(&'a self, at: usize) -> Self {
        Self::Index(self, at)
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(parent, name) => {
                parent.write(out)?;
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
                Ok(())
            }
            Self::Key(parent, key) => {
                parent.write(out)?;
                write!(out, "[{key}]")
            }
            Self::Index(parent, at) => {
                parent.write(out)?;
                write!(out, "[{at}]")
            }
        }
    }
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text)?;
        f.write_str(if matches!(self, Self::Root) { "<nil>" } else { &text })
    }
}
