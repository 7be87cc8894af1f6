//! Builds sessions and claims from the known rows of a session.

use super::super::facts::Facts;
use super::super::read::Want;
use super::super::row::{Kind, Row, RowKey, picked};
use crate::payload::Payload;
use crate::rules::{PageRoom, SessionRow};
use crate::{
    Claim, INBOX_PAGE, Labels, PAGE_BYTES_MAX, PendingCall, RunRecord, Session, Staged, StagedResult,
    StoreError, StoreErrorKind, StoredItem,
};

/// Returns the rows that a reader of a session needs.
pub(in super::super) fn shown() -> Vec<Want> {
    let kinds = [Kind::Labels, Kind::Definition, Kind::State, Kind::Staged, Kind::Start];
    kinds.into_iter().map(Want::all).collect()
}

/// Returns the rows that a claim returns or decides on.
pub(in super::super) fn surroundings() -> Vec<Want> {
    let mut wants = shown();
    wants.push(Want::all(Kind::Pending));
    wants.push(Want::all(Kind::Item).at_most(INBOX_PAGE as usize + 1, PAGE_BYTES_MAX));
    wants.push(Want::newest(Kind::Run, u64::MAX).at_most(1, usize::MAX));
    wants
}

impl Facts {
    pub(super) fn labels(&self) -> Labels {
        let labels = self.get(&RowKey::one(Kind::Labels));
        picked!(labels, Some(Row::Labels(labels)) => labels.clone()).unwrap_or_default()
    }

    fn definition(&self) -> Result<Payload, StoreError> {
        let definition = self.get(&RowKey::one(Kind::Definition));
        picked!(definition, Some(Row::Definition(payload)) => payload.clone())
            .ok_or_else(|| StoreError::new(StoreErrorKind::Corrupt, "", "definition: it is missing"))
    }

    fn state(&self) -> Option<Payload> {
        picked!(self.get(&RowKey::one(Kind::State)), Some(Row::State(payload)) => payload.clone())
    }

    /// Returns the known staged results, in the order of their calls.
    pub(super) fn staged(&self) -> Vec<StagedResult> {
        let staged = self.of(Kind::Staged);
        staged.filter_map(|row| picked!(row, Row::Staged(result) => result.clone())).collect()
    }

    /// Returns the known open pending calls, in the order in which they were opened.
    fn pending(&self) -> Vec<PendingCall> {
        let pending = self.of(Kind::Pending);
        let pending = pending.filter_map(|row| picked!(row, Row::Pending { order, call } => (*order, call)));
        let mut pending: Vec<(u64, &PendingCall)> = pending.collect();
        pending.sort_by_key(|(order, _)| *order);
        pending.into_iter().map(|(_, call)| call.clone()).collect()
    }

    /// Returns the record of a run, if it is known.
    pub(super) fn run(&self, epoch: crate::ids::Epoch) -> Option<RunRecord> {
        picked!(self.get(&Row::run(epoch)), Some(Row::Run(run)) => run.clone())
    }

    /// Builds the session of `row` from the known rows.
    pub(in super::super) fn session(&self, row: &SessionRow) -> Result<Session, StoreError> {
        let starts = self.of(Kind::Start);
        let starts = starts.filter_map(|row| picked!(row, Row::Start(call) => call.clone())).collect();
        let staged = Staged { results: self.staged(), starts };
        Ok(row.session(self.labels(), self.definition()?, self.state(), staged))
    }

    /// Builds the newest claim of `row`. `arrived` are the items that the claim brought.
    pub(super) fn claim(&self, row: &SessionRow, arrived: Vec<StoredItem>) -> Result<Claim, StoreError> {
        let there = self.of(Kind::Item);
        let there = there.filter_map(|row| picked!(row, Row::Item { item, .. } => item.clone()));
        let mut room = PageRoom::new(INBOX_PAGE as usize);
        let inbox = there.chain(arrived).take_while(|item| room.takes(item.payload.len())).collect();
        let claim = row.newest_claim(self.session(row)?, self.pending(), inbox, self.now);
        claim.ok_or_else(|| StoreError::new(StoreErrorKind::Corrupt, "", "session: it is claimed by no run"))
    }
}
