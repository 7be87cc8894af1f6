//! What travels to the store, and what its answers mean. One write at a time.

use std::collections::BTreeMap;

use super::mind::{Draft, Ended, Mind};
use super::{Action, ActionId, RunDetail, RunOutcome, STATE_FORMAT, StepIterator};
use crate::error::ErrorInfo;
use crate::event::Event;
use crate::ids::{CallId, InvalidId, OperationId, PendingId};
use crate::machine::AgentState;
use crate::message::Message;
use crate::payload::Payload;
use crate::store::{
    Applied, Commit, CommitOutcome, NewMessage, NewState, Receipt, Release, RunEnd, StageOutcome,
    StagedResult,
};

/// A write that is on its way.
#[derive(Debug)]
pub(super) struct Writing {
    id: ActionId,
    /// Nothing is decided until it is answered.
    pub(super) held: bool,
    /// It closes pending calls.
    pub(super) closes: bool,
    /// Calls to send once it is acknowledged.
    marks: Vec<CallId>,
    /// The results that it stages.
    staged: BTreeMap<CallId, Ended>,
    opened: Vec<PendingId>,
    closed: Vec<PendingId>,
    /// What is durable once it is acknowledged; none for a staging.
    durable: Option<Box<Mind>>,
}

impl Writing {
    /// Whether it opens this one.
    pub(super) fn opens_this(&self, pending: &PendingId) -> bool {
        self.opened.contains(pending)
    }

    /// Whether it opens pending calls.
    pub(super) fn opens(&self) -> bool {
        !self.opened.is_empty()
    }
}

/// A held commit that waits for the write before it.
#[derive(Debug)]
pub(super) struct Wanted {
    release: Option<Release>,
    marks: Vec<CallId>,
}

impl StepIterator {
    /// Asks for a commit that everything waits for.
    pub(super) fn want_commit(&mut self, release: Option<Release>) {
        self.hold(Wanted { release, marks: Vec::new() });
    }

    /// The same, with the marks of calls to send once it is acknowledged.
    pub(super) fn hold_for_commit(&mut self, marks: Vec<CallId>) {
        self.hold(Wanted { release: None, marks });
    }

    fn hold(&mut self, wanted: Wanted) {
        if self.writing.is_none() {
            self.commit_held(wanted);
        } else {
            self.wanted = Some(wanted);
        }
    }

    fn commit_held(&mut self, wanted: Wanted) {
        self.commit(wanted.release, wanted.marks);
        if let Some(writing) = &mut self.writing {
            writing.held = true;
        }
    }

    /// Puts everything that was decided into one commit and sends it.
    pub(super) fn commit(&mut self, release: Option<Release>, marks: Vec<CallId>) {
        let commit = match self.build(release) {
            Ok(commit) => commit,
            Err(error) => return self.give_up(ErrorInfo::new("engine.encode", error.to_string())),
        };
        let id = self.next_id();
        self.mind.answered_at = None;
        self.writing = Some(Writing {
            id,
            held: commit.release.is_some() || !commit.close.is_empty(),
            closes: !commit.close.is_empty(),
            marks,
            staged: self.ended_of(&commit.stage),
            opened: commit.open.iter().map(|open| open.id.clone()).collect(),
            closed: commit.close.clone(),
            durable: Some(Box::new(self.mind.clone())),
        });
        if commit.close.is_empty() {
            self.keep_before();
        }
        self.actions.push_back(Action::Commit { id, commit: Box::new(commit) });
    }

    fn build(&mut self, release: Option<Release>) -> Result<Commit, serde_json::Error> {
        let operation = self.next_operation().map_err(serde::ser::Error::custom)?;
        let run = match &self.leaving {
            Some(outcome) if release.is_some() => Some(self.run_end(outcome)?),
            Some(_) | None => None,
        };
        let nothing_new = !self.mind.moved && !self.mind.draft.is_due_beyond_run_started();
        let stage = if self.mind.machine.state.batch().is_some() { self.unstaged() } else { Vec::new() };
        let draft = std::mem::take(&mut self.mind.draft);
        let mut events = Vec::with_capacity(draft.events.len() + 1);
        let mut rows = draft.history;
        if !(nothing_new && release.is_some()) {
            // The rows stand before what ends a turn, so that its `done` is its last event.
            let ends = |event: &Event| matches!(event, Event::AgentEnd { .. });
            let end = draft.events.iter().position(ends).unwrap_or(draft.events.len());
            let (before, last) = draft.events.split_at(end);
            for event in before {
                events.push(Payload::json(event)?);
            }
            if !rows.is_empty() {
                events.push(Payload::json(&Event::History { rows: std::mem::take(&mut rows) })?);
            }
            for event in last {
                events.push(Payload::json(event)?);
            }
        }
        // Whoever gives the claim back has seen nothing: what woke the session wakes it again.
        let inbox_seen = match &release {
            Some(Release::GiveBack { .. }) => None,
            Some(Release::To { .. }) | None => Some(self.mind.inbox_seen),
        };
        let state = NewState { format: STATE_FORMAT, payload: Payload::json(&self.mind.machine)? };
        let rests = matches!(release, Some(Release::To { .. }));
        Ok(Commit {
            operation,
            expected_version: Some(self.version),
            state: (!nothing_new).then_some(state),
            messages: draft.messages,
            stage,
            events,
            checkpoint: !nothing_new && (draft.step_closed || rests),
            streamed: draft.streamed,
            open: draft.open,
            close: draft.close,
            consumed: draft.consumed,
            inbox_seen,
            interrupt_confirmed: draft.interrupt_confirmed,
            run,
            release,
        })
    }

