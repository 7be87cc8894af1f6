//! Deltas: pieces of a model's answer, stored while the model writes it.

use super::super::ask::{Ask, Decision, Draft};
use super::super::facts::Facts;
use super::super::read::Want;
use super::super::row::{Kind, Row};
use super::super::write::Op;
use crate::ids::Fence;
use crate::{DeltaBatch, DeltaOutcome, StoredDelta};

/// Appends deltas to a stream of the run that holds the session.
pub(in super::super) struct AppendDeltas<'a> {
    pub(in super::super) fence: &'a Fence,
    pub(in super::super) batch: &'a DeltaBatch,
}

impl Ask for AppendDeltas<'_> {
    type Outcome = DeltaOutcome;

    fn fence(&self) -> Option<&Fence> {
        Some(self.fence)
    }

    fn wants(&self) -> Vec<Want> {
        Vec::new()
    }

    fn decide(&self, facts: &Facts) -> Decision<DeltaOutcome> {
        let Some(before) = facts.row() else { return Decision::Answer(DeltaOutcome::StaleFence) };
        let mut after = before.clone();
        let streamed = match after.stream(self.fence, self.batch) {
            Ok(streamed) => streamed,
            Err(refused) => return Decision::Answer(refused),
        };
        let answer = DeltaOutcome::Appended(after.receipt(facts.now));
        if streamed.skip == self.batch.deltas.len() {
            return Decision::Answer(answer);
        }
        let mut draft = Draft { provisional: true, row: Some(after), ..Draft::default() };
        if streamed.replaces && before.stream.open {
            draft.ops.push(Op::Clear(Kind::Delta));
        }
        let places = self.batch.first..;
        for (place, payload) in places.zip(&self.batch.deltas).skip(streamed.skip) {
            draft.put(Row::Delta(StoredDelta { place, payload: payload.clone() }));
        }
        Decision::write(draft, answer)
    }
}
