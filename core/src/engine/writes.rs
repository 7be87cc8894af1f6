//! Writes to the store, one at a time, and the handling of its answers.

use std::collections::BTreeMap;

use crate::engine::action::{Action, ActionId};
use crate::engine::context::out::{ModelOut, News, SurroundingsOut};
use crate::engine::mind::{Draft, Ended, Mind};
use crate::engine::reply::Reply;
use crate::engine::{RunDetail, RunOutcome, StepIterator};
use crate::machine::AgentState;
use crate::store::{
    Applied, Commit, CommitOutcome, NewState, Receipt, Release, RunEnd, StageOutcome, StagedResult,
};
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::ids::{CallId, CheckpointId, InvalidId, OperationId, PendingId, Version};
use crate::words::payload::Payload;

/// A write that is on its way.
#[derive(Debug)]
pub(super) struct Writing {
    id: ActionId,
    /// True if no decision is made until the write is answered.
    pub(super) held: bool,
    /// True if the write closes pending calls.
    pub(super) closes: bool,
    /// The calls to send once the write is acknowledged.
    marks: Vec<CallId>,
    /// The calls whose results the write makes durable. The value is true if the call succeeded.
    results: BTreeMap<CallId, bool>,
    /// The results that the write stages.
    staged: BTreeMap<CallId, Ended>,
    opened: Vec<PendingId>,
    closed: Vec<PendingId>,
    /// The decisions that are durable once the write is acknowledged; `None` for a staging.
    durable: Option<Box<Mind>>,
}

impl Writing {
    /// Returns true if the write opens this pending call.
    pub(super) fn opens_this(&self, pending: &PendingId) -> bool {
        self.opened.contains(pending)
    }

    /// Returns true if the write opens pending calls.
    pub(super) fn opens(&self) -> bool {
        !self.opened.is_empty()
    }
}

/// The durable decisions, and the writes on their way to the store.
#[derive(Debug)]
pub(super) struct Writes {
    pub(super) version: Version,
    /// The number of commits that were built.
    pub(super) operations: u64,
    /// The decisions that the store has acknowledged.
    pub(super) durable: Mind,
    /// The decisions before the draft closed pending calls, and the replies that were taken since.
    pub(super) before: Option<(Mind, Vec<Reply>)>,
    /// The write that is on its way.
    pub(super) writing: Option<Writing>,
    /// The held commit that waits until `writing` is answered.
    pub(super) wanted: Option<Wanted>,
}

impl Writes {
    pub(super) fn new(version: Version, durable: Mind) -> Self {
        Self { version, operations: 0, durable, before: None, writing: None, wanted: None }
    }

    /// Returns true if a held commit waits or is on its way.
    pub(super) fn are_held(&self) -> bool {
        self.wanted.is_some() || self.writing.as_ref().is_some_and(|writing| writing.held)
    }
}

/// A held commit that waits for the previous write.
#[derive(Debug)]
pub(super) struct Wanted {
    release: Option<Release>,
    marks: Vec<CallId>,
}

impl StepIterator {
    /// Requests a held commit.
    pub(super) fn want_commit(&mut self, release: Option<Release>) {
        self.hold(Wanted { release, marks: Vec::new() });
    }

    /// Requests a held commit, with the start marks of the calls to send once it is acknowledged.
    pub(super) fn hold_for_commit(&mut self, marks: Vec<CallId>) {
        self.hold(Wanted { release: None, marks });
    }

    fn hold(&mut self, wanted: Wanted) {
        if self.writes.writing.is_none() {
            self.commit_held(wanted);
        } else {
            self.writes.wanted = Some(wanted);
        }
    }

    fn commit_held(&mut self, wanted: Wanted) {
        self.commit(wanted.release, wanted.marks);
        if let Some(writing) = &mut self.writes.writing {
            writing.held = true;
        }
    }

