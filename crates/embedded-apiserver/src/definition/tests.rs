//! Definitions on their own.
