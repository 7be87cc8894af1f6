//! The rules for calls of sub-agents.

use serde::{Deserialize, Serialize};

use crate::words::remote::Remote;

/// The default maximum number of children that one call may ask for.
pub const FAN_OUT_MAX: u32 = 5;

/// The maximum number of children of one call that a program may allow.
pub const CHILDREN_MAX: u32 = 1_000;

/// The rules for calls of one sub-agent. Stored with the session's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChildRules {
    /// The maximum number of children that one call may ask for, from 1 to [`CHILDREN_MAX`].
    pub fan_out_max: u32,
    /// True if the model, or a request from outside, may begin [background children](crate::words::background).
    pub background: bool,
    /// True if a call hands the session over to this agent instead of giving tasks to children.
    pub takes_over: bool,
    /// The place of the sub-agent, if another program runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<Box<Remote>>,
}

impl Default for ChildRules {
    fn default() -> Self {
        Self { fan_out_max: FAN_OUT_MAX, background: false, takes_over: false, remote: None }
    }
}

/// A tool with which a model manages its background children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChildTool {
    /// Lists the background children.
    List,
    /// Shows the state of one child.
    Status,
    /// Sends a message to one child, as another task.
    Send,
    /// Waits until some or all children have ended.
    Wait,
    /// Stops one child permanently, unless it has ended.
    Stop,
}

impl ChildTool {
    /// Every tool.
    pub const ALL: [Self; 5] = [Self::List, Self::Status, Self::Send, Self::Wait, Self::Stop];

    /// Returns the name by which a model calls the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list_children",
            Self::Status => "child_status",
            Self::Send => "send_child",
            Self::Wait => "wait_children",
            Self::Stop => "stop_child",
        }
    }

    /// Returns the tool with this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}
