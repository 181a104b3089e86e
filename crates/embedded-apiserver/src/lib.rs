//! A Kubernetes API server in the process, for tests, demos and small set-ups.
