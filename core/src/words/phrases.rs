//! Phrases for people, shared by command lines, lists and error texts.
//!
//! These phrases may change. Programs should read the wire names (`as_str`), which never change.

use crate::store::{OutcomeKind, PendingKind, SessionStatus};
use crate::time::Timestamp;
use crate::words::suspension::{Owed, OwedKind};

/// Returns the phrase for a status, to follow "the session is".
pub fn status(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Idle => "at rest",
        SessionStatus::Active => "running",
        SessionStatus::Suspended => "waiting",
        SessionStatus::Interrupted => "interrupted",
        SessionStatus::Failed => "failed",
        SessionStatus::Aborted => "aborted",
    }
}

/// Returns the phrase for the end of a run of this kind. If the things that the session waits for are known,
/// [`waits`] says more.
pub fn outcome(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Completed => "completed",
        OutcomeKind::SuspendedClientTool => "waits for approval or an answer",
        OutcomeKind::SuspendedAwaitingChildren => "waits for other sessions",
        OutcomeKind::SuspendedStepPartial => "waits for the rest of its step",
        OutcomeKind::SuspendedUntil => "waits for its time",
        OutcomeKind::Interrupted => "interrupted",
        OutcomeKind::Aborted => "aborted",
        OutcomeKind::Failed => "failed",
        OutcomeKind::Lost => "taken over by another run",
        OutcomeKind::Released => "given back",
    }
}

/// Returns the phrase for the answer that a pending call needs, to follow "waits for". An unknown kind is
/// returned unchanged.
pub fn pending(kind: &PendingKind) -> &str {
    match kind {
        PendingKind::Approval => "approval",
        PendingKind::ClientTool => "an answer",
        PendingKind::Child => "other sessions",
        PendingKind::InDoubt => "word of what became of a call",
        PendingKind::DeadLetter => "somebody to look at it",
        PendingKind::Other(name) => name.as_str(),
    }
}

/// Returns the phrase for the things that a suspended session waits for: `waits for approval`,
/// `waits for 2 answers`, `waits until 2024-05-01T12:00:00Z`. Timers are named only if no answer is pending.
pub fn waits(owed: &[Owed], until: Option<Timestamp>) -> String {
    let count = |kind| owed.iter().filter(|owed| owed.kind == kind).count();
    let [approvals, answers, children] =
        [OwedKind::Approval, OwedKind::ClientTool, OwedKind::Child].map(count);
    let signals: Vec<&str> = owed.iter().filter_map(|owed| Some(owed.signal.as_ref()?.as_str())).collect();
    match (signals.as_slice(), approvals + answers + children) {
        ([], _) => waits_for(approvals, answers, children, until),
        (signals, 0) => format!("waits for {}", signals_named(signals)),
        (signals, _) => {
            format!("{} and {}", waits_for(approvals, answers, children, until), signals_named(signals))
        }
    }
}

/// Returns the phrase for the signals with these names: `the signal paid`, `the signals paid, sent`.
fn signals_named(names: &[&str]) -> String {
    let many = if names.len() == 1 { "" } else { "s" };
    format!("the signal{many} {}", names.join(", "))
}

/// As [`waits`], given the numbers of approvals, of answers, and of calls that other sessions answer.
pub fn waits_for(approvals: usize, answers: usize, children: usize, until: Option<Timestamp>) -> String {
    let some = |kind: &PendingKind, number: usize, many: &str| match number {
        0 => None,
        1 => Some(pending(kind).to_owned()),
        number => Some(format!("{number} {many}")),
    };
    let others = Some(pending(&PendingKind::Child).to_owned()).filter(|_| children > 0);
    let parts: Vec<String> = [
        some(&PendingKind::Approval, approvals, "approvals"),
        some(&PendingKind::ClientTool, answers, "answers"),
        others,
    ]
    .into_iter()
    .flatten()
    .collect();
    match (parts.split_last(), until) {
        (Some((last, [])), _) => format!("waits for {last}"),
        (Some((last, before)), _) => format!("waits for {} and {last}", before.join(", ")),
        (None, Some(until)) => format!("waits until {until}"),
        (None, None) => "waits".to_owned(),
    }
}

/// Returns the phrase for the things that a suspended run left its session waiting for. If there are none,
/// the worker was asked to stop and the session is due at once: `waits for a worker`.
pub fn suspended(owed: &[Owed], until: Option<Timestamp>) -> String {
    match owed {
        [] => "waits for a worker".to_owned(),
        owed => waits(owed, until),
    }
}

/// Returns the phrase for the state of a call, given by its wire name. A name without a phrase is returned
/// unchanged.
pub fn call(state: &str) -> &str {
    match state {
        "gating" => "being checked",
        "blocked_on_user" => "waiting for approval",
        "blocked_on_client" => "waiting for an answer",
        "blocked_on_child" => "waiting for other sessions",
        "awaiting_signal" => "waiting for a signal",
        "awaiting_ends" => "waiting for background children",
        "waiting" => "waiting for its time",
        "cleaning_up" => "cleaning up",
        "rejected_by_user" => "denied",
        "in_doubt" => "in doubt",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::ids::CallId;

    #[test]
    fn people_read_no_wire_name_of_a_wait() {
        let words = SessionStatus::ALL.map(status).into_iter().chain(OutcomeKind::ALL.map(outcome));
        for word in words.chain(PendingKind::ALL.iter().map(pending)) {
            assert!(!word.contains('_') && !word.contains("client") && !word.contains("suspended"), "{word}");
        }
    }

    #[test]
    fn a_wait_says_who_owes_how_much() {
        use OwedKind::{Approval, ClientTool, Timer};
        let until = Some(Timestamp::from_ms(1_714_564_800_000));
        for (kinds, words) in [
            (&[Approval][..], "waits for approval"),
            (&[ClientTool], "waits for an answer"),
            (&[Approval, Approval, Timer], "waits for 2 approvals"),
            (&[ClientTool, ClientTool, ClientTool], "waits for 3 answers"),
            (&[Approval, ClientTool, ClientTool], "waits for approval and 2 answers"),
            (&[Timer], "waits until 2024-05-01T12:00:00Z"),
        ] {
            let owed: Vec<Owed> = kinds
                .iter()
                .map(|kind| Owed {
                    call: CallId::new("c1-0").expect("an id"),
                    tool: "tool".to_owned(),
                    kind: *kind,
                    pending: None,
                    signal: None,
                    until,
                })
                .collect();
            assert_eq!(waits(&owed, until), words);
        }
        assert_eq!(waits(&[], None), "waits");
        assert_eq!(suspended(&[], until), "waits for a worker");
    }
}
