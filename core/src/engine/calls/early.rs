//! Reads that begin while the model is still writing the answer that asks for them (requirements A40, A41).
//!
//! Calls begin early in the order of the answer, from its first call on. Each must be certain to change nothing and
//! to run as it is written. The first call that is not certain ends this: neither it nor any later call begins early.
//! So no read overtakes a call that may change the data that it reads. Early calls exist only in the memory of the
//! run: the machine does not record them, and nothing is drafted. Once the answer is taken, its calls pass the gate
//! and are sent like any others. The runtime then uses the results of those that began early.

use std::collections::VecDeque;

use crate::engine::action::{Action, ActionId, CallOut};
use crate::engine::calls::CallsHandler;
use crate::engine::context::out::ModelOut;
use crate::engine::gate::is_told_of;
use crate::engine::model::call_id;
use crate::machine::CallState;
use crate::words::agent::EARLY_READS_MAX;
use crate::words::gate::GateQuestion;
use crate::words::hook::HookPoint;
use crate::words::ids::{CallId, ToolName};
use crate::words::payload::Digest;
use crate::words::tool::{EffectClass, ResourceProfile, RunsOn};

/// The calls of the answer that is being written, as far as they may begin early.
#[derive(Debug, Default)]
pub(crate) struct Early {
    /// The model call that writes the answer.
    of: Option<ActionId>,
    /// The number of calls that are completely written.
    written: usize,
    /// True if no further call of this answer begins early.
    over: bool,
    /// The calls that the runtime is checking, in call order.
    asked: VecDeque<Asked>,
    /// The calls that have begun and are not sent yet.
    begun: Vec<Begun>,
}

#[derive(Debug)]
struct Asked {
    id: ActionId,
    call: CallOut,
    word: Word,
}

#[derive(Debug)]
enum Word {
    Awaited,
    May(ResourceProfile),
    MayNot,
}

#[derive(Debug)]
struct Begun {
    call: CallOut,
    profile: ResourceProfile,
}

impl Early {
    /// Removes a call that is sent, because the runtime takes its early result.
    pub(crate) fn taken(&mut self, call: &CallId) {
        self.begun.retain(|begun| begun.call.id != *call);
    }

    fn end(&mut self) {
        self.over = true;
        self.asked.clear();
    }
}

