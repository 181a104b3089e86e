//! The embedded server beside what is known of the real one: the conformance cases, recorded
//! histories, clients that are not ours.

mod cases;
mod clients;
mod histories;
mod kinds;
mod sockets;
mod comparison;
mod differences;
mod judges;
