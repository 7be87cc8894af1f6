//! Gives the machine an input, and performs or queues the effects that follow.

use crate::engine::RunOutcome;
use crate::engine::action::{Action, ModelCall};
use crate::engine::context::Context;
use crate::engine::context::out::ModelOut;
use crate::machine::{Effect, Facts, Refused, procedure, transition};
use crate::words::error::ErrorInfo;
use crate::words::history::{HistoryRow, Input, StateKind};
use crate::words::hook::{HookPoint, Moved};
use crate::words::ids::CallId;
use crate::words::message::Message;

impl Context {
    pub(crate) fn note_move(&mut self, from: StateKind, input: &Input) {
        if self.run.is_hooked(HookPoint::Transition) {
            let (session, to) = (self.run.fence.key.clone(), self.mind.machine.state.kind());
            self.output.moves.push(Moved { session, from, input: input.clone(), to, at: self.run.now });
        }
    }

    /// Gives the machine an input, records the transition, and queues its effects. Returns false if nothing changed,
    /// because the machine had taken this step already.
    pub(crate) fn feed(&mut self, input: Input) -> bool {
        if matches!(input, Input::Interrupted { .. } | Input::CutShort { .. } | Input::Failed { .. }) {
            self.children().count_unread();
        }
        let from = self.mind.machine.state.kind();
        let moved = match transition(&self.mind.machine, &input, &Facts { now: self.run.now }) {
            Ok(moved) => moved,
            Err(refused) => {
                self.on_refused(&input, &refused);
                return true;
            }
        };
        if !moved.moved {
            return false;
        }
        let before = std::mem::replace(&mut self.mind.machine, moved.next);
        self.mind.moved = true;
        self.note_move(from, &input);
        let to = Some(self.mind.machine.state.kind());
        self.mind.draft.history.push(HistoryRow::new(from, input, to, self.run.now));
        let closed = moved.effects.iter().find_map(|effect| match effect {
            Effect::CloseStep(batch) => Some(batch.clone()),
            Effect::AnnounceTurn
            | Effect::Provision
            | Effect::CallModel { .. }
            | Effect::StopModel
            | Effect::Consult(_)
            | Effect::StopCalls(..)
            | Effect::StateChanged(_)
            | Effect::ProcedureMoved(_)
            | Effect::TearDown
            | Effect::AnnounceEnd(_) => None,
        });
        if let Some(before) = before.state.batch() {
            let open = self.mind.machine.state.batch().cloned();
            let after = |id: &CallId| {
                closed.as_ref().and_then(|closed| closed.call(id)).or_else(|| open.as_ref()?.call(id))
            };
            self.mind.note_calls(before, after);
        }
        // The events are built first, because performing the effects may move the machine on.
        let told = self.mind.told_of_move(&before);
        let winds_down = self.mind.machine.turn.winds_down() && !before.turn.winds_down();
        for effect in moved.effects {
            self.perform(effect);
        }
        told.into_iter().for_each(|event| self.mind.emit(event));
        if winds_down {
            self.plan().tell_to_stop();
        }
        true
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::AnnounceTurn => self.announce_turn(),
            Effect::Provision => self.mind.provision_due = true,
            Effect::CallModel { step, attempt, .. } => {
                let id = self.output.next_id();
                self.out.model = ModelOut::Answering(id);
                self.output.streams = self.output.streams.saturating_add(1);
                let call = ModelCall {
                    step,
                    attempt,
                    model: self.mind.machine.turn.model,
                    stream: self.output.streams,
                    shown: self.shown(),
                    note: self.output.note.take(),
                    withheld: self.withheld(),
                    mode: self.mode(),
                    prompt: self.mind.machine.prompt,
                };
                self.output.push(Action::CallModel { id, call });
            }
            Effect::StopModel => self.stop_listening(),
            Effect::Consult(_) if self.end.starts_nothing() => {}
            Effect::Consult(calls) => self.gate().consult(&calls),
            Effect::StopCalls(calls, reason) => {
                let until = self.run.grace_ends_at();
                self.out.calls.extend(calls.iter().cloned());
                self.output.push(Action::StopCalls { calls, reason, until });
            }
            Effect::CloseStep(batch) => self.promote(&batch),
            Effect::StateChanged(merged) => self.tell_of_state(merged),
            Effect::ProcedureMoved(moves) => {
                let told = procedure::notice(self.run.agent.as_deref(), &moves, None);
                self.append(Message::Notice(told));
            }
            Effect::TearDown => self.mind.teardown_due = true,
            Effect::AnnounceEnd(ending) => self.announce_end(ending),
        }
    }

    /// Ends the turn because the machine refused an input. Decisions that depended on the input are lost, but the
    /// turn still ends and the run still commits. The run is lost only if the turn cannot even fail.
    fn on_refused(&mut self, input: &Input, refused: &Refused) {
        if !self.end.given_up || matches!(input, Input::Failed { .. }) {
            self.give_up(ErrorInfo::new("engine.refused", refused.to_string()));
        }
    }

    /// Ends the turn with an error that no retry can fix. A second such error ends the run at once.
    pub(crate) fn give_up(&mut self, error: ErrorInfo) {
        if self.end.given_up {
            self.end.exit = Some(RunOutcome::Lost);
            return;
        }
        self.end.given_up = true;
        if self.out.model.is_stopped() {
            self.out.model = ModelOut::Silent;
        }
        self.output.actions.retain(|action| {
            matches!(
                action,
                Action::Commit { .. }
                    | Action::StageResult { .. }
                    | Action::Read { .. }
                    | Action::DropEarly { .. }
            )
        });
        self.feed(Input::Failed { error });
    }
}