impl CallsHandler<'_> {
    pub(crate) fn on_call_written(&mut self, of: ActionId, index: usize, tool: String, arguments: String) {
        if self.cx.out.model != ModelOut::Answering(of) {
            return;
        }
        if self.cx.out.early.of != Some(of) {
            self.cx.out.early.of = Some(of);
            (self.cx.out.early.written, self.cx.out.early.over) = (0, false);
        }
        let next = index == self.cx.out.early.written;
        self.cx.out.early.written += 1;
        if self.cx.out.early.over {
            return;
        }
        match self.may_begin(index, &tool, arguments).filter(|_| next) {
            Some(call) => {
                let id = self.cx.output.next_id();
                let question = self.question_ahead(&call);
                self.cx.out.early.asked.push_back(Asked { id, call, word: Word::Awaited });
                self.cx.output.push(Action::Foresee { id, question });
            }
            // Calls before this one may still begin early, but none after it.
            None => self.cx.out.early.over = true,
        }
    }

    pub(crate) fn on_foreseen(&mut self, id: ActionId, profile: Option<ResourceProfile>) {
        if let Some(asked) = self.cx.out.early.asked.iter_mut().find(|asked| asked.id == id) {
            asked.word = profile.map_or(Word::MayNot, Word::May);
        }
        while let Some(asked) = self.cx.out.early.asked.pop_front() {
            match asked.word {
                Word::Awaited => return self.cx.out.early.asked.push_front(asked),
                Word::May(profile) if !self.cx.end.starts_nothing() && !self.is_in_the_way(&profile) => {
                    self.begin_early(asked.call, profile);
                }
                Word::May(_) | Word::MayNot => return self.cx.out.early.end(),
            }
        }
    }

    /// Returns the call if it is certain, as far as the core can tell, to change nothing and to run as it is written.
    fn may_begin(&self, index: usize, tool: &str, arguments: String) -> Option<CallOut> {
        let begins = !self.cx.run.is_sync() && !self.cx.end.starts_nothing();
        let agent = self.cx.run.agent.clone().filter(|agent| agent.early_reads && begins)?;
        // A hook that sees whole answers may refuse this one.
        if index >= EARLY_READS_MAX || agent.is_hooked(HookPoint::AfterModel) {
            return None;
        }
        let spec = agent.tool(tool)?;
        let reads = spec.effect == EffectClass::ReadOnly && !spec.dangerous && spec.runs_on == RunsOn::Server;
        let told = is_told_of(&agent, spec, self.cx.mode(), &self.cx.withheld());
        let id = call_id(self.cx.mind.machine.step, index).ok()?;
        let plain = reads && told && !agent.is_output(tool);
        plain.then(|| self.call_out(&agent, spec, id, spec.name.clone(), arguments))
    }

    fn question_ahead(&self, call: &CallOut) -> GateQuestion {
        GateQuestion {
            session: self.cx.run.fence.key.clone(),
            call: call.id.clone(),
            tool: ToolName::clone(&call.tool),
            arguments: call.arguments.clone(),
            digest: Digest::of(call.arguments.as_bytes()),
            effect: EffectClass::ReadOnly,
            dangerous: false,
            approved: false,
            approved_on: None,
        }
    }

    /// Returns true if a call that has begun conflicts with a call with this profile, so that they must not run at
    /// the same time.
    fn is_in_the_way(&self, profile: &ResourceProfile) -> bool {
        self.cx.out.early.begun.iter().any(|begun| begun.profile.conflicts_with(profile))
    }

    fn begin_early(&mut self, call: CallOut, profile: ResourceProfile) {
        self.cx.output.push(Action::RunEarly { call: call.clone() });
        self.cx.out.early.begun.push(Begun { call, profile });
        self.cx.output.irrevocable = true;
    }

    /// Drops early calls that will not run in this form, for example because the answer did not come or has other
    /// calls.
    pub(crate) fn drop_early(&mut self) {
        if self.cx.out.early.of.is_some_and(|of| self.cx.out.model == ModelOut::Answering(of)) {
            return;
        }
        self.cx.out.early.of = None;
        self.cx.out.early.end();
        let begun = std::mem::take(&mut self.cx.out.early.begun);
        let (kept, dropped): (Vec<_>, Vec<_>) =
            begun.into_iter().partition(|begun| self.is_about_to_run(&begun.call));
        self.cx.out.early.begun = kept;
        if !dropped.is_empty() {
            let calls = dropped.into_iter().map(|begun| begun.call.id).collect();
            self.cx.output.push(Action::DropEarly { calls, until: self.cx.run.grace_ends_at() });
        }
    }

    /// Returns true if the step has this call, with the same tool and arguments, and the call has not started.
    fn is_about_to_run(&self, begun: &CallOut) -> bool {
        let batch = self.cx.mind.machine.state.batch().filter(|batch| batch.stopping.is_none());
        let Some(call) = batch.and_then(|batch| batch.call(&begun.id)) else { return false };
        let waits = match &call.state {
            CallState::Queued | CallState::Gating | CallState::Approved => true,
            CallState::Preparing
            | CallState::Executing
            | CallState::CleaningUp
            | CallState::BlockedOnUser { .. }
            | CallState::BlockedOnClient { .. }
            | CallState::BlockedOnChild { .. }
            | CallState::AwaitingEnds { .. }
            | CallState::AwaitingSignal { .. }
            | CallState::Waiting { .. }
            | CallState::Done
            | CallState::Error
            | CallState::RejectedByUser
            | CallState::Cancelled { .. }
            | CallState::InDoubt => false,
        };
        waits && call.tool == begun.tool.as_str() && self.cx.mind.arguments_of(&call.id) == begun.arguments
    }
}
