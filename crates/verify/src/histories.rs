//! Recorded histories of watches and of one object, and what must hold of them; pure judges, and
//! the recorder they are fed by.
//!
//! The judges know nothing of a server: they get what clients saw, and say which promise it breaks.

mod record;
mod register;
mod watch;

pub use crate::histories::record::{Gaps, Recorded, Scene, race, record};
pub use crate::histories::register::{Access, Effect, linearizable};
pub use crate::histories::watch::{Change, Kind, Seen, Selection, judge};
