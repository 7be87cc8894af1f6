//! Children: sessions whose turns answer a call of another session, their parent.
//!
//! A call of a sub-agent begins one child for each of its tasks. The parent opens one pending call for all of them,
//! and each child answers it with the outcome of its turn. The parent waits in this way only for children that do
//! not run [in the background](crate::words::background). If another program runs the sub-agent, each child is a
//! task there: see [`remote`](crate::words::remote).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::store::SessionStatus;
use crate::words::agent::ChildRules;
use crate::words::ending::{DoneReason, Ending};
use crate::words::ids::{
    CallId, Incarnation, InvalidId, ItemKey, OperationId, PendingId, SessionId, ToolName,
};
use crate::words::payload::{Digest, is_default};
use crate::words::remote::Remote;
pub use crate::words::reply::{Address, Allowance, Parent, ReplyBy, ReplyTo, Terms};
use crate::words::usage::Usage;

/// The maximum number of characters of outcomes that the parent's model sees for one call, or in one message about
/// the end of a background child.
pub const OUTCOME_CHARS_MAX: usize = 8_000;

/// The arguments of a call of a sub-agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// The tasks. Each task goes to a child of its own.
    pub tasks: Vec<String>,
    /// The number of outcomes that the call waits for. The remaining children are then stopped. `None` means
    /// all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u32>,
    /// If true, the first failure ends the call, and the remaining children are stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    /// If true, the call waits for none of the children: they become
    /// [background children](crate::words::background).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// If true, the ends of these background children do not wake the parent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    /// If true, these background children continue when their parent is aborted or deleted, or ends a turn for a
    /// parent or a caller of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
}

impl Tasks {
    /// Reads and checks the arguments of a call. The error text says why no children can be begun for them.
    pub fn read(arguments: &str, rules: &ChildRules) -> Result<Self, String> {
        let tasks: Self = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
        let (count, most) = (tasks.count(), rules.fan_out_max);
        if count == 0 {
            return Err("tasks is empty".to_owned());
        }
        if count > most {
            return Err(format!("tasks has {count} entries, at most {most} are allowed"));
        }
        if let Some(at) = tasks.tasks.iter().position(|task| task.trim().is_empty()) {
            return Err(format!("tasks[{at}] is empty"));
        }
        if tasks.background && !rules.background {
            return Err("background: this sub-agent's tasks are waited for".to_owned());
        }
        if tasks.background && (tasks.first.is_some() || tasks.fail_fast) {
            return Err(
                "first and fail_fast are for tasks that are waited for, not for background".to_owned()
            );
        }
        if !tasks.background && (tasks.quiet || tasks.detached) {
            return Err("quiet and detached are for background tasks".to_owned());
        }
        match tasks.first {
            Some(first) if first == 0 || first > count => {
                Err(format!("first is {first}, expected 1 to {count}"))
            }
            Some(_) | None => Ok(tasks),
        }
    }

    /// Returns the number of children.
    pub fn count(&self) -> u32 {
        u32::try_from(self.tasks.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of outcomes that the call waits for.
    pub fn needed(&self) -> u32 {
        self.first.unwrap_or_else(|| self.count())
    }
}

/// Children that a run may have to stop: the children of one call, background children, or a successor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Children {
    /// The id from which the names of the children are derived. If a call waits for the children, it is the id of
    /// its pending call.
    pub pending: PendingId,
    /// The number of children. Their indexes count from 0.
    pub count: u32,
    /// The place where the children work, if another program runs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<Box<Remote>>,
}

impl Children {
    /// Returns `count` children in this store.
    pub fn here(pending: PendingId, count: u32) -> Self {
        Self { pending, count, remote: None }
    }

    /// Returns true if this is the session that took over from the session that stops it. An abort also stops
    /// a successor that is at rest.
    pub fn is_successor(&self) -> bool {
        self.pending.round() == Some(SUCCESSOR_ROUND)
    }
}

/// Children of one call that have not answered, or a background child that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The id from which the names of the children are derived. If a call waits for the children, it is the id of
    /// its pending call.
    pub pending: PendingId,
    /// The indexes of these children among all children of the call.
    pub indexes: Vec<u32>,
    /// If true, one failure settles the call.
    pub fail_fast: bool,
    /// The way in which the parent learns that a child is gone.
    pub by: ReplyBy,
    /// For background children, the tasks whose ends the parent has not received.
    pub tasks: Vec<CallId>,
    /// The place where the children work, if another program runs them.
    pub remote: Option<Box<Remote>>,
}

