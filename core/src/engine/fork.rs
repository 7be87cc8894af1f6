//! The first state of a fork: the state of a checkpoint, at rest, with every open call closed.
//!
//! A fork may begin in the middle of a turn. Calls that were out or owed there stay with the source. In the fork, a
//! call that had ended keeps its result. A call that may have acted and whose outcome is unknown is in doubt, and
//! every other call is cancelled. So every call in the fork's transcript has exactly one result (INV-08), and no
//! answer is owed to the fork.

use std::collections::BTreeMap;

use crate::engine::calls::results::{ended_waiting, result_of_end};
use crate::engine::calls::waits_for;
use crate::engine::{STATE_FORMAT, compaction};
use crate::machine::custom::{self, Merged};
use crate::machine::{
    AgentState, Batch, Call, CallState, Effect, Facts, Machine, Refused, procedure, transition,
};
use crate::store::{Checkpoint, MessageRange, NewState, SessionStatus, StagedResult, StoredMessage};
use crate::time::Timestamp;
use crate::words::children::ReplyTo;
use crate::words::event::Event;
use crate::words::handoff::Goal;
use crate::words::history::{HistoryRow, Input, StateKind};
use crate::words::ids::{CallId, MessageSeq, SessionKey};
use crate::words::message::{Mentions, Message, ToolResult, UserMessage};
use crate::words::parameters::Parameters;
use crate::words::payload::Payload;

/// The number of messages after a checkpoint that are searched for results of its step, in addition to two messages
/// for each of its calls: a decision and a result.
const RESULTS_WITHIN: u64 = 200;

/// The plan of a fork: everything except the names and the data that the store copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkPlan {
    /// The status with which the fork rests.
    pub status: SessionStatus,
    /// The state of the fork.
    pub state: NewState,
    /// The new messages: the results that close the open calls, in call order, the notices of their changes to the
    /// custom state and of the moves of the procedure, and the goal of a handoff.
    pub messages: Vec<Payload>,
    /// The events that report the fork.
    pub events: Vec<Payload>,
}

/// The work of a session that takes over in a handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWork {
    /// The goal.
    pub goal: Goal,
    /// True if the session, once prepared, waits with its goal as a draft instead of working on it.
    pub draft: bool,
    /// True if another agent does the work. It begins with its own mode and its own system prompt.
    pub another: bool,
    /// The addresses to which the outcome of the session's turn is sent.
    pub replies: Vec<ReplyTo>,
}

/// The error of a checkpoint from which no fork can begin.
#[derive(Debug, thiserror::Error)]
#[error("session {key}: checkpoint {}: {why}", at.0)]
pub struct ForkError {
    key: SessionKey,
    at: crate::words::ids::CheckpointId,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error("its state has format {0}, this program reads {STATE_FORMAT}")]
    Format(crate::words::ids::StateFormat),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("call {0} had ended and its result is nowhere")]
    NoResult(CallId),
    #[error("nothing was said there that could be handed over")]
    NothingSaid,
}

/// Returns the messages of the source that [`plan`] needs: the edited arguments of the calls of the checkpoint's step,
/// and the messages among which the results of these calls are.
///
/// # Errors
/// The state of the checkpoint was written by a newer version, or cannot be read.
pub fn needed_messages(source: &SessionKey, at: &Checkpoint) -> Result<Vec<MessageRange>, ForkError> {
    let machine = machine_of(at).map_err(|why| ForkError { key: source.clone(), at: at.id, why })?;
    let Some(batch) = machine.state.batch() else { return Ok(Vec::new()) };
    let edited = batch.calls.iter().filter(|call| call.arguments != batch.message);
    let single = edited.map(|call| MessageRange::new(call.arguments, call.arguments));
    let reach = (batch.calls.len() as u64).saturating_mul(2).saturating_add(RESULTS_WITHIN);
    let last = MessageSeq(at.last_message.0.saturating_add(reach));
    let behind = MessageRange::new(at.last_message.next(), last);
    Ok(single.chain([behind]).collect())
}

/// Plans a fork from checkpoint `at` of `source`. `messages` are the messages in the ranges of [`needed_messages`].
/// `staged` are all results that are staged in the source now, in the same incarnation as the checkpoint.
///
/// # Errors
/// The state of the checkpoint cannot be used, or the result of a call that had ended is missing.
pub fn plan(
    source: &SessionKey,
    at: &Checkpoint,
    messages: &[StoredMessage],
    staged: &[StagedResult],
    now: Timestamp,
) -> Result<ForkPlan, ForkError> {
    planned(source, at, messages, staged, None, now)
}

