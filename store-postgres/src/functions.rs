//! The functions that decide, one file each, and the view for people.
//!
//! They belong to the program, not to the data. Their names in the database carry a tag, made of all their text: so
//! programs of several versions work on the same tables at the same time, each with its own, and none replaces
//! another's. Tables and their types are named as in the files.

use std::fmt::Write;
use std::sync::Arc;

use holdover_store::payload::Digest;

use crate::sql::Schema;

macro_rules! files {
    ($($folder:literal: $($name:literal)*;)*) => {
        [$($(($name, include_str!(concat!("../functions/", $folder, "/", $name, ".sql"))),)*)*]
    };
}

/// All that a program brings: types first; functions in any order.
pub(crate) const ALL: [(&str, &str); 72] = files! {
    "types": "inbox_page" "surroundings";
    "rules": "accept" "accept_all" "admits" "after" "append_checkpoint" "append_events" "append_messages" "apply_messages" "are_counts" "are_ids" "are_intact" "at_rest" "check_facts" "claim" "claimable" "clear_interrupt" "clear_tombstones" "delete_rows" "due_now" "end_lease" "end_stream" "enter" "give_back" "hint" "inbox_after" "is_due" "is_id" "is_utf8" "keep_lease" "named_by_tombstone" "now_ms" "open_pending" "reaches" "receipt_of" "release" "ring_at" "same_server" "save" "stage" "stage_conflict" "surroundings_of" "unreadable" "wait_for" "wakes" "wanted_at_once" "was_applied";
    "write": "append_deltas" "take_interrupt" "claim_due" "claim_session" "compare_and_set_status" "create_session" "delete_session" "deliver" "fork_session" "purge" "renew_lease" "request_interrupt" "commit" "stage_result";
    "read": "list_checkpoints" "list_pending" "list_runs" "list_sessions" "load_session" "read_events" "read_inbox" "read_messages";
    "view": "readable" "instant";
};

/// The view that people read, over the functions of whichever program brought its own last.
pub(crate) const VIEW: &str = include_str!("../functions/view/transcript.sql");

/// What stands before every name in the files.
const IN_FILES: &str = "holdover.";

/// The functions of one version of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Functions {
    tag: Arc<str>,
}

impl Functions {
    /// Those of this program.
    pub(crate) fn own() -> Self {
        Self::of_version("")
    }

    /// Those of a program whose text differs from this one's by these words alone.
    pub(crate) fn of_version(words: &str) -> Self {
        let files = ALL.iter().map(|(_, sql)| *sql);
        let text: Vec<&str> = files.chain([VIEW, words]).collect();
        Self { tag: format!("{:.12}", Digest::of(text.join("\0").as_bytes()).to_string()).into() }
    }

    /// The end of all their names.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// What the function or type of this file is called in the database.
    pub(crate) fn name(&self, file: &str) -> String {
        format!("{file}_{}", self.tag)
    }

    /// The SQL of a file, with its names in this schema.
    pub(crate) fn qualify(&self, schema: &Schema, sql: &str) -> String {
        let mut parts = sql.split(IN_FILES);
        let mut qualified = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let tagged = ALL.iter().any(|(file, _)| *file == name);
            let name = if tagged { self.name(name) } else { name.to_owned() };
            // A String takes whatever is written to it.
            let _ = write!(qualified, "\"{schema}\".{name}{rest}");
        }
        qualified
    }
}

#[cfg(test)]
mod tests {
    use holdover_store::{
        INBOX_PAGE, InterruptKind, PAGE_BYTES_MAX, PendingKind, SessionStatus, TOMBSTONE_STANDS,
    };

    use super::*;

