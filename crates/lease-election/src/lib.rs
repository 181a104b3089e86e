//! Leader election on a Kubernetes Lease that is safe under every assumption it states, and says which they are.
