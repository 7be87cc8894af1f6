//! Background children: child sessions that outlive the call that began them, or that a request from outside began.
//!
//! The parent does not wait for a background child. When a turn of the child ends, the parent receives a message
//! with the outcome. The parent's model can list its background children, write to them, wait for them and stop
//! them. Unless a child is detached, it is stopped when its parent is aborted or deleted, or ends a turn whose
//! outcome it owes to a parent or a caller of its own.

use serde::{Deserialize, Serialize};

pub use crate::words::agent::ChildTool;
use crate::words::children::{ChildNames, OUTCOME_CHARS_MAX, in_part};
use crate::words::ids::{CallId, Incarnation, InvalidId, ItemKey, PendingId, SessionId, ToolName};
use crate::words::model::TokenUsage;
use crate::words::payload::{Digest, is_default};
pub use crate::words::reply::{ChildEnd, Terms};
use crate::words::tool::Bound;
use crate::words::usage::Usage;

/// The maximum number of background children of a session that may run at once.
pub const BACKGROUND_MAX: usize = 64;

/// A background child, as the parent's state records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// The sub-agent, by the name under which the parent's model calls it.
    pub agent: ToolName,
    /// The id from which the names of the child are derived. No pending call has this id, because the parent
    /// does not wait.
    pub pending: PendingId,
    /// The index of the child among the children that the same call or request began, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub index: u32,
    /// The terms on which the child was begun.
    #[serde(flatten)]
    pub terms: Terms,
    /// The calls that gave the child its unfinished tasks. Empty if the parent has received the end of every
    /// task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owes: Vec<CallId>,
}

impl Background {
    /// Returns the background children that one call began together.
    pub fn begun(agent: &ToolName, pending: &PendingId, count: u32, terms: Terms) -> Vec<Self> {
        let owes: Vec<CallId> = task_of(pending).into_iter().collect();
        let one =
            |index| Self { agent: agent.clone(), pending: pending.clone(), index, terms, owes: owes.clone() };
        (0..count).map(one).collect()
    }

    /// Returns true if the parent has received the ends of all of the child's tasks.
    pub fn has_ended(&self) -> bool {
        self.owes.is_empty()
    }

    /// Returns true if these ends cover all of the child's unfinished tasks.
    pub fn ends_with<'a>(&self, ends: impl IntoIterator<Item = &'a ChildEnd>) -> bool {
        let told: Vec<&CallId> = ends.into_iter().flat_map(|end| &end.tasks).collect();
        self.owes.iter().all(|task| told.contains(&task))
    }

    /// Returns the names of the child, or `None` if no valid names can be derived. In that case there is no
    /// such child.
    pub fn names(&self) -> Option<ChildNames> {
        ChildNames::of(&self.pending, self.index).ok()
    }

    /// Returns true if `id` is the session id of this child.
    pub fn is_called(&self, id: &str) -> bool {
        self.names().is_some_and(|names| names.id.as_str() == id)
    }

    /// Returns true if `end` is the end of a turn of this child.
    pub fn has_ended_with(&self, end: &ChildEnd) -> bool {
        end.pending == self.pending && end.index == self.index
    }

    /// Returns the budget that is reserved for the child while it runs, which counts as used. Zero once the child
    /// has ended.
    pub fn set_aside(&self) -> Usage {
        if self.has_ended() {
            return Usage::default();
        }
        let tokens = TokenUsage { input: self.terms.share.tokens.unwrap_or(0), ..TokenUsage::default() };
        let cost_microusd = self.terms.share.cost_microusd.unwrap_or(0);
        Usage { tokens, cost_microusd, ..Usage::default() }
    }
}

