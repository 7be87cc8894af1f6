//! The address to which the outcome of a child's turn is sent, the share of the limits that the turn may use, and
//! the end of a child in the background as its parent is told of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::ids::{CallId, Incarnation, PendingId, SessionId, SessionKey, ToolName};
use crate::words::payload::is_default;
use crate::words::usage::Usage;

/// The share of the parent's limits that a child's turn may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// The most steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The most tokens, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The most money, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
    /// The instant at which the parent stops waiting. The turn ends then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Allowance {
    /// The stricter of two shares, limit by limit.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            steps: least(self.steps, other.steps),
            tokens: least(self.tokens, other.tokens),
            cost_microusd: least(self.cost_microusd, other.cost_microusd),
            until: least(self.until, other.until),
        }
    }
}

/// The way in which a parent is told of the outcome of a child's turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyBy {
    /// As an answer to the pending call that waits for it.
    #[default]
    Answer,
    /// As a message, because the child runs in the background.
    Message {
        /// The sub-agent, by the name under which the parent's model calls it.
        agent: ToolName,
        /// Whether the message wakes nobody.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quiet: bool,
        /// The call of the parent that gave the task.
        task: CallId,
    },
}

/// A session of the same store that is told the outcome of a child's turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The parent.
    pub session: SessionKey,
    /// The life of the parent.
    pub incarnation: Incarnation,
    /// The pending call of the parent. Of a background child, only its names follow from this.
    pub pending: PendingId,
    /// The place of the child among the children of the call, from 0.
    pub index: u32,
    /// Whether a failure settles the call, whatever the other children are still to say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    /// The way in which the outcome is told.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by: ReplyBy,
}

/// Who is told the outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// The parent of the session.
    Parent(Parent),
    /// A program elsewhere, which gave the [task](crate::words::remote).
    Elsewhere {
        /// The task.
        task: SessionId,
        /// The URL to which the outcome is sent. None: the program asks for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The time for the task from when the store took it, in milliseconds: two programs share no clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_ms: Option<u64>,
    },
}

impl Address {
    /// The parent, if it is one of the same store.
    pub fn parent(&self) -> Option<&Parent> {
        match self {
            Self::Parent(parent) => Some(parent),
            Self::Elsewhere { .. } => None,
        }
    }
}

/// The address to which the outcome of a child's turn is sent. It comes with the message that begins the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyTo {
    /// Who is told.
    pub to: Address,
    /// The share of the parent's limits that the turn may use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub allowance: Allowance,
    /// The usage of earlier turns for the same address, which were handed over. It counts with that of the turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub used_before: Usage,
}

impl ReplyTo {
    /// The address of a parent, with a share of its limits.
    pub fn parent(parent: Parent, allowance: Allowance) -> Self {
        Self { to: Address::Parent(parent), allowance, used_before: Usage::default() }
    }

    /// The address of a task that the store took at this instant.
    #[must_use]
    pub fn taken_at(mut self, at: Timestamp) -> Self {
        if let Address::Elsewhere { time_ms: Some(ms), .. } = self.to {
            let until = Some(at.after(Duration::from_millis(ms)));
            self.allowance = self.allowance.and(Allowance { until, ..Allowance::default() });
        }
        self
    }

    /// The address as the successor of a turn has it that has used this much: what is left of the share, and what is
    /// to be counted.
    #[must_use]
    pub fn after(mut self, used: Usage, steps: u32) -> Self {
        let share = &mut self.allowance;
        share.steps = share.steps.map(|most| most.saturating_sub(steps));
        share.tokens = share.tokens.map(|most| most.saturating_sub(used.tokens.total()));
        share.cost_microusd = share.cost_microusd.map(|most| most.saturating_sub(used.cost_microusd));
        self.used_before.add(used);
        self
    }
}

/// The terms on which a background child was begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Whether the end of its turn wakes nobody: its parent reads of it in its next turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    /// Whether it goes on if its parent is aborted or deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    /// What it may use for its newest task. Tokens and money are set aside from what its parent has left.
    #[serde(default, skip_serializing_if = "is_default")]
    pub share: Allowance,
}

/// The end of a turn of a background child, as its parent is told: it comes with the message that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// The id from which the names of the child follow.
    pub pending: PendingId,
    /// The place of the child among those that were begun together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub index: u32,
    /// The calls of the parent that gave the tasks of that turn.
    pub tasks: Vec<CallId>,
    /// Whether the child did what it was asked for.
    pub ok: bool,
    /// Whether the message wakes nobody.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    /// The usage of the turn, that of its own children included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
}
