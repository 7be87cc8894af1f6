//! The addresses for the outcome of a turn, the limits of that turn, and the end of a background child.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::ids::{CallId, Incarnation, PendingId, SessionId, SessionKey, ToolName};
use crate::words::payload::is_default;
use crate::words::usage::Usage;

/// The share of the limits of a parent, or of a caller in another program, that a turn may use.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// The maximum number of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The maximum number of input and output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The maximum cost, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
    /// The instant at which the parent or caller stops waiting. The turn ends at this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Allowance {
    /// Returns the stricter of two shares, limit by limit.
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

/// The way in which a parent receives the outcome of a child's turn.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyBy {
    /// As an answer to the pending call.
    #[default]
    Answer,
    /// As a message, because the child runs in the background.
    Message {
        /// The sub-agent, by the name under which the parent's model calls it.
        agent: ToolName,
        /// If true, the message does not wake the parent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quiet: bool,
        /// The parent's call that gave the task.
        task: CallId,
    },
}

/// A session of the same store that receives the outcome of a child's turn.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The key of the parent session.
    pub session: SessionKey,
    /// The incarnation of the parent session.
    pub incarnation: Incarnation,
    /// The id of the parent's pending call, from which the child's names are derived. For a background child, no
    /// such call exists, and the id only serves to derive the names.
    pub pending: PendingId,
    /// The index of the child among the children of the call, from 0.
    pub index: u32,
    /// If true, a failure settles the call without waiting for the other children.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    /// The way in which the parent receives the outcome.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by: ReplyBy,
}

/// The receiver of a turn's outcome.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// The parent of the session.
    Parent(Parent),
    /// Another program, which gave the [task](crate::words::remote).
    Elsewhere {
        /// The id of the task.
        task: SessionId,
        /// The URL to which the outcome is sent. `None` if the program polls for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The time limit of the task, in milliseconds after the store accepted it. This is not an instant,
        /// because two programs share no clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_ms: Option<u64>,
    },
}

impl Address {
    /// Returns the parent, if the receiver is a session of the same store.
    pub fn parent(&self) -> Option<&Parent> {
        match self {
            Self::Parent(parent) => Some(parent),
            Self::Elsewhere { .. } => None,
        }
    }
}

/// The receiver of the outcome of a turn, and the limits of that turn. It comes with the message that gives the
/// task.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyTo {
    /// The receiver of the outcome.
    pub to: Address,
    /// The share of the receiver's limits that the turn may use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub allowance: Allowance,
    /// The usage of earlier turns for the same receiver that were handed over. It is added to the usage of
    /// this turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub used_before: Usage,
}

impl ReplyTo {
    /// Returns the address of a parent, with a share of its limits.
    pub fn parent(parent: Parent, allowance: Allowance) -> Self {
        Self { to: Address::Parent(parent), allowance, used_before: Usage::default() }
    }

    /// Converts the time limit of a remote task into an instant, given the instant at which the store
    /// accepted the task.
    #[must_use]
    pub fn taken_at(mut self, at: Timestamp) -> Self {
        if let Address::Elsewhere { time_ms: Some(ms), .. } = self.to {
            let until = Some(at.after(Duration::from_millis(ms)));
            self.allowance = self.allowance.and(Allowance { until, ..Allowance::default() });
        }
        self
    }

    /// Returns the address for the successor of a turn. Subtracts the usage and the steps of that turn from the
    /// share, and adds the usage to `used_before`.
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

/// The terms on which a background child was begun, and the limits for its newest task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// If true, the end of the child's turn does not wake the parent: the parent sees it in its next turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    /// If true, the child continues when its parent is aborted or deleted, or ends a turn for a parent or a caller
    /// of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    /// The limits for the child's newest task. Tokens and cost are reserved from the parent's remaining
    /// limits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub share: Allowance,
}

/// The end of a background child's turn. It is part of the message that informs the parent.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// The id from which the names of the child are derived.
    pub pending: PendingId,
    /// The index of the child among the children that the same call began.
    #[serde(default, skip_serializing_if = "is_default")]
    pub index: u32,
    /// The parent's calls that gave the tasks of the turn.
    pub tasks: Vec<CallId>,
    /// True if the child did its task.
    pub ok: bool,
    /// If true, the message does not wake the parent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    /// The usage of the turn, including the usage of the child's own children.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
}