/// Returns the id from which the names of a background child are derived, if the child was begun from outside
/// the parent's turn. The same parent incarnation and key always give the same child.
///
/// # Errors
/// Fails if the id would be invalid.
pub fn begun_outside(parent: Incarnation, key: &ItemKey) -> Result<PendingId, InvalidId> {
    let digest = Digest::of(format!("background\0{key}").as_bytes());
    let short: String = digest.0[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    PendingId::of(parent, &CallId::new(format!("outside-{short}"))?, 1)
}

/// A request from outside to begin a background child: the content of a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum ChildSignal {
    /// Begins a background child.
    BeginChild {
        /// The id from which the names of the child are derived.
        pending: PendingId,
        /// The sub-agent, by the name under which the parent's model calls it.
        agent: ToolName,
        /// The task of the child.
        task: String,
        /// If true, the end of the child does not wake its parent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quiet: bool,
        /// If true, the child continues when its parent is aborted or deleted, or ends a turn for a parent or a
        /// caller of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        detached: bool,
    },
}

/// The prefix of the key of a message that reports the end of a child's turn.
const END_KEY: &str = "end.";

/// Returns the call that gave a child its first task, or `None` if `pending` was not derived from a call. For a
/// child that was begun from outside, no such call exists, but its id still identifies the task.
pub fn task_of(pending: &PendingId) -> Option<CallId> {
    pending.parts().map(|(_, call)| call)
}

/// Returns the key of the message that reports the end of a child's turn with this task. A message that is
/// delivered twice has the same key, so the parent stores it once.
///
/// # Errors
/// Fails if the key would be invalid.
pub fn end_key(child: &ChildNames, task: &CallId) -> Result<ItemKey, InvalidId> {
    ItemKey::new(format!("{END_KEY}{}.{task}", child.incarnation))
}

/// Returns true if `key` belongs to a message that reports the end of a child's turn. Keys chosen by callers
/// never do.
pub(crate) fn is_end_key(key: &ItemKey) -> bool {
    key.as_str().starts_with(END_KEY)
}

/// Returns the text of the message that reports the end of a child's turn to the parent's model. `text` is cut to
/// [`OUTCOME_CHARS_MAX`] characters.
pub fn told_of_end(agent: &str, child: &SessionId, ok: bool, text: &str) -> String {
    let word = if ok { "has ended" } else { "has failed" };
    format!("[{agent} {child} {word}]\n{}", in_part(text, OUTCOME_CHARS_MAX))
}

/// The arguments of [`ChildTool::Wait`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Awaited {
    /// The ids of the children to wait for. `None` means all children that have not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// The number of children whose ends the call waits for. `None` means all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u32>,
    /// The maximum wait in seconds. `None` means the agent's limit for answers, which also limits a longer wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
}

impl Awaited {
    /// Reads and checks the arguments of a call. The error text says why they are invalid.
    pub fn read(arguments: &str, children: &[Background]) -> Result<Self, String> {
        let awaited: Self = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
        if let Some(ids) = &awaited.ids {
            for id in ids {
                find(children, id)?;
            }
        }
        let count = awaited.among(children).count();
        match awaited.first {
            Some(first)
                if first == 0 || count > 0 && usize::try_from(first).is_ok_and(|first| first > count) =>
            {
                Err(format!("first is {first}, expected 1 to {count}"))
            }
            Some(_) | None => Ok(awaited),
        }
    }

    /// Returns the children that the call waits for.
    pub fn among<'a>(&'a self, children: &'a [Background]) -> impl Iterator<Item = &'a Background> {
        children.iter().filter(|child| match &self.ids {
            Some(ids) => ids.iter().any(|id| child.is_called(id)),
            None => !child.has_ended(),
        })
    }

    /// Returns the time limit of the call, if the arguments set one.
    pub fn timeout(&self) -> Option<Bound> {
        self.timeout_s.map(|seconds| Bound::of(std::time::Duration::from_secs(seconds)))
    }
}

/// The arguments of [`ChildTool::Send`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToChild {
    /// The session id of the child.
    pub id: String,
    /// The text of the message.
    pub text: String,
}

/// The arguments of [`ChildTool::Status`] and [`ChildTool::Stop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfChild {
    /// The session id of the child.
    pub id: String,
}

/// Finds a background child by its id. The error text is meant for the model.
pub fn find<'a>(children: &'a [Background], id: &str) -> Result<&'a Background, String> {
    let found = children.iter().find(|child| child.is_called(id));
    found.ok_or_else(|| format!("there is no background child {id:?}; {} lists them", ChildTool::List.name()))
}
