//! The built-in kinds: a file for each kind with rules of its own, and the table of all.

mod admission_policy;
mod admission_policy_binding;
mod admission_rule;
mod api_service;
mod cells;
mod certificate_signing_request;
mod cidr;
mod conditions;
mod config_data;
mod config_map;
mod controller_revision;
mod cron_job;
mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
mod custom_resource_definition;
mod daemon_set;
mod deployment;
mod device_class;
mod endpoint_slice;
mod endpoints;
pub(crate) mod event;
mod horizontal_pod_autoscaler;
mod flow_rules;
mod flow_schema;
mod go_struct;
mod ingress;
mod ingress_class;
mod ip_address;
pub(crate) mod job;
pub(crate) mod label_selector;
mod lease;
mod lease_candidate;
mod match_conditions;
mod match_resources;
mod limit_range;
pub(crate) mod members;
pub(crate) mod named_create;
mod namespace;
mod network_policy;
mod node;
mod persistent_volume;
pub(crate) mod persistent_volume_claim;
mod pod;
mod pod_disruption_budget;
mod pod_spec;
mod pod_template;
mod priority_class;
mod replica_set;
mod replication_controller;
mod resource_names;
mod resource_quota;
mod priority_level;
mod resource_claim;
mod resource_slice;
mod role;
mod role_binding;
mod row;
mod runtime_class;
pub(crate) mod scale;
mod secret;
pub(crate) mod service;
mod service_account;
mod service_cidr;
mod static_suffix;
mod stateful_set;
mod storage_class;
#[cfg(test)]
mod tests;
mod topology;
mod values;
mod volume_attachment;
mod volume_attributes_class;
mod volume_values;
mod webhook;
mod webhook_client;
mod webhook_configuration;
mod workload;

pub(crate) use crate::strategy::builtin::row::Row;

/// All built-in kinds. Kinds without rules of their own are rows at the end.
pub(crate) static KINDS: &[&Row] = &[
    &custom_resource_definition::CUSTOM_RESOURCE_DEFINITION,
    &persistent_volume_claim::PERSISTENT_VOLUME_CLAIM,
    &persistent_volume::PERSISTENT_VOLUME,
    &config_map::CONFIG_MAP,
    &event::CORE_EVENT,
    &event::EVENT,
    &namespace::NAMESPACE,
    &node::NODE,
    &pod::POD,
    &secret::SECRET,
    &service_account::SERVICE_ACCOUNT,
    &service::SERVICE,
    &endpoints::ENDPOINTS,
    &endpoint_slice::ENDPOINT_SLICE,
    &deployment::DEPLOYMENT,
    &replica_set::REPLICA_SET,
    &job::JOB,
    &replication_controller::REPLICATION_CONTROLLER,
    &pod_template::POD_TEMPLATE,
    &limit_range::LIMIT_RANGE,
    &resource_quota::RESOURCE_QUOTA,
    &stateful_set::STATEFUL_SET,
    &daemon_set::DAEMON_SET,
    &controller_revision::CONTROLLER_REVISION,
    &cron_job::CRON_JOB,
    &pod_disruption_budget::POD_DISRUPTION_BUDGET,
    &horizontal_pod_autoscaler::HORIZONTAL_POD_AUTOSCALER,
    &horizontal_pod_autoscaler::HORIZONTAL_POD_AUTOSCALER_V1,
    &priority_class::PRIORITY_CLASS,
    &runtime_class::RUNTIME_CLASS,
    &lease::LEASE,
    &lease_candidate::LEASE_CANDIDATE,
    &role::ROLE,
    &role_binding::ROLE_BINDING,
    &role::CLUSTER_ROLE,
    &role_binding::CLUSTER_ROLE_BINDING,
    &storage_class::STORAGE_CLASS,
    &ingress::INGRESS,
    &ingress_class::INGRESS_CLASS,
    &network_policy::NETWORK_POLICY,
    &ip_address::IP_ADDRESS,
    &service_cidr::SERVICE_CIDR,
    &volume_attachment::VOLUME_ATTACHMENT,
    &csi_driver::CSI_DRIVER,
    &csi_node::CSI_NODE,
    &csi_storage_capacity::CSI_STORAGE_CAPACITY,
    &volume_attributes_class::VOLUME_ATTRIBUTES_CLASS,
    &certificate_signing_request::CERTIFICATE_SIGNING_REQUEST,
    &api_service::API_SERVICE,
    &flow_schema::FLOW_SCHEMA,
    &priority_level::PRIORITY_LEVEL_CONFIGURATION,
    &device_class::DEVICE_CLASS,
    &resource_claim::RESOURCE_CLAIM,
    &resource_claim::RESOURCE_CLAIM_TEMPLATE,
    &resource_slice::RESOURCE_SLICE,
    &webhook_configuration::VALIDATING_WEBHOOK_CONFIGURATION,
    &webhook_configuration::MUTATING_WEBHOOK_CONFIGURATION,
    &admission_policy::VALIDATING_ADMISSION_POLICY,
    &admission_policy_binding::VALIDATING_ADMISSION_POLICY_BINDING,
    &admission_policy::MUTATING_ADMISSION_POLICY,
    &admission_policy_binding::MUTATING_ADMISSION_POLICY_BINDING,
];