    /// Unique in the run, and the fence names the run. What ends the turn of a run that could not go on may do so under
    /// the fence of that one: it has names of its own, or the store would take its commit for a repeat.
    fn next_operation(&mut self) -> Result<OperationId, InvalidId> {
        self.operations += 1;
        let run = if self.stands_in { "e" } else { "c" };
        OperationId::new(format!("{run}{}.{}", self.fence.epoch, self.operations))
    }

    fn run_end(&self, outcome: &RunOutcome) -> Result<RunEnd, serde_json::Error> {
        let usage = self.mind.machine.usage.since(&self.usage_before);
        let detail = RunDetail { kind: Some(self.kind), outcome: outcome.clone(), usage };
        Ok(RunEnd { outcome: outcome.kind(), detail: Payload::json(&detail)? })
    }

    /// Results that have ended and are not staged, in call order.
    pub(super) fn unstaged(&self) -> Vec<StagedResult> {
        let Some(batch) = self.mind.machine.state.batch() else { return Vec::new() };
        batch
            .calls
            .iter()
            .filter_map(|call| {
                let ended = self.mind.ended.get(&call.id).filter(|ended| !ended.staged)?;
                Some(StagedResult { call: call.id.clone(), payload: ended.payload.clone() })
            })
            .collect()
    }

    /// These results, as they are kept once they are staged.
    fn ended_of(&self, results: &[StagedResult]) -> BTreeMap<CallId, Ended> {
        let kept = |staged: &StagedResult| {
            let ended = self.mind.ended.get(&staged.call)?.clone();
            Some((staged.call.clone(), Ended { staged: true, ..ended }))
        };
        results.iter().filter_map(kept).collect()
    }

    /// Stages what has ended, with the marks of the calls that start next.
    pub(super) fn stage(&mut self, marks: Vec<CallId>) {
        let staging = self.staging(marks.clone());
        let id = self.next_id();
        self.writing = Some(Writing {
            id,
            held: false,
            closes: false,
            marks,
            staged: self.ended_of(&staging.results),
            opened: Vec::new(),
            closed: Vec::new(),
            durable: None,
        });
        self.actions.push_back(Action::StageResult { id, staging });
    }

    pub(super) fn on_committed(&mut self, id: ActionId, outcome: Result<CommitOutcome, ErrorInfo>) {
        if self.writing.as_ref().is_none_or(|writing| writing.id != id) {
            return;
        }
        let Some(writing) = self.writing.take() else { return };
        match outcome {
            Ok(CommitOutcome::Committed(receipt)) => self.acknowledged(writing, &receipt),
            Ok(CommitOutcome::StaleFence { applied: Applied::Yes }) if self.is_last(&writing) => {
                self.exit = self.leaving.take();
            }
            Ok(CommitOutcome::StaleFence { .. } | CommitOutcome::VersionConflict { .. }) => {
                self.exit = Some(RunOutcome::Lost);
            }
            Ok(CommitOutcome::AnswerWaiting { .. }) => self.decide_again(),
            Ok(
                refused @ (CommitOutcome::NotStaged { .. }
                | CommitOutcome::StageConflict { .. }
                | CommitOutcome::PendingConflict { .. }
                | CommitOutcome::NotInInbox { .. }),
            ) => {
                let detail = format!("the store disagrees with the run: {refused:?}");
                self.fail_from_durable(ErrorInfo::new("engine.store_disagrees", detail));
            }
            Err(error) => self.fail_from_durable(error),
        }
    }

    fn is_last(&self, writing: &Writing) -> bool {
        self.leaving.is_some() && self.wanted.is_none() && writing.held
    }

