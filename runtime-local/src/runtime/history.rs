//! The history of a session: every transition of its machine.

use futures::TryStreamExt;
use holdover_core::event::Event;
use holdover_core::history::HistoryRow;
use holdover_core::ids::{CheckpointId, EventSeq, SessionKey};
use holdover_core::machine::history::Fold;
use holdover_core::machine::{Input, Machine, StateKind};
use holdover_core::procedure::StateName;
use holdover_core::store::EventCursor;
use holdover_core::time::Timestamp;
use serde::Serialize;

use super::{Follow, Runtime};
use crate::error::RuntimeError;

/// A move of a session's machine. Its number refers to the machine after the move
/// ([`Runtime::machine_after`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Move {
    /// The number of the move, from 1.
    pub number: usize,
    /// The number of the event that contains the move.
    pub seq: EventSeq,
    /// The cursor after that event.
    pub cursor: EventCursor,
    /// The state before the move.
    pub from: StateKind,
    /// The input that caused the move, [redacted](HistoryRow::redacted).
    pub on: Input,
    /// The state after the move.
    pub to: StateKind,
    /// The state of the agent's procedure after the move, if the move changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub procedure: Option<StateName>,
    /// The time of the move.
    pub at: Timestamp,
    /// The checkpoint that holds the machine after the move, if the commit of the move kept one and the move is its
    /// last. A retention rule may have deleted the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
}

impl Runtime {
    /// Returns every move of a session's machine, oldest first.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or its rows cannot be
    /// [read](RuntimeError::Unreadable) or do not fit together.
    pub async fn moves(&self, key: &SessionKey) -> Result<Vec<Move>, RuntimeError> {
        let mut moves = Vec::new();
        let mut stood: Option<StateName> = None;
        self.fold(key, |fold, (seq, cursor), row| {
            let (number, to) = (fold.rows(), fold.machine().state.kind());
            let stands = &fold.machine().procedure;
            let procedure = stands.clone().filter(|_| *stands != stood);
            stood.clone_from(stands);
            let HistoryRow { from, input: on, at, checkpoint, .. } = row.redacted();
            moves.push(Move { number, seq, cursor, from, on, to, procedure, at, checkpoint });
            true
        })
        .await?;
        Ok(moves)
    }

    /// Returns a session's machine as it was after the move `number`. Number 0 stands for the machine before the
    /// first move. Returns `None` if `number` is greater than the number of moves.
    ///
    /// Errors: those of [`moves`](Self::moves).
    pub async fn machine_after(
        &self,
        key: &SessionKey,
        number: usize,
    ) -> Result<Option<Machine>, RuntimeError> {
        let mut found = (number == 0).then(Machine::default);
        self.fold(key, |fold, _, _| {
            if fold.rows() == number {
                found = Some(fold.machine().clone());
            }
            fold.rows() < number
        })
        .await?;
        Ok(found)
    }

    /// Folds the rows of a session. Calls `goes_on` with each row and the result so far, until it returns
    /// false.
    async fn fold(
        &self,
        key: &SessionKey,
        mut goes_on: impl FnMut(&Fold, (EventSeq, EventCursor), HistoryRow) -> bool,
    ) -> Result<(), RuntimeError> {
        let mut events = self.stored_events(key, EventCursor::START, Follow::Available);
        let mut fold = Fold::default();
        while let Some(entry) = events.try_next().await? {
            let Event::History { rows } = entry.event else { continue };
            for row in rows {
                let broken = |error| RuntimeError::unreadable(key, format!("event {}", entry.seq), error);
                fold.take(&row).map_err(broken)?;
                if !goes_on(&fold, (entry.seq, entry.cursor), row) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
