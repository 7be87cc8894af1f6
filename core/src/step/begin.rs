//! How a run begins: fresh, resumed or recovered, through the same door.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::hooking::StepHooks;
use super::mind::{Draft, Ended, Mind};
use super::shortening::Shortening;
use super::{ATTEMPTS_MAX, Action, ActionId, Reply, RunKind, STATE_FORMAT, StartError, StepIterator};
use crate::agent::AgentSpec;
use crate::error::ErrorInfo;
use crate::event::Event;
use crate::ids::{CallId, InboxSeq, MessageSeq};
use crate::list::SharedList;
use crate::machine::table::{self, TableErrors};
use crate::machine::{AgentState, Call, CallInput, CallState, Facts, Input, Machine};
use crate::message::{Message, Notice, ResultStatus, ToolResult};
use crate::store::{Claim, MessageRange, SessionStatus, StoredMessage};

/// What a claim is for.
enum Purpose {
    /// To do what there is to do.
    Run,
    /// The same, because somebody asked for the session to go on.
    Resume,
    /// To end a turn whose run could not go on.
    Fail(ErrorInfo),
}

impl StepIterator {
    /// Begins the run that `claim` started: fresh, resumed or recovered, the same door.
    ///
    /// Errors: the state was written by a newer version, or is not what this version writes.
    pub fn start(claim: Claim, agent: Arc<AgentSpec>, facts: Facts) -> Result<Self, StartError> {
        Self::open(claim, Some(agent), facts, Purpose::Run)
    }

    /// The same, of a session that somebody asked to go on: the record of the run says so.
    pub fn resume(claim: Claim, agent: Arc<AgentSpec>, facts: Facts) -> Result<Self, StartError> {
        Self::open(claim, Some(agent), facts, Purpose::Resume)
    }

    /// Ends the turn of a session whose run could not go on with `error`: as after the death of that run, and nothing
    /// else is done.
    pub fn fail(
        claim: Claim,
        agent: Arc<AgentSpec>,
        error: ErrorInfo,
        facts: Facts,
    ) -> Result<Self, StartError> {
        Self::open(claim, Some(agent), facts, Purpose::Fail(error))
    }

    /// Ends a session that an interrupt waits for, without its agent. Gives the claim back if none waits.
    pub fn end(claim: Claim, facts: Facts) -> Result<Self, StartError> {
        Self::open(claim, None, facts, Purpose::Run)
    }

    fn open(
        claim: Claim,
        agent: Option<Arc<AgentSpec>>,
        facts: Facts,
        purpose: Purpose,
    ) -> Result<Self, StartError> {
        Self::open_under(table::validate(), claim, agent, facts, purpose)
    }

    /// The same, with what the check of the machine's table said.
    fn open_under(
        checked: Result<(), TableErrors>,
        claim: Claim,
        agent: Option<Arc<AgentSpec>>,
        facts: Facts,
        purpose: Purpose,
    ) -> Result<Self, StartError> {
        checked.map_err(|broken| StartError {
            key: claim.fence.key.clone(),
            what: "machine",
            detail: broken.to_string(),
        })?;
        let by_name = matches!(purpose, Purpose::Resume);
        let stands_in = matches!(purpose, Purpose::Fail(_));
        let failing = match purpose {
            Purpose::Run | Purpose::Resume => None,
            Purpose::Fail(error) => Some(error),
        };
        let machine = read_state(&claim)?;
        let ended = read_staged(&claim)?;
        let more_inbox = claim.more_inbox_after();
        let inbox_seen = claim.inbox.last().map_or(claim.session.inbox_seen, |item| item.seq);
        let mind = Mind {
            draft: Draft::default(),
            last_message: claim.session.last_message,
            inbox_seen: inbox_seen.max(claim.session.inbox_seen),
            inbox: claim.inbox,
            interrupt: claim.session.interrupt.clone(),
            interrupt_told: false,
            open: claim.pending.iter().map(|pending| pending.id.clone()).collect::<BTreeSet<_>>(),
            asked_in: machine.state.batch().map_or(MessageSeq(0), |batch| batch.message),
            proposed: BTreeMap::new(),
            edited: BTreeMap::new(),
            rewritten: BTreeSet::new(),
            ended,
            said: String::new(),
            tools_done: Vec::new(),
            grown: 0,
            calls_stream: None,
            promoted: None,
            consulting: BTreeMap::new(),
            step_hooks: StepHooks::default(),
            shortening: Shortening::default(),
            answered_at: None,
            provision_due: false,
            teardown_due: false,
            added: SharedList::new(),
            moved: false,
            machine,
        };
        let mut run = Self {
            agent,
            fence: claim.fence,
            found: claim.found,
            kind: RunKind::begun(claim.found, mind.machine.turn.open, by_name),
            attempts: claim.session.attempts,
            now: facts.now.max(claim.now),
            version: claim.session.version,
            usage_before: mind.machine.usage,
            durable: mind.clone(),
            before: None,
            claimed_messages: mind.last_message,
            actions: VecDeque::new(),
            out: BTreeSet::new(),
            reads: BTreeSet::new(),
            last_id: 0,
            writing: None,
            wanted: None,
            held_back: VecDeque::new(),
            reading: None,
            loading: false,
            news_due: false,
            model_call: None,
            early: super::early::Early::default(),
            summarising: None,
            stopped_model: None,
            before_claim: super::looping::Before::default(),
            undone: super::mailbox::Undone::default(),
            note: None,
            sleeping: None,
            provisioning: None,
            tearing_down: None,
            operations: 0,
            streams: 0,
            to_send: Vec::new(),
            begun: false,
            claimed_marks: claim.session.staged.starts,
            leaving: None,
            exit: None,
            moves: Vec::new(),
            given_up: false,
            failing,
            stands_in,
            draining: None,
            mind,
        };
        let messages = run.needed_messages();
        if messages.is_empty() && more_inbox.is_none() {
            run.begin();
        } else {
            run.loading = true;
            let after = more_inbox.unwrap_or(run.mind.inbox_seen);
            let id = run.read(messages, after, false);
            run.reading = Some(id);
        }
        run.go_on();
        Ok(run)
    }

