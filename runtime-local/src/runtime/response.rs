//! The response: the result of a session's last turn.

use holdover_core::engine::RunOutcome;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{MessageSeq, SessionKey, StepNumber, TurnNumber};
use holdover_core::machine::glance::Ended;
use holdover_core::machine::{DoneReason, Turn, Usage};
use holdover_core::message::Message;
use serde::Serialize;

use super::read::MESSAGES_AT_ONCE;
use super::{Runtime, machine_of, outcome_of};
use crate::error::RuntimeError;

/// The result of the last turn of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Response {
    /// The number of the turn.
    pub turn: TurnNumber,
    /// The kind of ending: `stopped` or `error`.
    pub stop_reason: Ended,
    /// The reason for the ending.
    pub reason: DoneReason,
    /// The agent's last text in the turn, even if the turn was stopped in the middle of that text. `None` if there
    /// was no text.
    pub text: Option<String>,
    /// The number of steps: the model calls of the turn that finished, without those for summaries.
    pub steps: u32,
    /// The usage of the turn, and of a summary that a caller asked for after it. `None` if an older version began
    /// the turn.
    pub usage: Option<Usage>,
    /// The usage of the whole session.
    pub session_usage: Usage,
    /// The error, if the turn failed.
    pub error: Option<ErrorInfo>,
    /// The number of the step that failed, counted over the whole session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_in: Option<StepNumber>,
}

impl Runtime {
    /// Returns the result of the last turn of a session. Returns `None` before the first turn, and while a turn
    /// runs or waits.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or it cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn response(&self, key: &SessionKey) -> Result<Option<Response>, RuntimeError> {
        let session = self.existing(key).await?;
        let Some(machine) = machine_of(&session)?.filter(|machine| !machine.turn.open) else {
            return Ok(None);
        };
        let Some(RunOutcome::Ended(ending)) = outcome_of(&session, self.now())? else { return Ok(None) };
        Ok(Some(Response {
            turn: machine.turn.number,
            stop_reason: Ended::for_reason(ending.reason),
            reason: ending.reason,
            text: self.last_text_of(key, session.last_message, &machine.turn).await?,
            steps: machine.turn.steps,
            usage: machine.used_in_turn(),
            session_usage: machine.usage,
            error: ending.error,
            failed_in: ending.step,
        }))
    }

    /// Returns the agent's newest text in this turn. An unfinished text counts if the turn was stopped.
    pub(super) async fn last_text_of(
        &self,
        key: &SessionKey,
        last: MessageSeq,
        turn: &Turn,
    ) -> Result<Option<String>, RuntimeError> {
        let (mut to, mut answers) = (last, turn.steps);
        while to > turn.began {
            let from = MessageSeq(to.0.saturating_sub(MESSAGES_AT_ONCE - 1).max(turn.began.0 + 1));
            for entry in self.read_range(key, from, to).await?.into_iter().rev() {
                match entry.message {
                    Message::Assistant(said) if said.aborted => return Ok(Some(said.text())),
                    Message::Assistant(_) if answers == 0 => return Ok(None),
                    Message::Assistant(said) if !said.text().is_empty() => return Ok(Some(said.text())),
                    Message::Assistant(_) => answers -= 1,
                    Message::User(_)
                    | Message::Tool(_)
                    | Message::Decision(_)
                    | Message::Notice(_)
                    | Message::Summary(_) => {}
                }
            }
            to = MessageSeq(from.0 - 1);
        }
        Ok(None)
    }
}
