//! Staging: results that become durable before their step is over.

use std::collections::BTreeMap;

use crate::engine::mind::{Ended, Mind};
use crate::store::{NewMessage, StagedResult, Staging};
use crate::words::ids::CallId;
use crate::words::message::Message;
use crate::words::tool::EffectClass;

impl Mind {
    /// Returns true if a result should be staged while other calls of its step are out. Results of read-only calls
    /// alone need no staging, because these calls can be run again.
    pub(crate) fn has_unstaged(&self) -> bool {
        let Some(batch) = self.machine.state.batch() else { return false };
        batch.calls.iter().any(|call| {
            call.effect != EffectClass::ReadOnly
                && self.step.ended.get(&call.id).is_some_and(|ended| !ended.staged)
        })
    }

    /// Returns all results that are not staged yet, in call order, with the marks of the calls that start next.
    pub(crate) fn staging(&self, starts: Vec<CallId>) -> Staging {
        let results = self.unstaged();
        Staging { results, starts }
    }

    /// Returns the results of calls that have ended and are not staged, in call order.
    pub(crate) fn unstaged(&self) -> Vec<StagedResult> {
        let Some(batch) = self.machine.state.batch() else { return Vec::new() };
        batch
            .calls
            .iter()
            .filter_map(|call| {
                let ended = self.step.ended.get(&call.id).filter(|ended| !ended.staged)?;
                Some(StagedResult { call: call.id.clone(), payload: ended.payload.clone() })
            })
            .collect()
    }

    pub(crate) fn promote_staged(&mut self, staged: &BTreeMap<CallId, Ended>) {
        if staged.is_empty() {
            return;
        }
        let first = self.transcript.last.0 + 1 - self.draft.messages.len() as u64;
        for (at, message) in self.draft.messages.iter_mut().enumerate() {
            let place = first + at as u64;
            let tool = self.transcript.added.iter().rev().find(|(seq, _)| seq.0 == place);
            if let Some(Message::Tool(result)) = tool.map(|(_, message)| message.as_ref())
                && staged.contains_key(&result.call)
            {
                *message = NewMessage::Promote(result.call.clone());
            }
        }
    }
}
