//! A view of the next action that a person may take.

use serde::{Serialize, Serializer};

use super::super::{Machine, StateKind, StopCause};
use super::Inference;
use crate::store::Session;
use crate::words::ids::MessageSeq;

/// The possible action of a person now. In JSON it is the wire name, or `false` for [`Nothing`](Self::Nothing).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Interaction {
    /// No action yet: a handoff is being prepared. Either the extract of the old conversation does not exist yet, or
    /// a tool is handing the session over to another agent.
    Handoff,
    /// No action, except to stop the turn, or to resume it after a stop.
    Nothing,
    /// Write the first message.
    UserMessageInitial,
    /// Reply to the agent.
    UserMessageReply,
    /// Decide on a call.
    UserToolApproval,
    /// Wait for calls that are in progress. None of them needs a decision.
    ToolRunning,
}

/// The state of the end of the transcript: it tells who must act next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastSaid {
    /// There is no message yet, or a handoff is ready and its goal is only a draft.
    Nothing,
    /// The agent finished its answer.
    WholeAnswer,
    /// The calls of the last answer are open.
    OpenCalls(OpenCalls),
    /// Any other message, to which the agent has not answered in full.
    Other,
}

/// The calls of an open step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenCalls {
    /// True if a person must decide on one of them.
    pub blocked_on_user: bool,
    /// True if one of them has not ended.
    pub in_progress: bool,
}

impl LastSaid {
    /// Returns the state of the end of the transcript of `session`, whose machine is `machine`. Messages that wait in
    /// the inbox count as part of the transcript.
    pub fn in_session(session: &Session, machine: &Machine) -> Self {
        let rests = matches!(machine.state.kind(), StateKind::Idle | StateKind::Done);
        if let Some(batch) = machine.state.batch() {
            let asks = |call: &super::super::Call| {
                matches!(call.state, super::super::CallState::BlockedOnUser { .. })
            };
            return Self::OpenCalls(OpenCalls {
                blocked_on_user: batch.calls.iter().any(asks),
                in_progress: !batch.is_over(),
            });
        }
        match (session.last_message, session.unread) {
            (MessageSeq(0), 0) => Self::Nothing,
            (_, 0) if is_draft(machine) => Self::Nothing,
            (_, 0) if rests && machine.turn.answered => Self::WholeAnswer,
            (_, _) => Self::Other,
        }
    }
}

/// Returns true if the session waits with a draft goal that no turn has worked on.
fn is_draft(machine: &Machine) -> bool {
    machine.state.ended().is_some_and(|ending| ending.cause == StopCause::HandedOff)
}

impl Interaction {
    /// Returns the action in the first row that applies. `handoff` is true while a handoff is being prepared.
    ///
    /// | | |
    /// |---|---|
    /// | a handoff is being prepared | `handoff` |
    /// | the model is at work, or was cancelled | `false` |
    /// | there is no message | `user-message-initial` |
    /// | the agent finished its answer | `user-message-reply` |
    /// | a call waits for a person | `user-tool-approval` |
    /// | a call is in progress | `tool-running` |
    /// | otherwise | `false` |
    pub fn of(inference: Inference, last: &LastSaid, handoff: bool) -> Self {
        if handoff {
            return Self::Handoff;
        }
        match (inference, last) {
            (Inference::Running | Inference::Cancelled, _) => Self::Nothing,
            (Inference::Idle, LastSaid::Nothing) => Self::UserMessageInitial,
            (Inference::Idle, LastSaid::WholeAnswer) => Self::UserMessageReply,
            (Inference::Idle, LastSaid::OpenCalls(calls)) if calls.blocked_on_user => Self::UserToolApproval,
            (Inference::Idle, LastSaid::OpenCalls(calls)) if calls.in_progress => Self::ToolRunning,
            (Inference::Idle, LastSaid::OpenCalls(_) | LastSaid::Other) => Self::Nothing,
        }
    }

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handoff => "handoff",
            Self::Nothing => "false",
            Self::UserMessageInitial => "user-message-initial",
            Self::UserMessageReply => "user-message-reply",
            Self::UserToolApproval => "user-tool-approval",
            Self::ToolRunning => "tool-running",
        }
    }
}

impl Serialize for Interaction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_bool(false),
            Self::Handoff
            | Self::UserMessageInitial
            | Self::UserMessageReply
            | Self::UserToolApproval
            | Self::ToolRunning => serializer.serialize_str(self.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(blocked_on_user: bool, in_progress: bool) -> LastSaid {
        LastSaid::OpenCalls(OpenCalls { blocked_on_user, in_progress })
    }

    #[test]
    fn b04_the_first_that_holds_says_what_a_person_may_do() {
        let all = [
            LastSaid::Nothing,
            LastSaid::WholeAnswer,
            open(true, true),
            open(false, true),
            open(false, false),
            LastSaid::Other,
        ];
        for last in &all {
            for inference in [Inference::Idle, Inference::Running, Inference::Cancelled] {
                assert_eq!(Interaction::of(inference, last, true).as_str(), "handoff");
            }
            for inference in [Inference::Running, Inference::Cancelled] {
                assert_eq!(Interaction::of(inference, last, false), Interaction::Nothing, "{last:?}");
            }
        }
        let idle =
            all.map(|last| serde_json::to_string(&Interaction::of(Inference::Idle, &last, false)).unwrap());
        assert_eq!(
            idle,
            [
                r#""user-message-initial""#,
                r#""user-message-reply""#,
                r#""user-tool-approval""#,
                r#""tool-running""#,
                "false",
                "false"
            ]
        );
    }
}