/// The outcome of a child's turn. It is the content of the child's answer to its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildOutcome {
    /// The index of the child among the children of the call.
    pub index: u32,
    /// The session id of the child, or the id of its task if another program runs it. `None` if the child could not
    /// be created, or its own outcome is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// True if the child did its task.
    pub ok: bool,
    /// The last text of the child, or the reason for its failure.
    pub text: String,
    /// The usage of the turn, including the usage of the child's own children.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
}

impl ChildOutcome {
    /// Returns the outcome of a turn with this ending and this last text.
    pub fn of(index: u32, session: SessionId, ending: &Ending, words: &str, usage: Usage) -> Self {
        let ok = ending.status() == SessionStatus::Idle
            && matches!(ending.reason, DoneReason::ModelStop | DoneReason::ToolStop);
        let text = match &ending.error {
            Some(error) => format!("{}: {}", error.code, error.detail),
            None if ok => words.to_owned(),
            None if words.is_empty() => format!("ended by {}", ending.reason.as_str()),
            None => format!("ended by {}. It had said: {words}", ending.reason.as_str()),
        };
        Self { index, session: Some(session), ok, text, usage }
    }

    /// Returns the failed outcome of a child that could not be created, is gone, or gave no readable outcome.
    pub fn not_created(index: u32, why: impl Into<String>) -> Self {
        Self { index, session: None, ok: false, text: why.into(), usage: Usage::default() }
    }
}

/// The round in a pending id that marks a successor. No real pending call has it.
const SUCCESSOR_ROUND: u32 = 0;

/// Returns the id from which the names of a successor are derived: the session that takes over at this call.
///
/// # Errors
/// Fails if the id would be invalid.
pub fn successor(life: Incarnation, call: &CallId) -> Result<PendingId, InvalidId> {
    PendingId::of(life, call, SUCCESSOR_ROUND)
}

/// The names of a child or a successor. They depend only on the pending id and the child's index, so creating a
/// child twice is harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildNames {
    /// The session id.
    pub id: SessionId,
    /// The incarnation of the session.
    pub incarnation: Incarnation,
    /// The id of the operation that creates the child.
    pub operation: OperationId,
    /// The key under which the child's answer is delivered. Every sender uses the same key, so the call gets
    /// one answer for each child.
    pub answer: ItemKey,
}

impl ChildNames {
    /// Derives the names of the child at `index` of the pending call `pending`. The pending id contains the
    /// incarnation of the parent, the call and the round of asking.
    ///
    /// # Errors
    /// Fails if a derived name would be invalid.
    pub fn of(pending: &PendingId, index: u32) -> Result<Self, InvalidId> {
        let digest = Digest::of(format!("child\0{pending}\0{index}").as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest.0[16..]);
        let incarnation = Incarnation::derived(bytes);
        let id: String = digest.0[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        // A successor is not a child.
        let kind = if pending.round() == Some(SUCCESSOR_ROUND) { "next" } else { "child" };
        Ok(Self {
            id: SessionId::new(format!("{kind}-{id}"))?,
            incarnation,
            operation: OperationId::new(format!("child.{incarnation}"))?,
            answer: ItemKey::new(format!("child.{incarnation}"))?,
        })
    }
}

/// The children to begin for one call, or the background child to begin for a request from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildPlan {
    /// The sub-agent, by the name under which the parent's model calls it.
    pub tool: ToolName,
    /// The id from which the names of the children are derived. If a call waits for the children, it is the id of
    /// its pending call.
    pub pending: PendingId,
    /// The tasks, one for each child.
    pub tasks: Vec<String>,
    /// If true, one failure settles the call.
    pub fail_fast: bool,
    /// The call that gives the tasks. For a request from outside, an id derived from the request.
    pub task: CallId,
    /// The terms, if the children are background children.
    pub background: Option<Terms>,
    /// The share of the parent's limits that each child may use.
    pub allowance: Allowance,
    /// The place where the children work, if another program runs them.
    pub remote: Option<Box<Remote>>,
}

