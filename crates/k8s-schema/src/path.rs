//! `Path`: the place of a value in an object, a chain on the stack that is written out for errors.

use std::fmt::{self, Display, Write as _};

/// A place in an object, as `k8s.io/apimachinery/pkg/util/validation/field.Path` writes it.
#[derive(Debug, Clone, Copy)]
pub enum Path<'a> {
    /// The object itself: `<nil>`.
    Root,
    /// A field: `parent.name`.
    Field(&'a Self, &'a str),
    /// A key of a map: `[key]`.
    Key(&'a Self, &'a str),
    /// An item of a list: `[0]`.
    Index(&'a Self, usize),
}

impl<'a> Path<'a> {
    /// The field of this name below.
    pub const fn field(&'a self, name: &'a str) -> Self {
        Self::Field(self, name)
    }

    /// The key of a map below.
    pub const fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// The item of a list below.
    pub const fn index(&'a self, at: usize) -> Self {
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
