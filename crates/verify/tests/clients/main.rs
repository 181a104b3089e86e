//! Clients that are not ours against the embedded server's listener: kubectl, and client-go's
//! informer.

mod both;
mod client_go;
mod election;
mod kubectl;
mod operations;
mod strategic;
mod texts;