impl ChildPlan {
    /// Returns the way in which the parent receives the outcomes.
    pub fn told_by(&self) -> ReplyBy {
        self.background.map_or(ReplyBy::Answer, |terms| ReplyBy::Message {
            agent: self.tool.clone(),
            quiet: terms.quiet,
            task: self.task.clone(),
        })
    }
}

/// Returns true if a call with these outcomes succeeded: at least one child did and, with `fail_fast`, no child failed.
pub fn succeeded(outcomes: &[ChildOutcome], fail_fast: bool) -> bool {
    outcomes.iter().any(|outcome| outcome.ok) && !(fail_fast && outcomes.iter().any(|one| !one.ok))
}

/// Returns the text about the outcomes of one call for the parent's model. `ending` is the text for a child without an
/// outcome. The text of each child is cut to an equal share of [`OUTCOME_CHARS_MAX`].
pub fn told(count: u32, outcomes: &[ChildOutcome], ending: &str) -> String {
    let by_index: BTreeMap<u32, &ChildOutcome> =
        outcomes.iter().map(|outcome| (outcome.index, outcome)).collect();
    let most = OUTCOME_CHARS_MAX / usize::try_from(count.max(1)).unwrap_or(usize::MAX);
    if let ([only], 1) = (outcomes, count) {
        return in_part(&only.text, most);
    }
    let told = |index: u32| match by_index.get(&index) {
        Some(outcome) => {
            let word = if outcome.ok { "done" } else { "failed" };
            format!("[{}] {word}: {}", index + 1, in_part(&outcome.text, most))
        }
        None => format!("[{}] {ending}", index + 1),
    };
    (0..count).map(told).collect::<Vec<_>>().join("\n")
}

/// Returns the outcomes of one call as code is told them: a JSON array of [`ChildOutcome`]s, one for each child, in order, with
/// whole texts and without usage. `ending` is the text for a child without an outcome.
///
/// If the array were longer than `bytes_max`, the longest outcomes become failures that say so, as few as possible.
pub fn told_to_code(count: u32, outcomes: Vec<ChildOutcome>, ending: &str, bytes_max: usize) -> String {
    let mut by_index: BTreeMap<u32, ChildOutcome> =
        outcomes.into_iter().map(|outcome| (outcome.index, outcome)).collect();
    let json = |outcome: &ChildOutcome| serde_json::json!(outcome).to_string();
    let mut all: Vec<(ChildOutcome, String)> = (0..count)
        .map(|index| match by_index.remove(&index) {
            Some(outcome) => ChildOutcome { usage: Usage::default(), ..outcome },
            None => ChildOutcome::not_created(index, ending),
        })
        .map(|outcome| {
            let told = json(&outcome);
            (outcome, told)
        })
        .collect();
    // Each has a comma or a bracket after it, and the first one a bracket before it.
    let mut bytes = 1 + all.iter().map(|(_, told)| told.len() + 1).sum::<usize>();
    let together = bytes;
    let mut longest: Vec<usize> = (0..all.len()).collect();
    longest.sort_by_key(|at| std::cmp::Reverse(all[*at].1.len()));
    for at in longest {
        if bytes <= bytes_max {
            break;
        }
        let (outcome, told) = &mut all[at];
        let text = format!(
            "what it returned has {} bytes; the outcomes of this call have {together}, at most {bytes_max} are allowed",
            outcome.text.len()
        );
        let short = json(&ChildOutcome { ok: false, text, ..outcome.clone() });
        if short.len() < told.len() {
            bytes -= told.len() - short.len();
            *told = short;
        }
    }
    let all: Vec<String> = all.into_iter().map(|(_, told)| told).collect();
    format!("[{}]", all.join(","))
}

