//! The demo as its user meets it: real processes, real signals, real time.

mod stage;

mod bad_input;
mod cluster;
mod interrupted;
mod whole_run;