    /// Puts all decisions into one commit and sends it.
    pub(super) fn commit(&mut self, release: Option<Release>, marks: Vec<CallId>) {
        debug_assert!(self.cx.mind.draft.fault.is_none(), "what cannot be stored is heeded before a commit");
        let added = self.cx.mind.draft.results.iter().map(|added| (added.call.clone(), added.done));
        let added: Vec<(CallId, bool)> = added.collect();
        let commit = match self.build(release) {
            Ok(commit) => commit,
            Err(error) => return self.cx.give_up(ErrorInfo::new("engine.encode", error.to_string())),
        };
        let id = self.cx.output.next_id();
        self.cx.mind.step.answered_at = None;
        self.writes.writing = Some(Writing {
            id,
            held: commit.release.is_some() || !commit.close.is_empty(),
            closes: !commit.close.is_empty(),
            marks,
            results: self.successes(&commit.stage).chain(added).collect(),
            staged: self.ended_of(&commit.stage),
            opened: commit.open.iter().map(|open| open.id.clone()).collect(),
            closed: commit.close.clone(),
            durable: Some(Box::new(self.cx.mind.clone())),
        });
        if commit.close.is_empty() {
            self.keep_before();
        }
        self.cx.output.push(Action::Commit { id, commit: Box::new(commit) });
    }

