//! Background children: children that outlive the call that began them.
//!
//! Nothing waits for a background child. When a turn of it ends, its parent is sent a message that says how. The
//! parent's model can list its background children, write to them, wait for them and stop them.

use serde::{Deserialize, Serialize};

pub use crate::words::agent::ChildTool;
use crate::words::children::{ChildNames, OUTCOME_CHARS_MAX, in_part};
use crate::words::ids::{CallId, Incarnation, InvalidId, ItemKey, PendingId, SessionId, ToolName};
use crate::words::model::TokenUsage;
use crate::words::payload::{Digest, is_default};
pub use crate::words::reply::{ChildEnd, Terms};
use crate::words::tool::Bound;
use crate::words::usage::Usage;

/// The most background children that a session may have at once.
pub const BACKGROUND_MAX: usize = 64;

/// A background child, as its parent remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// The sub-agent, by the name under which the parent's model calls it.
    pub agent: ToolName,
    /// The id from which the names of the child follow. There is no such pending call: nobody waits.
    pub pending: PendingId,
    /// The place of the child among those that were begun together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub index: u32,
    /// The terms.
    #[serde(flatten)]
    pub terms: Terms,
    /// The calls whose tasks it has and of whose ends the parent was not told. Empty: it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owes: Vec<CallId>,
}

impl Background {
    /// The children that were begun together for these tasks.
    pub fn begun(agent: &ToolName, pending: &PendingId, count: u32, terms: Terms) -> Vec<Self> {
        let owes: Vec<CallId> = task_of(pending).into_iter().collect();
        let one =
            |index| Self { agent: agent.clone(), pending: pending.clone(), index, terms, owes: owes.clone() };
        (0..count).map(one).collect()
    }

    /// Whether all of its tasks have ended, as the parent was told.
    pub fn has_ended(&self) -> bool {
        self.owes.is_empty()
    }

    /// Whether all of its tasks have ended once these ends are known.
    pub fn ends_with<'a>(&self, ends: impl IntoIterator<Item = &'a ChildEnd>) -> bool {
        let told: Vec<&CallId> = ends.into_iter().flat_map(|end| &end.tasks).collect();
        self.owes.iter().all(|task| told.contains(&task))
    }

    /// The names of the child. None: they cannot be made, so there is no such child.
    pub fn names(&self) -> Option<ChildNames> {
        ChildNames::of(&self.pending, self.index).ok()
    }

    /// Whether the id is that of this child.
    pub fn is_called(&self, id: &str) -> bool {
        self.names().is_some_and(|names| names.id.as_str() == id)
    }

    /// Whether this is the end of a turn of that child.
    pub fn has_ended_with(&self, end: &ChildEnd) -> bool {
        end.pending == self.pending && end.index == self.index
    }

    /// What is set aside for the child while it runs, as if it were used.
    pub fn set_aside(&self) -> Usage {
        if self.has_ended() {
            return Usage::default();
        }
        let tokens = TokenUsage { input: self.terms.share.tokens.unwrap_or(0), ..TokenUsage::default() };
        let cost_microusd = self.terms.share.cost_microusd.unwrap_or(0);
        Usage { tokens, cost_microusd, ..Usage::default() }
    }
}

/// The id from which the names of a background child follow that was begun from outside, in this life of its parent.
/// The same key makes the same child.
///
/// # Errors
/// The id cannot be made.
pub fn begun_outside(parent: Incarnation, key: &ItemKey) -> Result<PendingId, InvalidId> {
    let digest = Digest::of(format!("background\0{key}").as_bytes());
    let short: String = digest.0[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    PendingId::of(parent, &CallId::new(format!("outside-{short}"))?, 1)
}

/// The request from outside to begin a background child: the content of a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum ChildSignal {
    /// A background child is to begin.
    BeginChild {
        /// The id from which its names follow.
        pending: PendingId,
        /// The sub-agent, by the name under which the parent's model calls it.
        agent: ToolName,
        /// The task.
        task: String,
        /// Whether its end wakes nobody.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quiet: bool,
        /// Whether it goes on if its parent is aborted or deleted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        detached: bool,
    },
}

/// With this begins the key of a message that tells of an end.
const END_KEY: &str = "end.";

/// The task with which a child began: the call that gave it.
pub fn task_of(pending: &PendingId) -> Option<CallId> {
    pending.parts().map(|(_, call)| call)
}

/// The key of the message that tells of the end of a child's turn with this task: told twice, it is one message.
///
/// # Errors
/// The key cannot be made.
pub fn end_key(child: &ChildNames, task: &CallId) -> Result<ItemKey, InvalidId> {
    ItemKey::new(format!("{END_KEY}{}.{task}", child.incarnation))
}

/// Whether the key is that of a message that tells of an end. No key that a caller chooses is.
pub(crate) fn is_end_key(key: &ItemKey) -> bool {
    key.as_str().starts_with(END_KEY)
}

/// The text of the message that tells a parent of the end of a child's turn, for its model.
pub fn told_of_end(agent: &str, child: &SessionId, ok: bool, text: &str) -> String {
    let word = if ok { "has ended" } else { "has failed" };
    format!("[{agent} {child} {word}]\n{}", in_part(text, OUTCOME_CHARS_MAX))
}

/// The arguments of [`ChildTool::Wait`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Awaited {
    /// The children. None: all that have not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// The number of them whose ends are waited for. None: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u32>,
    /// How long to wait, in seconds. None: as long as for other answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
}

impl Awaited {
    /// Reads and checks the arguments of a call. If they do not fit, returns the reason.
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

    /// The children that are waited for.
    pub fn among<'a>(&'a self, children: &'a [Background]) -> impl Iterator<Item = &'a Background> {
        children.iter().filter(|child| match &self.ids {
            Some(ids) => ids.iter().any(|id| child.is_called(id)),
            None => !child.has_ended(),
        })
    }

    /// The time limit of the call.
    pub fn timeout(&self) -> Option<Bound> {
        self.timeout_s.map(|seconds| Bound::of(std::time::Duration::from_secs(seconds)))
    }
}

/// The arguments of [`ChildTool::Send`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToChild {
    /// The child.
    pub id: String,
    /// The message.
    pub text: String,
}

/// The arguments of [`ChildTool::Status`] and [`ChildTool::Stop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfChild {
    /// The child.
    pub id: String,
}

/// Finds a background child by its id. If there is none, returns the text that says so.
pub fn find<'a>(children: &'a [Background], id: &str) -> Result<&'a Background, String> {
    let found = children.iter().find(|child| child.is_called(id));
    found.ok_or_else(|| format!("there is no background child {id:?}; {} lists them", ChildTool::List.name()))
}
