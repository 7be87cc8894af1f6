//! Dead letters: a turn that is given up although it may succeed later leaves one (requirement C52). It is open until
//! the session goes on or ends for good. An answer to it asks the session to try again.

use crate::engine::context::Context;
use crate::engine::mind::Mind;
use crate::machine::AgentState;
use crate::store::{NewPending, PendingKind};
use crate::words::error::ErrorInfo;
use crate::words::ids::Epoch;
use crate::words::letter::{self, DEAD_LETTER, Letter, LetterCause};
use crate::words::message::PendingBody;
use crate::words::payload::{Digest, Payload};

impl Context {
    /// Leaves a letter about the present turn, which has just failed with `error` after `attempts` attempts.
    pub(crate) fn leave_letter(&mut self, cause: LetterCause, error: ErrorInfo, attempts: u32) {
        let now = self.run.fence.epoch;
        let runs = match cause {
            LetterCause::Poisoned => {
                (Epoch(now.0.saturating_sub(u64::from(attempts))), Epoch(now.0.saturating_sub(1)))
            }
            LetterCause::Retries | LetterCause::Circuit => (now, now),
        };
        let turn = &self.mind.machine.turn;
        let letter = Letter::new(cause, error, attempts, runs, (turn.number, turn.began), self.run.now);
        let (call, id) = match letter::names(self.run.fence.incarnation, turn.number) {
            Ok(names) => names,
            Err(error) => return self.give_up(ErrorInfo::new("engine.pending_id", error.to_string())),
        };
        let body = match body_of(&letter) {
            Ok(body) => body,
            Err(error) => return self.give_up(ErrorInfo::new("engine.encode", error)),
        };
        if self.mind.unawaited.letters.insert(id.clone()) {
            let kind = PendingKind::DeadLetter;
            self.mind.draft.open.push(NewPending { id, call, kind, needed: 1, deadline: None, body });
        }
    }
}

/// Returns the stored form of a letter. Programs that do not know letters can show it as any pending call.
fn body_of(letter: &Letter) -> Result<Payload, String> {
    let tool = DEAD_LETTER.parse().map_err(|error| format!("tool name {DEAD_LETTER}: {error}"))?;
    let arguments = serde_json::to_string(letter).map_err(|error| error.to_string())?;
    let digest = Digest::of(arguments.as_bytes());
    let prompt = Some(letter.error.to_string());
    let body = PendingBody { tool, arguments, digest, prompt, panel: None };
    Payload::json(&body).map_err(|error| error.to_string())
}

impl Mind {
    /// Returns true if somebody has asked to try the turn of an open letter again.
    pub(crate) fn letter_is_answered(&self) -> bool {
        self.inbox.items.iter().any(|item| self.unawaited.is_replayed_by(item))
    }

    /// Closes all letters, because the session goes on.
    pub(crate) fn close_letters(&mut self) {
        for letter in std::mem::take(&mut self.unawaited.letters) {
            self.close(letter);
        }
    }

    /// Closes the letters of a session that rests, unless its turn has failed.
    pub(crate) fn close_old_letters(&mut self) {
        let failed = matches!(&self.machine.state, AgentState::Done { ending, .. } if ending.error.is_some());
        if !failed {
            self.close_letters();
        }
    }
}