    fn build(&mut self, release: Option<Release>) -> Result<Commit, serde_json::Error> {
        let operation = self.next_operation().map_err(serde::ser::Error::custom)?;
        let run = match &self.cx.end.leaving {
            Some(outcome) if release.is_some() => Some(self.run_end(outcome)?),
            Some(_) | None => None,
        };
        let format = self.cx.format();
        // Held items may need a newer format although nothing else has changed.
        let raises = matches!(release, Some(Release::To { .. }))
            && self.cx.mind.inbox.holds_new()
            && format > self.cx.run.found.format;
        let nothing_new = !self.cx.mind.moved && !self.cx.mind.draft.is_due_beyond_run_started() && !raises;
        let stage =
            if self.cx.mind.machine.state.batch().is_some() { self.cx.mind.unstaged() } else { Vec::new() };
        let draft = std::mem::take(&mut self.cx.mind.draft);
        let mut events = Vec::with_capacity(draft.events.len() + 1);
        let mut rows = draft.history;
        let rests = matches!(release, Some(Release::To { .. }));
        let checkpoint = !nothing_new && (draft.step_closed || rests);
        if let Some(last) = rows.last_mut().filter(|_| checkpoint) {
            // The version after this commit, which is also the id of its checkpoint.
            last.checkpoint = Some(CheckpointId(self.writes.version.next().0));
        }
        if !(nothing_new && release.is_some()) {
            // The history rows come before the events that end a turn, so that `done` is the last event of the
            // turn.
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
        // A run that gives the claim back has read nothing, so the same items wake the session again.
        let inbox_seen = match &release {
            Some(Release::GiveBack { .. }) => None,
            Some(Release::To { .. }) | None => Some(self.cx.mind.inbox.seen),
        };
        let state = NewState { format, payload: Payload::json(&self.cx.mind.machine)? };
        Ok(Commit {
            operation,
            expected_version: Some(self.writes.version),
            state: (!nothing_new).then_some(state),
            messages: draft.messages,
            stage,
            events,
            checkpoint,
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

    /// Returns a new operation id. It is unique in the run, and the fence identifies the run. A run that ends the
    /// turn of another run may write under that run's fence. So its ids have another prefix; otherwise the store
    /// would treat its commit as a repeat.
    fn next_operation(&mut self) -> Result<OperationId, InvalidId> {
        self.writes.operations += 1;
        let run = if self.cx.run.stands_in { "e" } else { "c" };
        OperationId::new(format!("{run}{}.{}", self.cx.run.fence.epoch, self.writes.operations))
    }

    fn run_end(&self, outcome: &RunOutcome) -> Result<RunEnd, serde_json::Error> {
        let usage = self.cx.mind.machine.usage.since(&self.cx.run.usage_before);
        let detail = RunDetail { kind: Some(self.cx.run.kind), outcome: outcome.clone(), usage };
        Ok(RunEnd { outcome: outcome.kind(), detail: Payload::json(&detail)? })
    }

    /// Returns these results as they are kept once they are staged.
    fn ended_of(&self, results: &[StagedResult]) -> BTreeMap<CallId, Ended> {
        let kept = |staged: &StagedResult| {
            let ended = self.cx.mind.step.ended.get(&staged.call)?.clone();
            Some((staged.call.clone(), Ended { staged: true, ..ended }))
        };
        results.iter().filter_map(kept).collect()
    }

    /// Returns for each of these results if its call succeeded. Only code asks for that.
    fn successes(&self, results: &[StagedResult]) -> impl Iterator<Item = (CallId, bool)> {
        let of_code = self.cx.run.is_planned();
        let results = results.iter().filter(move |_| of_code);
        results.map(|staged| (staged.call.clone(), self.cx.mind.is_done(&staged.call)))
    }

    /// Returns true if the write that is on its way makes the result of this call durable and the call succeeded, and
    /// false if the call did not succeed. Returns `None` if the write does not hold the result.
    pub fn writes_result(&self, call: &CallId) -> Option<bool> {
        self.writes.writing.as_ref().and_then(|writing| writing.results.get(call).copied())
    }

    /// Stages the results of the calls that have ended, with the marks of the calls that start next.
    pub(super) fn stage(&mut self, marks: Vec<CallId>) {
        let staging = self.cx.mind.staging(marks.clone());
        let id = self.cx.output.next_id();
        self.writes.writing = Some(Writing {
            id,
            held: false,
            closes: false,
            marks,
            results: self.successes(&staging.results).collect(),
            staged: self.ended_of(&staging.results),
            opened: Vec::new(),
            closed: Vec::new(),
            durable: None,
        });
        self.cx.output.push(Action::StageResult { id, staging });
    }

    pub(super) fn on_committed(&mut self, id: ActionId, outcome: Result<CommitOutcome, ErrorInfo>) {
        if self.writes.writing.as_ref().is_none_or(|writing| writing.id != id) {
            return;
        }
        let Some(writing) = self.writes.writing.take() else { return };
        match outcome {
            Ok(CommitOutcome::Committed(receipt)) => self.acknowledged(writing, &receipt),
            Ok(CommitOutcome::StaleFence { applied: Applied::Yes }) if self.is_last(&writing) => {
                self.cx.end.exit = self.cx.end.leaving.take();
            }
            Ok(CommitOutcome::StaleFence { .. } | CommitOutcome::VersionConflict { .. }) => {
                self.cx.end.exit = Some(RunOutcome::Lost);
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
        self.cx.end.leaving.is_some() && self.writes.wanted.is_none() && writing.held
    }

    fn acknowledged(&mut self, writing: Writing, receipt: &Receipt) {
        self.writes.version = receipt.version;
        self.cx.run.now = self.cx.run.now.max(receipt.now);
        if self.is_last(&writing) {
            self.cx.end.exit = self.cx.end.leaving.take();
            return;
        }
        if let Some(durable) = writing.durable {
            self.writes.durable = *durable;
        }
        let before = self.writes.before.as_mut().map(|(mind, _)| mind);
        for mind in [&mut self.cx.mind, &mut self.writes.durable].into_iter().chain(before) {
            for call in writing.staged.keys() {
                if let Some(ended) = mind.step.ended.get_mut(call) {
                    ended.staged = true;
                }
            }
            mind.open.extend(writing.opened.iter().cloned());
            for closed in &writing.closed {
                mind.open.remove(closed);
            }
        }
        if writing.closes {
            self.writes.before = None;
        }
        // A staged result is durable, even if the draft has closed its step since (INV-17).
        for (call, ended) in &writing.staged {
            self.writes.durable.step.ended.entry(call.clone()).or_insert_with(|| ended.clone());
        }
        // Results that were drafted inline while they were being staged are promoted instead.
        self.cx.mind.promote_staged(&writing.staged);
        self.cx.hear(receipt);
        self.cx.out.to_send.extend(writing.marks);
        if let Some(wanted) = self.writes.wanted.take() {
            self.commit_held(wanted);
        }
    }

    pub(super) fn on_staged(&mut self, id: ActionId, outcome: Result<StageOutcome, ErrorInfo>) {
        if self.writes.writing.as_ref().is_none_or(|writing| writing.id != id) {
            return;
        }
        let Some(writing) = self.writes.writing.take() else { return };
        match outcome {
            Ok(StageOutcome::Staged(receipt)) => self.acknowledged(writing, &receipt),
            Ok(StageOutcome::StaleFence) => self.cx.end.exit = Some(RunOutcome::Lost),
            Ok(StageOutcome::Conflict { call }) => {
                let detail = format!("call {call} has another staged result");
                self.fail_from_durable(ErrorInfo::new("engine.store_disagrees", detail));
            }
            Err(error) => self.fail_from_durable(error),
        }
    }

    /// Restores the state before the draft closed pending calls, because the store has an answer that this run has
    /// not read. Then reads the inbox and takes the later replies again.
    fn decide_again(&mut self) {
        let Some((before, replies)) = self.writes.before.take() else {
            // Only a commit that closes a pending call gets this reply, and the state before such a commit is kept.
            let error = ErrorInfo::new("engine.store_disagrees", "an answer waits for a call that is open");
            return self.fail_from_durable(error);
        };
        self.cx.mind = before;
        self.cx.end.stay();
        self.cx.output.irrevocable = false;
        self.writes.wanted = None;
        self.cx.out.sleep = None;
        for reply in replies.into_iter().rev() {
            self.replies.push_front(reply);
        }
        let id = self.cx.read(Vec::new(), self.cx.mind.inbox.seen, true);
        self.cx.out.news.read_by(id, true);
    }

    /// Forgets a draft that cannot be stored. The turn ends with the error, from the last durable state.
    fn fail_from_durable(&mut self, error: ErrorInfo) {
        let interrupt = (self.cx.mind.inbox.interrupt.clone(), self.cx.mind.inbox.interrupt_told);
        self.cx.mind = self.writes.durable.clone();
        self.cx.mind.draft = Draft { decided: true, ..Draft::default() };
        (self.cx.mind.inbox.interrupt, self.cx.mind.inbox.interrupt_told) = interrupt;
        self.writes.wanted = None;
        self.cx.end.stay();
        self.cx.output.irrevocable = false;
        self.writes.before = None;
        self.cx.out.to_send.clear();
        // A read in progress begins after items that are unread again.
        self.cx.out.news = News::Due;
        let listening = match self.cx.out.model {
            ModelOut::Answering(of) => {
                self.cx.out.model = ModelOut::Silent;
                Some(of)
            }
            ModelOut::Silent | ModelOut::Summarising(_) | ModelOut::Stopped { .. } => None,
        };
        self.cx.calls().take_staged();
        if !self.cx.mind.machine.turn.open {
            // No part of the turn is durable, so there is nothing to end. The next run begins the turn again.
            self.cx.end.exit = Some(RunOutcome::Lost);
            return;
        }
        if let AgentState::TearingDown { .. } = self.cx.mind.machine.state {
            // The outcome is fixed, and the surroundings of the turn must still be freed.
            self.cx.mind.teardown_due = !matches!(self.cx.out.surroundings, SurroundingsOut::Freeing(_));
        }
        self.cx.give_up(error);
        if let Some(of) = listening {
            self.cx.output.push(Action::StopModel { of });
        }
    }
}