    fn acknowledged(&mut self, writing: Writing, receipt: &Receipt) {
        self.version = receipt.version;
        self.now = self.now.max(receipt.now);
        if self.is_last(&writing) {
            self.exit = self.leaving.take();
            return;
        }
        if let Some(durable) = writing.durable {
            self.durable = *durable;
        }
        let before = self.before.as_mut().map(|(mind, _)| mind);
        for mind in [&mut self.mind, &mut self.durable].into_iter().chain(before) {
            for call in writing.staged.keys() {
                if let Some(ended) = mind.ended.get_mut(call) {
                    ended.staged = true;
                }
            }
            mind.open.extend(writing.opened.iter().cloned());
            for closed in &writing.closed {
                mind.open.remove(closed);
            }
        }
        if writing.closes {
            self.before = None;
        }
        // What is staged is durable, also if its step has been closed in the draft since (INV-17).
        for (call, ended) in &writing.staged {
            self.durable.ended.entry(call.clone()).or_insert_with(|| ended.clone());
        }
        // Results drafted inline while their staging was on its way are promoted instead.
        self.promote_staged(&writing.staged);
        self.hear(receipt);
        self.to_send.extend(writing.marks);
        if let Some(wanted) = self.wanted.take() {
            self.commit_held(wanted);
        }
    }

    fn promote_staged(&mut self, staged: &BTreeMap<CallId, Ended>) {
        if staged.is_empty() {
            return;
        }
        let first = self.mind.last_message.0 + 1 - self.mind.draft.messages.len() as u64;
        for (at, message) in self.mind.draft.messages.iter_mut().enumerate() {
            let place = first + at as u64;
            let tool = self.mind.added.iter().rev().find(|(seq, _)| seq.0 == place);
            if let Some(Message::Tool(result)) = tool.map(|(_, message)| message.as_ref())
                && staged.contains_key(&result.call)
            {
                *message = NewMessage::Promote(result.call.clone());
            }
        }
    }

    pub(super) fn on_staged(&mut self, id: ActionId, outcome: Result<StageOutcome, ErrorInfo>) {
        if self.writing.as_ref().is_none_or(|writing| writing.id != id) {
            return;
        }
        let Some(writing) = self.writing.take() else { return };
        match outcome {
            Ok(StageOutcome::Staged(receipt)) => self.acknowledged(writing, &receipt),
            Ok(StageOutcome::StaleFence) => self.exit = Some(RunOutcome::Lost),
            Ok(StageOutcome::Conflict { call }) => {
                let detail = format!("call {call} has another staged result");
                self.fail_from_durable(ErrorInfo::new("engine.store_disagrees", detail));
            }
            Err(error) => self.fail_from_durable(error),
        }
    }

    /// Somebody's answer was accepted that this run has not read: the state before is taken up again, the
    /// inbox is read, and what came since is decided again.
    fn decide_again(&mut self) {
        let Some((before, replies)) = self.before.take() else {
            // Only a commit that closes is answered so, and such a commit keeps the state before it.
            let error = ErrorInfo::new("engine.store_disagrees", "an answer waits for a call that is open");
            return self.fail_from_durable(error);
        };
        self.mind = before;
        self.leaving = None;
        self.wanted = None;
        self.sleeping = None;
        for reply in replies.into_iter().rev() {
            self.held_back.push_front(reply);
        }
        self.loading = true;
        let id = self.read(Vec::new(), self.mind.inbox_seen, true);
        self.reading = Some(id);
    }

    /// The draft cannot be stored: it is forgotten, and the turn ends on the error from where the store is.
    fn fail_from_durable(&mut self, error: ErrorInfo) {
        let interrupt = (self.mind.interrupt.clone(), self.mind.interrupt_told);
        self.mind = self.durable.clone();
        self.mind.draft = Draft { decided: true, ..Draft::default() };
        (self.mind.interrupt, self.mind.interrupt_told) = interrupt;
        self.wanted = None;
        self.leaving = None;
        self.before = None;
        self.to_send.clear();
        // A read that is out begins after items that are unread again.
        self.reading = None;
        self.news_due = true;
        let listening = self.model_call.take();
        self.take_staged();
        if !self.mind.machine.turn.open {
            // Nothing of the turn is durable, so there is nothing to end: the next run begins it again.
            self.exit = Some(RunOutcome::Lost);
            return;
        }
        if let AgentState::TearingDown { .. } = self.mind.machine.state {
            // The outcome stands, and what the turn holds is still to be freed.
            self.mind.teardown_due = self.tearing_down.is_none();
        }
        self.give_up(error);
        if let Some(of) = listening {
            self.actions.push_back(Action::StopModel { of });
        }
    }
}
