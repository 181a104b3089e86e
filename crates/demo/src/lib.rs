//! Starts servers and provisioner replicas, breaks them, and judges from outside.