    /// The messages that hold the arguments of the open calls, or what hooks are told of a step. To end a session, only those that were edited
    /// matter: their results say so.
    fn needed_messages(&self) -> Vec<MessageRange> {
        let Some(batch) = self.mind.machine.state.batch() else { return self.messages_of_step() };
        let edited = batch.calls.iter().any(|call| call.arguments != batch.message);
        if self.agent.is_none() && !edited {
            return Vec::new();
        }
        let mut places: BTreeSet<MessageSeq> = BTreeSet::from([batch.message]);
        places.extend(batch.calls.iter().map(|call| call.arguments));
        places.into_iter().map(|place| MessageRange::new(place, place)).collect()
    }

    pub(super) fn read(&mut self, messages: Vec<MessageRange>, after: InboxSeq, interrupt: bool) -> ActionId {
        let id = self.next_id();
        self.reads.insert(id);
        self.actions.push_back(Action::Read { id, messages, inbox_after: after, interrupt });
        id
    }

    pub(super) fn on_loaded(&mut self, reply: Reply) {
        let Reply::Read { id, result } = reply else { return };
        if self.reading != Some(id) {
            return;
        }
        self.loading = false;
        if self.begun {
            return self.on_read(id, result);
        }
        self.reading = None;
        let kept = result.and_then(|found| {
            self.keep_items(found.items);
            self.keep_arguments(&found.messages)?;
            self.recall_step(&found.messages)
        });
        self.begin();
        if let Err(error) = kept
            && self.leaving.is_none()
            && !self.given_up
        {
            // A transcript that cannot be read: nothing of it is sent.
            self.give_up(error);
        }
    }

    fn keep_arguments(&mut self, messages: &[StoredMessage]) -> Result<(), ErrorInfo> {
        let mut read: BTreeMap<MessageSeq, Message> = BTreeMap::new();
        for message in messages {
            let parsed: Message = message.payload.parse().map_err(|error| {
                ErrorInfo::new("engine.corrupt", format!("message {}: {error}", message.seq))
            })?;
            read.insert(message.seq, parsed);
        }
        let Some(batch) = self.mind.machine.state.batch() else { return Ok(()) };
        let missing = |call: &Call, place: MessageSeq| {
            ErrorInfo::new("engine.corrupt", format!("call {}: message {place} holds no arguments", call.id))
        };
        if batch.for_more {
            // Nobody but the engine asked: what it asked for stands in its notice.
            for call in &batch.calls {
                let Some(Message::Notice(Notice { rewriting: Some(asked), .. })) = read.get(&call.arguments)
                else {
                    return Err(missing(call, call.arguments));
                };
                self.mind.edited.insert(call.id.clone(), asked.arguments.clone());
            }
            return Ok(());
        }
        let Some(Message::Assistant(said)) = read.get(&batch.message) else {
            let detail = format!("message {} is not the model's", batch.message);
            return Err(ErrorInfo::new("engine.corrupt", detail));
        };
        self.mind.said = said.text();
        for call in &batch.calls {
            let request = said.calls().find(|request| request.id == call.id);
            let request = request.ok_or_else(|| missing(call, batch.message))?;
            self.mind.proposed.insert(call.id.clone(), request.arguments.clone());
            if call.arguments == batch.message {
                continue;
            }
            let edited = match read.get(&call.arguments) {
                Some(Message::Decision(record)) => record.decision.arguments.clone(),
                Some(Message::Notice(notice)) => {
                    self.mind.rewritten.insert(call.id.clone());
                    notice.rewriting.as_ref().map(|rewriting| rewriting.arguments.clone())
                }
                Some(Message::User(_) | Message::Assistant(_) | Message::Tool(_) | Message::Summary(_))
                | None => None,
            };
            let edited = edited.ok_or_else(|| missing(call, call.arguments))?;
            self.mind.edited.insert(call.id.clone(), edited);
        }
        Ok(())
    }

