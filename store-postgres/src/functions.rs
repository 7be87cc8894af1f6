//! The functions that decide, one file each, and the view for people.
//!
//! They belong to the program, not to the data: whoever opens the store with other functions than are there
//! replaces them all, in one transaction.

use holdover_core::payload::Digest;

macro_rules! files {
    ($($folder:literal: $($name:literal)*;)*) => {
        [
            ("types", include_str!("../functions/types.sql")),
            $($((
                concat!($folder, "/", $name),
                include_str!(concat!("../functions/", $folder, "/", $name, ".sql")),
            ),)*)*
        ]
    };
}

/// All that is made anew: types first, views last; functions in any order.
pub(crate) const ALL: [(&str, &str); 71] = files! {
    "rules": "accept" "accept_all" "admits" "after" "append_checkpoint" "append_events" "append_messages" "apply_messages" "are_counts" "are_ids" "are_intact" "at_rest" "check_facts" "claim" "claimable" "clear_interrupt" "clear_tombstones" "delete_rows" "due_now" "end_lease" "end_stream" "enter" "give_back" "hint" "inbox_after" "is_due" "is_id" "is_utf8" "keep_lease" "named_by_tombstone" "now_ms" "open_pending" "reaches" "receipt_of" "release" "ring_at" "save" "stage" "stage_conflict" "surroundings_of" "unreadable" "wait_for" "wakes" "wanted_at_once" "was_applied";
    "write": "append_deltas" "check_interrupt_flag" "claim_due" "claim_session" "compare_and_set_status" "create_session" "delete_session" "deliver" "fork_session" "purge" "renew_lease" "request_interrupt" "save_state_and_promote_staging" "stage_result";
    "read": "list_checkpoints" "list_pending" "list_runs" "list_sessions" "load_session" "read_events" "read_inbox" "read_messages";
    "view": "readable" "instant" "transcript";
};

/// Removes whatever an earlier program made: everything in the schema but tables and their types.
pub(crate) const DROP: &str = include_str!("../functions/drop.sql");

/// By what it is known whether the functions of a schema are those of this program.
pub(crate) fn digest() -> Digest {
    let text: Vec<&str> = ALL.iter().map(|(_, sql)| *sql).collect();
    Digest::of(text.join("\0").as_bytes())
}
