//! What the embedded server must do, in seventeen points, and which cases each point is proved by.

/// One of the points.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MustHave {
    /// Its number, from 1.
    pub number: u8,
    /// The point, in one sentence.
    pub what: &'static str,
    /// The cases: beginnings of `group::name`, a whole group as `group::`.
    pub cases: &'static [&'static str],
}

impl MustHave {
    /// Whether a case, given as `group::name`, is about this.
    #[must_use]
    pub fn has(&self, case: &str) -> bool {
        self.cases.iter().any(|begin| case.starts_with(begin))
    }
}

/// All points. Who adds a group adds it where it belongs; what goes beyond the points stands in
/// none.
pub const MUST_HAVES: [MustHave; 17] = [
    MustHave {
        number: 1,
        what: "One revision for all writes; lists, objects and the events of deletions carry it.",
        cases: &[
            "versions::writes_to_any_kind",
            "versions::a_list_has",
            "versions::an_object_keeps",
            "versions::a_get_",
            "versions::a_recreated_object",
            "deletes::the_deleted_event",
            "finalizers::the_deleted_event",
            "statuses::a_status_write_counts",
            "watches::a_watch_resumes",
            "watches::two_writes",
            "lists::a_list_that_is_not_older",
            "lists::an_exact_list",
        ],
    },
    MustHave {
        number: 2,
        what: "A write that changes nothing changes nothing: no revision, no event.",
        cases: &[
            "writes::an_equal_",
            "writes::a_write_that_takes_nothing_away",
            "writes::empty_maps",
            "writes::a_dry_run",
            "writes::null_members",
            "statuses::an_equal",
            "statuses::only_a_status_change",
            "metadata::sent_managed_fields",
            "patches::an_empty_json_patch",
            "finalizers::a_second_delete",
            "finalizers::a_dry_run",
            "storage::an_equal_size",
        ],
    },
    MustHave {
        number: 3,
        what: "Optimistic concurrency: stale writes, existing names and failed preconditions are conflicts.",
        cases: &[
            "writes::create_of_an_existing",
            "writes::create_with_",
            "writes::replace_of_a_",
            "writes::replace_without_a_version",
            "writes::replace_with_",
            "writes::replace_creates",
            "writes::of_two_replaces",
            "patches::a_patch_with_",
            "patches::a_test_of_the_version",
            "patches::a_replace_of_the_version",
            "deletes::a_uid_precondition",
            "deletes::a_version_precondition",
            "deletes::preconditions",
            "statuses::a_stale",
        ],
    },
    MustHave {
        number: 4,
        what: "Get, list, create, replace, patch, delete and deletecollection in every scope, and what they refuse.",
        cases: &[
            "writes::",
            "names::",
            "deletes::",
            "collections::",
            "custom::",
            "namespaces::",
            "verbs::",
        ],
    },
    MustHave {
        number: 5,
        what: "JSON patch, merge patch and strategic merge patch.",
        cases: &["patches::"],
    },
    MustHave {
        number: 6,
        what: "Server-side apply: managers, conflicts, force, what is no longer applied, keyed and set lists.",
        cases: &["apply::", "managed::", "metadata::managed_fields", "verbs::apply_"],
    },
    MustHave {
        number: 7,
        what: "The status subresource: main writes leave it, its writes leave the rest; scale.",
        cases: &["statuses::", "workloads::a_pods_status"],
    },
    MustHave {
        number: 8,
        what: "Generation: where there is one, what counts it and what does not.",
        cases: &[
            "versions::most_kinds",
            "versions::a_custom_object",
            "versions::a_change_of",
            "versions::any_member",
            "versions::without_a_status",
            "versions::the_beginning",
            "versions::the_deletion",
            "versions::a_pod_has",
            "workloads::a_pods_image",
            "writes::an_equal_write_of_a_custom_object",
            "writes::replace_cannot_change",
        ],
    },
    MustHave {
        number: 9,
        what: "Finalizers hold what is deleted, and none is added then.",
        cases: &["finalizers::", "collections::held_objects"],
    },
    MustHave {
        number: 10,
        what: "Watches: resumed, selected, bookmarked, with initial events, ended, and 410 when history is gone.",
        cases: &[
            "watches::",
            "following::",
            "deletes::the_deleted_event",
            "finalizers::a_watch",
            "events::a_watch",
        ],
    },
    MustHave {
        number: 11,
        what: "Lists: pages of one snapshot, tokens, matches of resource versions, counts.",
        cases: &["lists::", "continuing::"],
    },
    MustHave {
        number: 12,
        what: "Metadata alone, tables, and what else may be accepted or not.",
        cases: &["media::", "watches::metadata_can_be_watched"],
    },
    MustHave { number: 13, what: "Selectors of labels and of fields.", cases: &["selectors::"] },
    MustHave {
        number: 14,
        what: "Custom kinds, and the discovery of all kinds.",
        cases: &[
            "discovery::",
            "custom::",
            "definitions::",
            "schemas::",
            "rules::",
            "verdicts::",
            "expressions::",
        ],
    },
    MustHave {
        number: 15,
        what: "Leases that two electors can race for, with their times as they were sent.",
        cases: &[
            "metadata::micro_times",
            "metadata::a_lease",
            "writes::replace_of_a_lease",
            "writes::replace_creates_a_lease",
            "writes::replace_of_a_missing_lease",
            "writes::an_equal_write_of_a_lease",
            "writes::errors_name_the_group",
            "writes::get_of_a_missing",
            "discovery::leases",
            "versions::most_kinds",
        ],
    },
    MustHave {
        number: 16,
        what: "Faults on request: what a client sees of each, in front of either server.",
        cases: &["faults::"],
    },
    MustHave {
        number: 17,
        what: "Paused time: every case passes in process while tokio's clock stands still; these depend on time.",
        cases: &[
            "watches::a_watch_ends",
            "watches::a_negative_time",
            "watches::a_watch_from_the_future",
            "watches::initial_events_end",
            "versions::a_get_from_the_future",
            "lists::a_list_from_the_future",
            "storage::a_claim_names",
            "storage::a_volume_",
            "storage::a_free_volume",
            "storage::a_bound_volume_is_protected",
            "storage::an_available_volume",
            "storage::a_claim_whose_volume",
            "finalizers::the_deletion_time",
            "metadata::creation_times",
            "deletes::a_pod_has_at_least",
        ],
    },
];
