//! The strategy of a built-in kind without rules of its own: flags.

use crate::strategy::columns::{self, Column};
use crate::strategy::{Generation, Strategy};

/// A built-in kind without rules of its own. All else is the default of [`Strategy`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Generic {
    /// Whether PUT of a missing object creates it.
    pub(crate) creates_on_update: bool,
    /// Whether PUT without a resourceVersion overwrites what is stored.
    pub(crate) updates_unconditionally: bool,
    /// The changes that increase the generation.
    pub(crate) generation: Generation,
    /// Whether DELETE answers with the object.
    pub(crate) delete_answers_object: bool,
    /// The columns of the tables that kubectl shows.
    pub(crate) columns: &'static [Column],
}

impl Generic {
    /// The flags that most kinds have.
    pub(crate) const MOST: Self = Self {
        creates_on_update: false,
        updates_unconditionally: true,
        generation: Generation::None,
        delete_answers_object: false,
        columns: columns::DEFAULT,
    };
}

impl Strategy for Generic {
    fn generation(&self) -> Generation {
        self.generation
    }

    fn creates_on_update(&self) -> bool {
        self.creates_on_update
    }

    fn updates_unconditionally(&self) -> bool {
        self.updates_unconditionally
    }

    fn delete_answers_object(&self) -> bool {
        self.delete_answers_object
    }

    fn columns(&self) -> &'static [Column] {
        self.columns
    }
}
