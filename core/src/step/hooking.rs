//! Hooks where a run waits for their word, or where what they say must be durable.

use super::{Action, ActionId, Correction, HookStop, Ruling, StepIterator};
use crate::compaction;
use crate::error::ErrorInfo;
use crate::hook::{HookPoint, Moved, StepEnded};
use crate::ids::MessageSeq;
use crate::machine::{AgentState, Call, CallInput, Input, StateKind, SteeringFrom};
use crate::message::{Message, Notice, ResultStatus, Rewriting};
use crate::store::{MessageRange, StoredMessage};
use crate::tool::ToolOutput;

/// What hooks say of the step that is over.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum StepHooks {
    #[default]
    Unasked,
    Asked(ActionId),
    Heard(Option<HookStop>, Vec<Correction>),
}

impl StepIterator {
    // Calls

    /// The arguments that a hook put in place of those of `call` are in the transcript, and so are durable before it is
    /// sent. Then what is said of a call with them.
    pub(super) fn rewrite(&mut self, call: &Call, arguments: String, by: &str, ruling: Ruling) {
        let text = format!("the hook {by} rewrote the arguments of {} ({})", call.id, call.tool);
        let rewriting = Some(Rewriting { call: call.id.clone(), arguments: arguments.clone() });
        let seq = self.append(Message::Notice(Notice { rewriting, ..Notice::new(text) }));
        self.mind.edited.insert(call.id.clone(), arguments);
        self.mind.rewritten.insert(call.id.clone());
        self.feed(Input::Call { call: call.id.clone(), input: CallInput::Rewritten { arguments: seq } });
        if let Some(call) = self.call(&call.id) {
            self.on_ruling(&call, ruling);
        }
    }

    pub(super) fn synthesise(&mut self, call: &Call, output: ToolOutput) -> CallInput {
        self.keep_output(call, output.content, output.changes);
        self.show(&call.id, output.images);
        match self.is_done(&call.id) {
            true => CallInput::Synthesised { stop: output.stop },
            false => CallInput::Refused,
        }
    }

    // Steps

    /// What hooks say of the step that led here. None: they are being asked, while what the step brought is on its way to
    /// the store.
    pub(super) fn hear_of_step(&mut self, from: SteeringFrom) -> Option<(Option<HookStop>, Vec<Correction>)> {
        if !self.is_hooked(HookPoint::AfterStep) || from == SteeringFrom::Resumed {
            return Some((None, Vec::new()));
        }
        if let StepHooks::Heard(stop, corrections) = &self.mind.step_hooks {
            return Some((stop.clone(), corrections.clone()));
        }
        self.commit_if_due();
        if self.is_held() || (self.is_sync() && self.writing.is_some()) {
            return None;
        }
        if self.mind.step_hooks == StepHooks::Unasked {
            let id = self.next_id();
            self.mind.step_hooks = StepHooks::Asked(id);
            self.actions.push_back(Action::RunHooks { id, step: Box::new(self.step_ended()) });
        }
        None
    }

    pub(super) fn on_hooks_ran(
        &mut self,
        id: ActionId,
        stop: Option<HookStop>,
        corrections: Vec<Correction>,
    ) {
        if self.mind.step_hooks == StepHooks::Asked(id) {
            self.mind.step_hooks = StepHooks::Heard(stop, corrections);
        }
    }

    fn step_ended(&self) -> StepEnded {
        let machine = &self.mind.machine;
        StepEnded {
            session: self.fence.key.clone(),
            turn: machine.turn.number,
            step: machine.step,
            steps: machine.turn.steps,
            text: self.mind.said.clone(),
            tools_done: self.mind.tools_done.clone(),
            usage: machine.turn.spent.step,
            turn_usage: machine.turn.spent.turn,
            session_usage: machine.usage,
        }
    }

    /// Where that stands of which hooks are told after a step: a run that took over in between has to read it.
    pub(super) fn messages_of_step(&self) -> Vec<MessageRange> {
        let AgentState::Steering { from } = self.mind.machine.state else { return Vec::new() };
        if !self.is_hooked(HookPoint::AfterStep) || from == SteeringFrom::Resumed {
            return Vec::new();
        }
        let answer = self.mind.machine.turn.spent.answer;
        let known = answer > MessageSeq::default();
        known.then(|| MessageRange::new(answer, self.mind.last_message)).into_iter().collect()
    }

    /// Takes up again what the run before knew of the step that it did not steer by.
    pub(super) fn recall_step(&mut self, messages: &[StoredMessage]) -> Result<(), ErrorInfo> {
        if self.mind.machine.state.kind() != StateKind::Steering {
            return Ok(());
        }
        for stored in messages {
            let message = stored.payload.parse().map_err(|error: serde_json::Error| {
                ErrorInfo::new("engine.corrupt", format!("message {}: {error}", stored.seq))
            })?;
            match message {
                Message::Assistant(said) => self.mind.said = said.text(),
                Message::Tool(result) => {
                    if result.status == ResultStatus::Done {
                        self.mind.tools_done.push(result.tool.clone());
                    }
                    let counted = compaction::bytes_counted(&Message::Tool(result), stored.payload.len());
                    self.mind.grown += compaction::estimate(counted);
                    let first = self.mind.promoted.map_or(stored.seq, |range| range.from);
                    self.mind.promoted = Some(MessageRange::new(first, stored.seq));
                }
                Message::User(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
            }
        }
        Ok(())
    }

    // Transitions

    /// The transitions since this was asked last, in order, if hooks are told of them.
    pub fn take_moves(&mut self) -> Vec<Moved> {
        std::mem::take(&mut self.moves)
    }

    pub(super) fn note_move(&mut self, from: StateKind, input: &Input) {
        if self.is_hooked(HookPoint::Transition) {
            let (session, to) = (self.fence.key.clone(), self.mind.machine.state.kind());
            self.moves.push(Moved { session, from, input: input.clone(), to, at: self.now });
        }
    }

    fn is_hooked(&self, point: HookPoint) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.is_hooked(point))
    }
}