/// Returns the text, cut after `chars_max` characters with a note about the number of characters left out.
pub fn in_part(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => {
            let left = text[at..].chars().count();
            format!("{}… [{left} more characters]", &text[..at])
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(index: u32, ok: bool, text: &str) -> ChildOutcome {
        ChildOutcome { index, session: None, ok, text: text.to_owned(), usage: Usage::default() }
    }

    #[test]
    fn code_loses_the_longest_outcomes_if_all_are_too_long_and_no_others() {
        let outcomes: Vec<ChildOutcome> = [300, 9_000, 1_000, 8_000]
            .iter()
            .zip(0..)
            .map(|(long, at)| outcome(at, true, &"x".repeat(*long)))
            .collect();
        let read = |told: &str| serde_json::from_str::<Vec<ChildOutcome>>(told).unwrap();
        let all = told_to_code(5, outcomes.clone(), "late", usize::MAX);
        assert_eq!(read(&all)[..4], outcomes);
        assert_eq!((read(&all)[4].ok, read(&all)[4].text.as_str()), (false, "late"));
        assert_eq!(told_to_code(5, outcomes.clone(), "late", all.len()), all);
        for (most, lost) in
            [(all.len() - 1, vec![1]), (10_000, vec![1]), (9_000, vec![1, 3]), (2_000, vec![1, 3])]
        {
            let told = told_to_code(5, outcomes.clone(), "late", most);
            assert!(told.len() <= most, "{} bytes, at most {most}", told.len());
            for (told, had) in read(&told).iter().zip(&outcomes) {
                if lost.contains(&told.index) {
                    let why = format!(
                        "what it returned has {} bytes; the outcomes of this call have",
                        had.text.len()
                    );
                    assert!(!told.ok && told.text.starts_with(&why), "{told:?}");
                } else {
                    assert_eq!(told, had);
                }
            }
        }
        assert_eq!(told_to_code(0, Vec::new(), "late", 10), "[]");
    }

    #[test]
    fn tasks_that_cannot_be_begun_are_refused_by_name() {
        let rules = ChildRules { fan_out_max: 2, ..ChildRules::default() };
        let read = |text: &str| Tasks::read(text, &rules);
        let two = read(r#"{"tasks":["a","b"],"first":1}"#).unwrap();
        assert_eq!((two.count(), two.needed()), (2, 1));
        assert_eq!(read(r#"{"tasks":["a"]}"#).unwrap().needed(), 1);
        for (text, why) in [
            (r#"{"tasks":[]}"#, "tasks is empty"),
            (r#"{"tasks":["a","b","c"]}"#, "tasks has 3 entries, at most 2 are allowed"),
            (r#"{"tasks":["a"," "]}"#, "tasks[1] is empty"),
            (r#"{"tasks":["a"],"first":2}"#, "first is 2, expected 1 to 1"),
            (r#"{"tasks":["a"],"first":0}"#, "first is 0, expected 1 to 1"),
        ] {
            assert_eq!(read(text).unwrap_err(), why);
        }
        assert!(read("[]").is_err());
    }

    #[test]
    fn the_names_of_a_child_follow_from_its_call_and_its_place_alone() {
        let pending = |round: u32| PendingId::new(format!("p.c1-0.{round}")).unwrap();
        let one = ChildNames::of(&pending(1), 0).unwrap();
        assert_eq!(ChildNames::of(&pending(1), 0).unwrap(), one);
        for other in [ChildNames::of(&pending(1), 1), ChildNames::of(&pending(2), 0)] {
            let other = other.unwrap();
            assert_ne!(other.id, one.id);
            assert_ne!(other.incarnation, one.incarnation);
            assert_ne!(other.operation, one.operation);
            assert_ne!(other.answer, one.answer);
        }
    }

    #[test]
    fn several_outcomes_are_told_in_the_order_of_their_tasks_and_one_alone_as_it_is() {
        assert_eq!(told(1, &[outcome(0, true, "42")], "stopped"), "42");
        let two = [outcome(2, false, "no key"), outcome(0, true, "42")];
        let text = "[1] done: 42\n[2] stopped\n[3] failed: no key".to_owned();
        assert_eq!(told(3, &two, "stopped"), text);
        assert_eq!((succeeded(&two, false), succeeded(&two, true)), (true, false));
        assert!(!succeeded(&[], false));
    }

    #[test]
    fn a_long_outcome_is_told_in_part() {
        let long = "é".repeat(OUTCOME_CHARS_MAX);
        let text = told(2, &[outcome(0, true, &long), outcome(1, true, "b")], "stopped");
        assert!(text.contains("… [4000 more characters]\n[2] done: b"), "{}", &text[text.len() - 60..]);
    }
}
