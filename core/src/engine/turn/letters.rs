//! Dead letters: a turn that is given up although it may succeed later leaves one (requirement C52). It is open until
//! the session goes on or ends for good. An answer to it asks the session to try again.

use std::collections::BTreeMap;

use crate::engine::context::Context;
use crate::engine::mind::{Mind, answered_by, says_unreadable};
use crate::machine::AgentState;
use crate::store::StoredItem;
use crate::words::error::ErrorInfo;
use crate::words::ids::{Epoch, PendingId};
use crate::words::letter::{self, Letter, LetterCause};

impl Context {
    /// Leaves a letter about the present turn, which has just failed with `error` after `attempts` attempts.
    pub(crate) fn leave_letter(&mut self, cause: LetterCause, error: ErrorInfo, attempts: u32) {
        let now = self.run.fence.epoch;
        let runs = match cause {
            LetterCause::Poisoned => {
                (Epoch(now.0.saturating_sub(u64::from(attempts))), Epoch(now.0.saturating_sub(1)))
            }
            LetterCause::Retries | LetterCause::Circuit | LetterCause::Unreadable => (now, now),
        };
        let turn = &self.mind.machine.turn;
        let letter = Letter::new(cause, error, attempts, runs, (turn.number, turn.began), self.run.now);
        let names = match letter::names(self.run.fence.incarnation, turn.number) {
            Ok(names) => names,
            Err(error) => return self.give_up(ErrorInfo::new("engine.pending_id", error.to_string())),
        };
        let opened = match letter::opened(&letter, names) {
            Ok(opened) => opened,
            Err(error) => return self.give_up(ErrorInfo::new("engine.encode", error)),
        };
        if self.mind.unawaited.letters.insert(opened.id.clone(), Some(letter)).is_none() {
            self.mind.draft.open.push(opened);
        }
    }
}

impl Mind {
    /// Returns true if somebody has asked to try the turn of an open letter again.
    pub(crate) fn letter_is_answered(&self) -> bool {
        self.inbox.items.iter().any(|item| self.unawaited.is_replayed_by(item))
    }

    /// Returns true if somebody has asked to try a turn that was given up again.
    pub(crate) fn retry_is_answered(&self) -> bool {
        self.inbox.items.iter().any(|item| self.unawaited.is_retried_by(item))
    }

    /// Closes all letters, because the session goes on.
    pub(crate) fn close_letters(&mut self) {
        for letter in std::mem::take(&mut self.unawaited.letters).into_keys() {
            self.close(letter);
        }
    }

    /// Closes the letters of a session that rests. If its turn has failed, only a letter that says that the session
    /// could not be read is closed, and only if nobody has asked to try the turn again.
    pub(crate) fn close_old_letters(&mut self) {
        let failed = matches!(&self.machine.state, AgentState::Done { ending, .. } if ending.error.is_some());
        if !failed {
            self.close_letters();
        } else if !self.retry_is_answered() {
            self.close_aside();
        }
    }

    /// Takes up an open turn that was set aside: closes the letters that say that the session could not be read, and
    /// takes the answers to them, because this run has read the session.
    pub(crate) fn take_up_aside(&mut self) {
        if !self.machine.turn.open {
            return;
        }
        let closed = self.close_aside();
        if closed.is_empty() {
            return;
        }
        let answers = |item: &StoredItem| answered_by(item).is_some_and(|of| closed.contains(of));
        let (taken, kept) = std::mem::take(&mut self.inbox.items).into_iter().partition(answers);
        self.inbox.items = kept;
        self.consume(taken);
    }

    fn close_aside(&mut self) -> Vec<PendingId> {
        let letters = std::mem::take(&mut self.unawaited.letters);
        let (aside, others): (BTreeMap<_, _>, _) =
            letters.into_iter().partition(|(_, letter)| says_unreadable(letter));
        self.unawaited.letters = others;
        aside.keys().for_each(|letter| self.close(letter.clone()));
        aside.into_keys().collect()
    }
}
