//! A session with the rows that belong to it.

use super::super::facts::Facts;
use super::super::read::Want;
use super::super::row::{Kind, Row, RowKey};
use crate::payload::Payload;
use crate::rules::{PageRoom, SessionRow};
use crate::{
    Claim, INBOX_PAGE, Labels, PAGE_BYTES_MAX, PendingCall, RunRecord, Session, Staged, StagedResult,
    StoreError, StoreErrorKind, StoredItem,
};

/// What a reader of a session is shown.
pub(in super::super) fn shown() -> Vec<Want> {
    let kinds = [Kind::Labels, Kind::Definition, Kind::State, Kind::Staged, Kind::Start];
    kinds.into_iter().map(Want::all).collect()
}

/// What a claim brings, and what it must know.
pub(in super::super) fn surroundings() -> Vec<Want> {
    let mut wants = shown();
    wants.push(Want::all(Kind::Pending));
    wants.push(Want::all(Kind::Item).at_most(INBOX_PAGE as usize + 1, PAGE_BYTES_MAX));
    wants.push(Want::newest(Kind::Run, u64::MAX).at_most(1, usize::MAX));
    wants
}

impl Facts {
    pub(super) fn labels(&self) -> Labels {
        if let Some(Row::Labels(labels)) = self.get(&RowKey::one(Kind::Labels)) {
            labels.clone()
        } else {
            Labels::default()
        }
    }

    fn definition(&self) -> Result<Payload, StoreError> {
        if let Some(Row::Definition(payload)) = self.get(&RowKey::one(Kind::Definition)) {
            Ok(payload.clone())
        } else {
            Err(StoreError::new(StoreErrorKind::Corrupt, "", "definition: it is missing"))
        }
    }

    fn state(&self) -> Option<Payload> {
        if let Some(Row::State(payload)) = self.get(&RowKey::one(Kind::State)) {
            Some(payload.clone())
        } else {
            None
        }
    }

    /// The staged results that are known, in the order of their calls.
    pub(super) fn staged(&self) -> Vec<StagedResult> {
        let staged = self
            .of(Kind::Staged)
            .filter_map(|row| if let Row::Staged(result) = row { Some(result.clone()) } else { None });
        staged.collect()
    }

    /// The open pending calls that are known, in the order they were opened.
    fn pending(&self) -> Vec<PendingCall> {
        let mut pending: Vec<(u64, &PendingCall)> = self
            .of(Kind::Pending)
            .filter_map(
                |row| if let Row::Pending { order, call } = row { Some((*order, call)) } else { None },
            )
            .collect();
        pending.sort_by_key(|(order, _)| *order);
        pending.into_iter().map(|(_, call)| call.clone()).collect()
    }

    /// The record of a run, if it is known.
    pub(super) fn run(&self, epoch: crate::ids::Epoch) -> Option<RunRecord> {
        if let Some(Row::Run(run)) = self.get(&Row::run(epoch)) { Some(run.clone()) } else { None }
    }

    /// The session as `row` has it, with what was read around it.
    pub(in super::super) fn session(&self, row: &SessionRow) -> Result<Session, StoreError> {
        let starts = self
            .of(Kind::Start)
            .filter_map(|row| if let Row::Start(call) = row { Some(call.clone()) } else { None });
        let staged = Staged { results: self.staged(), starts: starts.collect() };
        Ok(row.session(self.labels(), self.definition()?, self.state(), staged))
    }

    /// The claim that `row` stands for; `arrived` came with it.
    pub(super) fn claim(&self, row: &SessionRow, arrived: Vec<StoredItem>) -> Result<Claim, StoreError> {
        let there = self
            .of(Kind::Item)
            .filter_map(|row| if let Row::Item { item, .. } = row { Some(item.clone()) } else { None });
        let mut room = PageRoom::new(INBOX_PAGE as usize);
        let inbox = there.chain(arrived).take_while(|item| room.takes(item.payload.len())).collect();
        let claim = row.newest_claim(self.session(row)?, self.pending(), inbox, self.now);
        claim.ok_or_else(|| StoreError::new(StoreErrorKind::Corrupt, "", "session: it is claimed by no run"))
    }
}