    /// Lets the machine know of the claim, once everything it needs has been read.
    fn begin(&mut self) {
        self.begun = true;
        if self.agent.is_none() && self.mind.interrupt.is_none() {
            return self.pass_on();
        }
        self.emit(Event::RunStarted { run: self.fence.epoch, found: self.found, kind: self.told_kind() });
        if !self.mind.machine.turn.open {
            return;
        }
        self.take_marks();
        self.take_staged();
        // That it was taken over is no progress and commits nothing by itself: a run that dies before any
        // other commit counts towards the fifth.
        let takeover = self.found == SessionStatus::Active;
        self.feed(Input::Claimed { takeover });
        self.fail_if_doomed();
    }

    /// Why nothing else can be done with what is in hand, if so: its runs die, or the one before could not go on.
    pub(super) fn doom(&mut self) -> Option<ErrorInfo> {
        let poisoned = (self.attempts >= ATTEMPTS_MAX).then(|| {
            let detail = format!("its run died {} times in a row without any progress", self.attempts);
            ErrorInfo::new("engine.poisoned", detail)
        });
        self.failing.take().or(poisoned)
    }

    /// Ends the turn if nothing else can be done with it.
    pub(super) fn fail_if_doomed(&mut self) {
        let Some(error) = self.doom() else { return };
        if let AgentState::TearingDown { .. } = self.mind.machine.state {
            // The outcome stands; what kills its run while it is freed is not tried again.
            self.mind.teardown_due = false;
            self.emit(Event::TeardownFailed { error });
            self.feed(Input::TornDown);
        } else {
            self.give_up(error);
        }
    }

    /// Calls whose start mark was staged are out as far as anybody knows.
    fn take_marks(&mut self) {
        for call in std::mem::take(&mut self.claimed_marks) {
            let batch = self.mind.machine.state.batch();
            let state = batch.and_then(|batch| batch.call(&call)).map(|call| &call.state);
            if state == Some(&CallState::Approved) {
                self.feed(Input::Call { call, input: CallInput::Marked });
            }
        }
    }

    /// Results that were staged after the state was written end their calls.
    pub(super) fn take_staged(&mut self) {
        let Some(batch) = self.mind.machine.state.batch() else { return };
        let ends = batch.stopping.is_some();
        let returned: Vec<ToolResult> = batch
            .calls
            .iter()
            .filter(|call| !call.state.is_end() && !call.state.is_parked())
            .filter_map(|call| {
                let ended = self.mind.ended.get(&call.id).filter(|ended| ended.staged)?;
                Some(ended.result.clone())
            })
            .collect();
        for ToolResult { call, status, stop, broken, content, changes, .. } in returned {
            let before = self.mind.machine.turn.broken;
            if self.call_is(&call, &CallState::Approved) {
                self.feed(Input::Call { call: call.clone(), input: CallInput::Marked });
            }
            if status == ResultStatus::Done && !changes.is_empty() {
                self.feed(Input::Call { call: call.clone(), input: CallInput::Changes { changes } });
            }
            let input = match status {
                ResultStatus::InDoubt => CallInput::Lost { broken },
                ResultStatus::Done => CallInput::Returned { ok: true, stop, broken: false },
                ResultStatus::Error
                | ResultStatus::Denied
                | ResultStatus::RejectedByUser
                | ResultStatus::Cancelled => CallInput::Returned { ok: false, stop: false, broken },
            };
            self.feed(Input::Call { call, input });
            if !ends {
                self.note_broken(before, &content);
            }
        }
    }
}

fn read_state(claim: &Claim) -> Result<Machine, StartError> {
    let refuse = |what, detail: String| StartError { key: claim.fence.key.clone(), what, detail };
    let Some(state) = &claim.session.state else { return Ok(Machine::default()) };
    if claim.session.format > STATE_FORMAT {
        let detail = format!("expected at most {STATE_FORMAT}, found {}", claim.session.format);
        return Err(refuse("state format", detail));
    }
    state.parse().map_err(|error: serde_json::Error| refuse("state", error.to_string()))
}

fn read_staged(claim: &Claim) -> Result<BTreeMap<CallId, Ended>, StartError> {
    let mut ended = BTreeMap::new();
    for staged in &claim.session.staged.results {
        let refuse = |detail: String| StartError {
            key: claim.fence.key.clone(),
            what: "staged result",
            detail: format!("call {}: {detail}", staged.call),
        };
        match staged.payload.parse() {
            Ok(Message::Tool(result)) => {
                let payload = staged.payload.clone();
                ended.insert(staged.call.clone(), Ended { result, payload, staged: true });
            }
            Ok(other) => return Err(refuse(format!("expected a tool result, found role {}", other.role()))),
            Err(error) => return Err(refuse(error.to_string())),
        }
    }
    Ok(ended)
}

#[cfg(test)]
mod tests;