/// Plans a fork for a session that is [handed over](crate::words::handoff). The fork rests interrupted, with the goal
/// of `handoff` as its newest message, and its next turn works on the goal.
///
/// # Errors
/// As for [`plan`], and if no turn had begun at the checkpoint.
pub fn plan_handoff(
    source: &SessionKey,
    at: &Checkpoint,
    messages: &[StoredMessage],
    staged: &[StagedResult],
    handoff: &NewWork,
    now: Timestamp,
) -> Result<ForkPlan, ForkError> {
    planned(source, at, messages, staged, Some(handoff), now)
}

fn planned(
    source: &SessionKey,
    at: &Checkpoint,
    messages: &[StoredMessage],
    staged: &[StagedResult],
    handoff: Option<&NewWork>,
    now: Timestamp,
) -> Result<ForkPlan, ForkError> {
    let fail = |why| ForkError { key: source.clone(), at: at.id, why };
    let before = machine_of(at).map_err(fail)?;
    let mut fork = Draft { seq: at.last_message, ..Draft::default() };
    let mut machine = before.clone();
    let mut history = Vec::new();
    let mut ended = None;
    for input in [Input::Forked, Input::TornDown] {
        if input == Input::TornDown && !matches!(machine.state, AgentState::TearingDown { .. }) {
            break;
        }
        let from = machine.state.kind();
        let moved = transition(&machine, &input, &Facts { now }).map_err(|refused| fail(refused.into()))?;
        for effect in &moved.effects {
            if let (Effect::CloseStep(after), Some(before)) = (effect, before.state.batch()) {
                let known = known_results(before, messages, staged);
                if after.is_step() {
                    fork.close(before, after, &known, messages).map_err(fail)?;
                }
            }
            if let Effect::StateChanged(merged) = effect {
                fork.tell_of_state(merged).map_err(fail)?;
            }
            if let Effect::ProcedureMoved(moves) = effect {
                fork.say(&Message::Notice(procedure::notice(None, moves, None))).map_err(fail)?;
            }
            if let Effect::AnnounceEnd(ending) = effect {
                ended = Some(ending.clone());
            }
        }
        if let Some(step) = machine.state.open_step().filter(|_| moved.next.state.open_step().is_none()) {
            fork.tell(&Event::StepEnded { step }).map_err(fail)?;
        }
        history.push(HistoryRow::new(from, input, Some(moved.next.state.kind()), now));
        machine = moved.next;
    }
    let said = handoff.map(|work| Message::User(UserMessage::new(work.goal.as_str())));
    if let (Some(NewWork { draft, another, replies, .. }), Some(said)) = (handoff, &said) {
        let from = machine.state.kind();
        if from == StateKind::Idle {
            return Err(fail(Why::NothingSaid));
        }
        let input = Input::HandedOff {
            after: fork.seq,
            tokens: compaction::tokens_of(said),
            draft: *draft,
            another: *another,
            replies: replies.clone(),
        };
        let moved = transition(&machine, &input, &Facts { now }).map_err(|refused| fail(refused.into()))?;
        history.push(HistoryRow::new(from, input, Some(moved.next.state.kind()), now));
        machine = moved.next;
    }
    let goal = said.is_some().then_some(fork.seq.next());
    let forked = Event::Forked { from: source.clone(), at: at.id, goal };
    fork.events.insert(0, Payload::json(&forked).map_err(|error| fail(error.into()))?);
    // The store keeps the state of the fork as its newest checkpoint.
    if let Some(last) = history.last_mut() {
        last.checkpoint = Some(at.id.next());
    }
    fork.tell(&Event::History { rows: history }).map_err(fail)?;
    if let Some(ending) = ended {
        let (turn, steps, reason) = (machine.turn.number, machine.turn.steps, Some(ending.reason));
        fork.tell(&Event::AgentEnd { turn, session: None, steps, reason }).map_err(fail)?;
        fork.tell(&Event::Done { turn, ending, usage: machine.usage }).map_err(fail)?;
    }
    if let Some(said) = &said {
        fork.say(said).map_err(fail)?;
    }
    let payload = Payload::json(&machine).map_err(|error| fail(error.into()))?;
    let status = machine.state.status_at_rest();
    let state = NewState { format: machine.format(), payload };
    Ok(ForkPlan { status, state, messages: fork.messages, events: fork.events })
}

