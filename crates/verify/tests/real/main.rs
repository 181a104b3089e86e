//! What is claimed of a real control plane, on one: kube-apiserver, etcd and
//! kube-controller-manager as processes of this machine.

mod compaction;
mod conformance;
mod deploy;
mod election;
mod fencing;
mod figure;
mod fuzz;
mod link;
mod plane;
mod provisioner;
mod rbac;
mod stores;
mod wrong_phase;
