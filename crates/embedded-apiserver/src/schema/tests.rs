//! Schemas on their own.