fn machine_of(at: &Checkpoint) -> Result<Machine, Why> {
    if at.format > STATE_FORMAT {
        return Err(Why::Format(at.format));
    }
    Ok(at.state.parse()?)
}

/// Returns the results of calls that had ended: those that are still staged, and those that were promoted later.
fn known_results(
    batch: &Batch,
    messages: &[StoredMessage],
    staged: &[StagedResult],
) -> BTreeMap<CallId, Payload> {
    let ended = |id: &CallId| batch.calls.iter().any(|call| call.id == *id && call.state.is_end());
    let promoted = messages.iter().filter_map(|stored| match stored.payload.parse() {
        Ok(Message::Tool(result)) => Some((result.call, stored.payload.clone())),
        Ok(
            Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_),
        )
        | Err(_) => None,
    });
    let staged = staged.iter().map(|result| (result.call.clone(), result.payload.clone()));
    promoted.chain(staged).filter(|(id, _)| ended(id)).collect()
}

#[derive(Default)]
struct Draft {
    seq: MessageSeq,
    messages: Vec<Payload>,
    events: Vec<Payload>,
}

impl Draft {
    fn tell(&mut self, event: &Event) -> Result<(), Why> {
        self.events.push(Payload::json(event)?);
        Ok(())
    }

    fn say(&mut self, message: &Message) -> Result<(), Why> {
        self.seq = self.seq.next();
        self.messages.push(message.to_payload()?);
        let (role, mentions) = (message.role().to_owned(), message.mentions().clone());
        self.tell(&Event::Message { seq: self.seq, role, stream: None, mentions })
    }

    /// Reports the changes of the step's calls to the custom state.
    fn tell_of_state(&mut self, merged: &Merged) -> Result<(), Why> {
        if !merged.undo.is_empty() {
            self.say(&Message::Notice(custom::notice(merged)))?;
        }
        merged.conflicts.iter().try_for_each(|conflict| self.tell(&conflict.to_event()))
    }

    /// Appends one result for each call, in call order.
    fn close(
        &mut self,
        before: &Batch,
        after: &Batch,
        known: &BTreeMap<CallId, Payload>,
        messages: &[StoredMessage],
    ) -> Result<(), Why> {
        for (was, is) in before.calls.iter().zip(&after.calls) {
            let payload = match known.get(&is.id) {
                Some(payload) => payload.clone(),
                None => Message::Tool(closed(was, is, edited(was, before, messages))?).to_payload()?,
            };
            if was.state != is.state {
                let (call, tool, is) = (is.id.clone(), is.tool.clone(), is.state.name().to_owned());
                let parameters = Parameters::default();
                self.tell(&Event::Call { call, tool, is, parameters, duration_ms: None })?;
            }
            self.seq = self.seq.next();
            self.messages.push(payload);
            let (role, mentions) = ("tool".to_owned(), Mentions::none());
            self.tell(&Event::Message { seq: self.seq, role, stream: None, mentions })?;
        }
        Ok(())
    }
}

/// Builds the result of a call that has none.
fn closed(was: &Call, is: &Call, edited: Option<String>) -> Result<ToolResult, Why> {
    if let (CallState::Waiting { output, again, .. }, CallState::Cancelled { reason }) =
        (&was.state, &is.state)
    {
        return Ok(ended_waiting(is, *reason, output, *again, edited));
    }
    if let (CallState::AwaitingSignal { name, .. }, CallState::Cancelled { reason }) = (&was.state, &is.state)
    {
        return Ok(ended_waiting(is, *reason, &waits_for(name), false, edited));
    }
    // A call that was done has its own result; nothing else can stand for it.
    match result_of_end(is, edited) {
        Some(result) if was.state != CallState::Done => Ok(result),
        Some(_) | None => Err(Why::NoResult(is.id.clone())),
    }
}

/// Returns the arguments of `call`, if a person edited them.
fn edited(call: &Call, batch: &Batch, messages: &[StoredMessage]) -> Option<String> {
    if call.arguments == batch.message {
        return None;
    }
    let stored = messages.iter().find(|stored| stored.seq == call.arguments)?;
    match stored.payload.parse().ok()? {
        Message::Decision(record) => record.decision.arguments,
        Message::User(_)
        | Message::Assistant(_)
        | Message::Tool(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    }
}