    #[test]
    fn every_name_in_a_file_is_qualified() {
        let (schema, functions) = (Schema::new("other").expect("a name"), Functions::own());
        let steps = crate::migration::STEPS.map(|step| ("a step", step));
        for (name, sql) in ALL.iter().chain([&("transcript", VIEW)]).chain(&steps) {
            let qualified = functions.qualify(&schema, sql);
            assert!(!qualified.contains("holdover"), "{name} names the schema in another way");
            assert!(qualified.contains("\"other\"."), "{name}");
        }
    }

    #[test]
    fn what_a_program_brings_carries_its_tag_and_what_is_everybodys_does_not() {
        let (own, other) = (Functions::own(), Functions::of_version("other"));
        assert_ne!(own.tag(), other.tag());
        let schema = Schema::new("s").expect("a name");
        let sql = "SELECT holdover.deliver(s) FROM holdover.session s, holdover.delivery, holdover.deliver";
        let tag = own.tag();
        let expected = format!(
            "SELECT \"s\".deliver_{tag}(s) FROM \"s\".session s, \"s\".delivery, \"s\".deliver_{tag}"
        );
        assert_eq!(own.qualify(&schema, sql), expected);
        for (file, _) in ALL {
            let name = own.name(file);
            assert!(name.len() <= 63, "Postgres would cut {name}");
        }
        for step in crate::migration::STEPS {
            for (name, _) in ALL {
                let made =
                    ["TABLE", "TYPE", "FUNCTION"].map(|what| format!("CREATE {what} holdover.{name} "));
                assert!(!made.iter().any(|made| step.contains(made)), "{name} is a name of the schema too");
            }
        }
    }

    /// The SQL repeats constants of the contract. Whoever changes one there, or writes another here, hears of it.
    #[test]
    fn the_numbers_in_the_files_are_those_of_the_contract() {
        let known: [(&str, u128); 10] = [
            ("PAGE_BYTES_MAX", PAGE_BYTES_MAX as u128),
            ("TOMBSTONE_STANDS", TOMBSTONE_STANDS.as_millis()),
            ("INBOX_PAGE", INBOX_PAGE.into()),
            ("ID_BYTES_MAX", holdover_store::ids::ID_BYTES_MAX as u128),
            ("what a count holds", u32::MAX.into()),
            ("the last instant", 9_223_372_036_854_775_807),
            ("the first instant, without its sign", 9_223_372_036_854_775_808),
            ("the last instant of a calendar", 253_402_300_799_999),
            ("the first instant of a calendar, without its sign", 62_135_596_800_000),
            ("what one call looks at", 10_000),
        ];
        let named = |number: u128| known.iter().find(|(_, known)| *known == number);
        let mut seen = std::collections::BTreeSet::new();
        for (file, sql) in ALL {
            for number in sql.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()) {
                let named = named(number);
                seen.extend(named.map(|(name, _)| *name));
                // The end of such a walk, the page of due sessions and of messages, and a wait: their own.
                let own = number <= 100 || [500, 1000, 1001, 9999].contains(&number);
                assert!(own || named.is_some() || file.starts_with("is_"), "{file}: {number} is nobody's");
            }
        }
        let unseen: Vec<_> = known.iter().filter(|(name, _)| !seen.contains(name)).collect();
        assert!(unseen.is_empty(), "{unseen:?}");
    }

    #[test]
    fn the_words_in_the_files_are_those_of_the_contract() {
        let unreadable = ALL.iter().find(|(name, _)| *name == "unreadable").expect("a file").1;
        let list = |words: &[&str]| format!("'{}'", words.join("', '"));
        let status = list(&SessionStatus::ALL.map(SessionStatus::as_str));
        assert_eq!(unreadable.matches(&format!("({status})")).count(), 2, "{status}");
        let interrupt = list(&[InterruptKind::Soft, InterruptKind::Abort].map(|kind| kind.as_str()));
        let pending = list(&PendingKind::ALL.map(PendingKind::as_str));
        for words in [format!("({interrupt})"), format!("[{pending}]")] {
            assert!(unreadable.contains(&words), "{words}");
        }
    }
}
