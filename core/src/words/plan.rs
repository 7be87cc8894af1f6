//! Code that plans the calls of a session, in place of a model, and its records in the transcript.
//!
//! A model may plan only when all calls of its step have ended. Code may plan whenever one has, so its step stays open:
//! calls are added and cancelled while others run. The code is ordinary code that waits for results. It exists only
//! during a run; a new run tells it the messages of the transcript again, and it must make the same calls again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::error::ErrorInfo;
use crate::words::ids::{CallId, MessageSeq};
use crate::words::message::Message;
pub use crate::words::plan_record::{Drawn, PlanNotice, PlanRecord};

/// The most calls of an open step that have not ended. Further calls wait for their turn, in the order of the code.
pub const OPEN_CALLS_MAX: usize = 64;

/// The most messages of the transcript that a run tells the code again. Beyond it, the turn fails. Code that goes on for
/// longer starts over with a new input ([`PlanEnd::CarryOn`]).
pub const REPLAYED_MAX: usize = 30_000;

/// Code that plans the calls of a session. The runtime holds it in place of a model.
pub trait Planner: Send + Sync + 'static {
    /// Begins the code of one run. It has not been told anything.
    fn begin(&self) -> Box<dyn Plan>;
}

/// The running code of a session, during one run.
pub trait Plan: Send + 'static {
    /// Tells the code further messages of the transcript, and returns its next decisions.
    ///
    /// The messages of a turn are told in the order of the transcript, beginning with the message that began the turn or
    /// with the record that carries on. Tool results are the answers to calls. Messages with a [`PlanRecord`] repeat
    /// decisions of the code itself: in a new run, the code must decide the same again.
    ///
    /// # Errors
    /// The code decided otherwise than the transcript records, or it cannot go on.
    fn advance(
        &mut self,
        told: &[(MessageSeq, Arc<Message>)],
        facts: PlanFacts,
    ) -> Result<Planned, PlanError>;
}

/// The facts that code receives when it plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanFacts {
    /// The instant now, on the store's clock.
    pub now: Timestamp,
    /// The most calls that may be added. The code keeps further calls back until it is asked again.
    pub room: usize,
}

/// The decisions of the code since it was asked last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Planned {
    /// The new calls, in the order of the code.
    pub calls: Vec<PlannedCall>,
    /// The calls that the code no longer waits for. Calls that have ended may be among them.
    pub dropped: Vec<CallId>,
    /// The facts that the code drew and that a new run must see again.
    pub record: PlanRecord,
    /// The end, once the code has ended.
    pub end: Option<PlanEnd>,
}

/// A call that the code makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    /// The name of the tool.
    pub tool: String,
    /// The arguments, as JSON text.
    pub arguments: String,
}

/// The end of the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanEnd {
    /// The code returned a value, as JSON text.
    Value(String),
    /// The code failed.
    Failed(ErrorInfo),
    /// The code was told to stop, and has stopped.
    Stopped,
    /// The code starts over with this input, as JSON text, in the same session and the same turn.
    CarryOn(String),
}

/// The reason why code gives no decisions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The code decided otherwise than the transcript records.
    #[error("diverged: {0}")]
    Diverged(Box<Divergence>),
    /// The code cannot go on. The turn fails.
    #[error("{}: {}", .0.code, .0.detail)]
    Broken(ErrorInfo),
}

/// The place at which code decided otherwise than the transcript records.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// The number of the decision, from 1.
    pub at: u64,
    /// The recorded decision, for people.
    pub expected: String,
    /// The decision of the present code, for people.
    pub found: String,
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "decision {}: the transcript records {}, and the code makes {}",
            self.at, self.expected, self.found
        )
    }
}

/// The standing of a turn that code plans.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStanding {
    /// The last message that a new run does not tell the code.
    #[serde(default)]
    pub after: MessageSeq,
    /// True if the code was told to stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops: bool,
    /// The divergence that keeps the turn waiting, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diverged: Option<Box<Diverged>>,
}

/// A turn that waits because its code diverged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diverged {
    /// The divergence that was found last.
    pub found: Divergence,
    /// The number of runs in a row that found one.
    pub tries: u32,
}
