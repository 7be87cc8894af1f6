//! The rules for the calls of a sub-agent.

use serde::{Deserialize, Serialize};

use crate::words::remote::Remote;

/// The most children of one call that a model may ask for.
pub const FAN_OUT_MAX: u32 = 5;

/// The most children of one call that a program may allow.
pub const CHILDREN_MAX: u32 = 1_000;

/// The rules for the calls of one sub-agent. Stored with the session's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChildRules {
    /// The most children that one call may ask for, from 1 to [`CHILDREN_MAX`].
    pub fan_out_max: u32,
    /// Whether the model may begin children that outlive the call: see [`background`](crate::words::background).
    pub background: bool,
    /// Whether the session is handed over to this agent, instead of tasks being given to it.
    pub takes_over: bool,
    /// The place of the sub-agent, if it is another program that takes its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<Box<Remote>>,
}

impl Default for ChildRules {
    fn default() -> Self {
        Self { fan_out_max: FAN_OUT_MAX, background: false, takes_over: false, remote: None }
    }
}

/// The tools by which a model deals with its background children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChildTool {
    /// Lists the background children.
    List,
    /// Shows one of them.
    Status,
    /// Writes to one of them.
    Send,
    /// Waits for them.
    Wait,
    /// Stops one of them for ever.
    Stop,
}

impl ChildTool {
    /// Every tool.
    pub const ALL: [Self; 5] = [Self::List, Self::Status, Self::Send, Self::Wait, Self::Stop];

    /// The name by which a model calls the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list_children",
            Self::Status => "child_status",
            Self::Send => "send_child",
            Self::Wait => "wait_children",
            Self::Stop => "stop_child",
        }
    }

    /// The tool of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}
