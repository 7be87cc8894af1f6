//! The answers that scripts must reach.

use std::collections::BTreeSet;

use super::{Answer, Powers, Request};

/// A condition under which an answer is reachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Time,
    /// Several due sessions that are claimed in a known order.
    Order,
    Forks,
    Purge,
}

use Needs::{Forks, Nothing, Order, Purge, Time};

/// Every operation with each answer that scripts must reach. No script reaches these:
///
/// | answer | reason |
/// |---|---|
/// | `TooLarge` | sizes have their own cases (`data.limit_boundary_exact`) and would fill the scripts |
/// | `Unsupported` | a store is not asked for capabilities that it lacks |
/// | `Corrupt`, `KeyMissing`, `Newer`, `Unavailable`, `Full`, `Backend` | nothing is broken; other tests have faults |
/// | the answer of `wait_for_change` | a hint has one answer, whatever happened |
const REACHABLE: &[(&str, Needs, &[&str])] = &[
    (
        "create_session",
        Nothing,
        &["created", "created, claimed", "already exists", "deleted", "item conflict", "invalid argument"],
    ),
    ("load_session", Nothing, &["nothing", "one"]),
    ("list_sessions", Nothing, &["nothing", "one", "several"]),
    ("delete_session", Nothing, &["deleted", "active", "version conflict", "not found"]),
    (
        "claim_session",
        Nothing,
        &["claimed", "held", "version conflict", "lease ended", "item refused", "aborted", "not found"],
    ),
    ("claim_session", Nothing, &["invalid argument"]),
    ("claim_session", Time, &["taken over"]),
    ("claim_due", Time, &["nothing", "one"]),
    ("claim_due", Order, &["several"]),
    (
        "compare_and_set_status",
        Nothing,
        &["moved", "version conflict", "not allowed", "item refused", "not found"],
    ),
    ("renew_lease", Nothing, &["renewed", "stale fence"]),
    ("stage_result", Nothing, &["staged", "conflict", "stale fence"]),
    (
        "commit",
        Nothing,
        &["committed", "version conflict", "stale fence, not applied", "stale fence, unknown"],
    ),
    (
        "commit",
        Nothing,
        &["answer waiting", "not staged", "stage conflict", "pending conflict", "not in inbox"],
    ),
    ("commit", Nothing, &["invalid argument", "stale fence, applied"]),
    ("append_deltas", Nothing, &["appended", "ended", "gap", "stale fence", "invalid argument"]),
    ("take_interrupt", Nothing, &["clear", "waiting", "stale fence"]),
    (
        "deliver",
        Nothing,
        &["accepted", "duplicate", "conflict", "already answered", "not pending", "aborted", "not found"],
    ),
    ("request_interrupt", Nothing, &["requested", "already waiting", "at rest", "aborted", "not found"]),
    ("read_messages", Nothing, &["nothing", "one", "several", "error: not found"]),
    ("read_inbox", Nothing, &["nothing", "one", "several", "error: not found", "invalid argument"]),
    (
        "read_events",
        Nothing,
        &["events", "events, and more", "events and deltas", "gone", "not found", "invalid argument"],
    ),
    ("list_runs", Nothing, &["nothing", "one", "several", "error: not found"]),
    ("list_pending", Nothing, &["nothing", "one", "several"]),
    ("list_checkpoints", Nothing, &["nothing", "one", "several", "error: not found"]),
    (
        "fork_session",
        Forks,
        &["forked", "already exists", "deleted", "no source", "no checkpoint", "invalid argument"],
    ),
    ("purge", Purge, &["nothing", "sessions", "checkpoints", "invalid argument"]),
];

/// Answers that a script reaches too rarely to be demanded. They have cases of their own.
const RARE: &[Reached] = &[("request_interrupt", "over")];

/// The operations and answers that occurred.
#[derive(Debug, Clone, Default)]
pub(crate) struct Coverage(BTreeSet<(&'static str, &'static str)>);

/// An operation and the name of its answer.
pub(crate) type Reached = (&'static str, &'static str);

impl Coverage {
    pub(crate) fn note(&mut self, request: &Request, answer: &Answer) {
        self.0.insert((request.operation(), answer.name()));
    }

    /// Returns the answers that should have occurred and did not.
    pub(crate) fn missing(&self, powers: Powers) -> Vec<Reached> {
        let wanted = |needs: Needs| match needs {
            Nothing => true,
            Time => powers.moves_time,
            Order => powers.moves_time && powers.due_order,
            Forks => powers.forks,
            Purge => powers.retention && powers.moves_time,
        };
        let rows = REACHABLE.iter().filter(|(_, needs, _)| wanted(*needs));
        let all = rows.flat_map(|(operation, _, names)| names.iter().map(move |name| (*operation, *name)));
        all.filter(|reached| !self.0.contains(reached)).collect()
    }

    /// Returns the answers that occurred and are not in the table.
    pub(crate) fn undeclared(&self) -> Vec<Reached> {
        let declared = |(operation, name): &&Reached| {
            RARE.contains(&(*operation, *name))
                || REACHABLE.iter().any(|(row, _, names)| row == operation && names.contains(name))
        };
        self.0.iter().filter(|reached| !declared(reached)).copied().collect()
    }
}
