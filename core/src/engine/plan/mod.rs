//! Code that plans in place of a model: when it is asked, and what follows from its decisions.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::RunOutcome;
use crate::engine::action::{Action, ActionId};
use crate::engine::context::Context;
use crate::engine::context::out::PlanOut;
use crate::engine::model::call_id;
use crate::machine::{AgentState, steering};
use crate::store::{InterruptKind, MessageRange, OutcomeKind};
use crate::words::ending::{DoneReason, Ending};
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::history::{Input, NewCall};
use crate::words::ids::{CallId, InvalidId, MessageSeq};
use crate::words::message::{AssistantMessage, AssistantPart, CallRequest, Message, Notice};
use crate::words::plan::{
    Divergence, OPEN_CALLS_MAX, PlanEnd, PlanError, PlanNotice, PlanRecord, Planned, PlannedCall,
    REPLAYED_MAX,
};
use crate::words::suspension::Suspension;
use crate::words::tool::{EffectClass, RunsOn};

mod first;

/// The longest time for which a turn waits after its code diverged.
const DIVERGED_WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// The shortest time for which a turn waits after its code diverged. It doubles with each run that diverges.
const DIVERGED_WAIT_MIN: Duration = Duration::from_secs(1);

/// The data about the code that plans the turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PlanMemory {
    /// The messages of this run that the code has not been told, in order.
    pub(crate) untold: Vec<(MessageSeq, Arc<Message>)>,
    /// The open calls that the code no longer waits for.
    pub(crate) dropped: BTreeSet<CallId>,
    /// True if the code may have calls that had no room.
    pub(crate) full: bool,
}

impl PlanMemory {
    /// Keeps a message for the code, unless the code knows it anyway or it is not for the code.
    pub(crate) fn keep(&mut self, at: MessageSeq, message: &Arc<Message>) {
        let for_code = match &**message {
            Message::User(_) | Message::Assistant(_) | Message::Tool(_) => true,
            Message::Notice(notice) => notice.plan.is_some(),
            Message::Decision(_) | Message::Summary(_) => false,
        };
        if for_code {
            self.untold.push((at, Arc::clone(message)));
        }
    }

    /// Returns true if a message waits that the code has to act on. Its own records alone are told with the next one.
    pub(crate) fn tells_news(&self) -> bool {
        self.untold.iter().any(|(_, message)| match &**message {
            Message::Assistant(said) => said.plan.as_ref().is_some_and(|record| record.carries_on.is_some()),
            Message::User(_) | Message::Tool(_) | Message::Notice(_) => true,
            Message::Decision(_) | Message::Summary(_) => false,
        })
    }
}

/// The handler of code that plans.
pub(crate) struct PlanHandler<'a> {
    pub(crate) cx: &'a mut Context,
}

impl PlanHandler<'_> {
    /// Returns true if the code is being asked, or must be asked before anything else starts or is written.
    pub(crate) fn comes_first(&self) -> bool {
        let state = &self.cx.mind.machine.state;
        let open = state.batch().is_some_and(|batch| batch.open && batch.stopping.is_none());
        open && (self.is_asked() || self.is_due())
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.cx.code.is_asked()
    }

    /// Returns true if the code must be asked: this run has not begun it, there is news for it, or there is room for calls
    /// that it holds back.
    fn is_due(&self) -> bool {
        if self.cx.end.starts_nothing() || self.is_asked() {
            return false;
        }
        let has_room = self.cx.mind.step.plan.full && self.room() > 0;
        self.cx.code == PlanOut::Unbegun || self.cx.mind.step.plan.tells_news() || has_room
    }

    fn room(&self) -> usize {
        let open = self.cx.mind.machine.state.batch().map_or(0, |batch| batch.calls.len());
        OPEN_CALLS_MAX.saturating_sub(open)
    }

    /// Asks the code for its next decisions. In a new run, it is told the messages of the turn again.
    pub(crate) fn ask(&mut self) -> bool {
        if self.ends_over_budget() {
            return true;
        }
        let told = std::mem::take(&mut self.cx.mind.step.plan.untold);
        let turn = &self.cx.mind.machine.turn;
        let after = turn.plan.as_ref().map_or(turn.began, |plan| plan.after);
        let known = self.cx.run.claimed;
        let again = match self.cx.code {
            PlanOut::Unbegun if after < known => Some(MessageRange::new(after.next(), known)),
            PlanOut::Unbegun | PlanOut::Begun | PlanOut::Asked(_) => None,
        };
        let count = again.map_or(0, |range| range.to.0 - range.from.0);
        if usize::try_from(count).is_ok_and(|count| count >= REPLAYED_MAX) {
            let detail = format!(
                "the turn has {count} messages, and its code can be told {REPLAYED_MAX} again; let it carry on with a new input"
            );
            self.end(Ending::error(ErrorInfo::new("flow.too_long", detail)));
            return true;
        }
        let begins = self.cx.code == PlanOut::Unbegun;
        let id = self.cx.output.next_id();
        self.cx.code = PlanOut::Asked(id);
        let room = self.room();
        self.cx.output.push(Action::Plan { id, begins, again, told, room });
        true
    }

    pub(crate) fn on_planned(&mut self, id: ActionId, result: Result<Planned, PlanError>) {
        if self.cx.code != PlanOut::Asked(id) {
            return;
        }
        self.cx.code = PlanOut::Begun;
        let may_plan = match &self.cx.mind.machine.state {
            AgentState::Thinking { .. } => true,
            AgentState::Executing { batch }
            | AgentState::Confirming { batch }
            | AgentState::Dispatching { batch } => batch.open && batch.stopping.is_none(),
            AgentState::Idle
            | AgentState::Provisioning { .. }
            | AgentState::Streaming { .. }
            | AgentState::Steering { .. }
            | AgentState::Compacting { .. }
            | AgentState::BackingOff { .. }
            | AgentState::TearingDown { .. }
            | AgentState::Done { .. } => false,
        };
        if !may_plan {
            return;
        }
        // The code has gone on, so the run never returns to a state before this.
        self.cx.output.irrevocable = true;
        match result {
            Ok(planned) => self.take(planned),
            Err(PlanError::Diverged(found)) => self.wait_for_other_code(*found),
            Err(PlanError::Broken(error)) => self.end(Ending::error(error)),
        }
    }

    fn take(&mut self, planned: Planned) {
        let Planned { calls, dropped, record, end } = planned;
        let batch = self.cx.mind.machine.state.batch();
        let still_open = |call: &CallId| batch.is_some_and(|batch| batch.call(call).is_some());
        let dropped: Vec<CallId> = dropped.into_iter().filter(still_open).collect();
        self.cx.mind.step.plan.dropped.extend(dropped);
        self.cx.mind.step.plan.full = calls.len() >= self.room() && !calls.is_empty();
        let mut said = None;
        let (record, ending, carries_on) = match end {
            None => (record, None, false),
            // Code that was told to stop does not begin again.
            Some(PlanEnd::CarryOn(_)) if self.cx.mind.machine.turn.winds_down() => {
                (record, Some(Ending::stopped(InterruptKind::Soft)), false)
            }
            Some(PlanEnd::CarryOn(value)) => {
                let record = PlanRecord { carries_on: Some(value), ..record };
                self.drop_all();
                (record, None, true)
            }
            Some(PlanEnd::Value(value)) => {
                said = Some(AssistantMessage::new(vec![AssistantPart::Text { text: value }]));
                (record, Some(Ending::of(DoneReason::ModelStop)), false)
            }
            Some(PlanEnd::Failed(error)) => (record, Some(Ending::error(error)), false),
            Some(PlanEnd::Stopped) => (record, Some(Ending::stopped(InterruptKind::Soft)), false),
        };
        let calls = if ending.is_some() || carries_on { Vec::new() } else { calls };
        let (requests, calls) = match self.named(calls) {
            Ok(named) => named,
            Err(error) => return self.cx.give_up(ErrorInfo::new("engine.call_id", error.to_string())),
        };
        let mut message = MessageSeq(0);
        if !calls.is_empty() || !record.is_empty() {
            message = self.cx.append(Message::Assistant(AssistantMessage::planned(requests, record)));
            self.cx.mind.step.asked_in = message;
        }
        if let Some(said) = said {
            self.cx.append(Message::Assistant(said));
        }
        if !calls.is_empty() || ending.is_some() || carries_on {
            self.cx.mind.draft.decided = true;
            let now = self.cx.run.now;
            self.cx.mind.step.answered_at.get_or_insert(now);
        } else if self.cx.mind.machine.turn.plan.as_ref().is_some_and(|plan| plan.diverged.is_none()) {
            // Nothing changes in the machine.
            return;
        }
        self.cx.feed(Input::Planned { message, calls, ending, carries_on });
    }

    /// Gives the calls their ids, and looks up their tools.
    fn named(&mut self, calls: Vec<PlannedCall>) -> Result<(Vec<CallRequest>, Vec<NewCall>), InvalidId> {
        let machine = &self.cx.mind.machine;
        let first = matches!(machine.state, AgentState::Thinking { .. });
        let step = if first { machine.step } else { machine.step.next() };
        let (mut requests, mut new) = (Vec::with_capacity(calls.len()), Vec::with_capacity(calls.len()));
        for (at, PlannedCall { tool, arguments }) in calls.into_iter().enumerate() {
            let id = call_id(step, at)?;
            let spec = self.cx.run.agent.as_ref().and_then(|agent| agent.tool(&tool));
            new.push(NewCall {
                id: id.clone(),
                tool: tool.clone(),
                effect: spec.map_or(EffectClass::ReadOnly, |spec| spec.effect),
                dangerous: spec.is_some_and(|spec| spec.dangerous),
                runs_on: spec.map_or(RunsOn::Server, |spec| spec.runs_on),
                leads: None,
            });
            self.cx.mind.step.proposed.insert(id.clone(), arguments.clone());
            requests.push(CallRequest { id, tool, arguments });
        }
        Ok((requests, new))
    }

    /// Tells the code to stop, once the machine has taken the stop. The code says which calls are cancelled: not those that
    /// undo something.
    pub(crate) fn tell_to_stop(&mut self) {
        let notice = Notice { plan: Some(PlanNotice::Stop), ..Notice::new("the flow was told to stop") };
        self.cx.append(Message::Notice(notice));
    }

    fn drop_all(&mut self) {
        let open = self.cx.mind.machine.state.batch().map(|batch| &batch.calls);
        let open: Vec<CallId> = open.into_iter().flatten().map(|call| call.id.clone()).collect();
        self.cx.mind.step.plan.dropped.extend(open);
    }

    fn end(&mut self, ending: Ending) {
        self.cx.mind.draft.decided = true;
        self.cx.feed(Input::Planned {
            message: MessageSeq(0),
            calls: Vec::new(),
            ending: Some(ending),
            carries_on: false,
        });
    }

    fn ends_over_budget(&mut self) -> bool {
        let used = self.cx.mind.machine.used_and_set_aside();
        if !self.cx.run.agent.as_ref().is_some_and(|agent| steering::is_spent(&used, &agent.limits)) {
            return false;
        }
        self.cx.mind.draft.decided = true;
        self.cx.feed(Input::CutShort { ending: Ending::of(DoneReason::BudgetExceeded), drains: false })
    }

    /// Parks the turn as it is, because the code of this process does not fit it. Other code may take it up again.
    fn wait_for_other_code(&mut self, found: Divergence) {
        let before = self.cx.mind.machine.turn.plan.as_ref().and_then(|plan| plan.diverged.clone());
        let is_news = before.as_ref().is_none_or(|before| before.found != found);
        let tries = before.map_or(0, |before| before.tries);
        self.cx.feed(Input::Diverged { found: Box::new(found.clone()) });
        if is_news {
            self.cx.mind.emit(Event::Diverged { found });
        }
        let doubled = DIVERGED_WAIT_MIN.saturating_mul(1 << tries.min(12));
        let until = self.cx.run.now.after(doubled.min(DIVERGED_WAIT_MAX));
        let suspension =
            Suspension { kind: OutcomeKind::SuspendedUntil, until: Some(until), owed: Vec::new() };
        let rings = self.cx.rings_at(Some(until));
        self.cx.turn().park(RunOutcome::Suspended(suspension), rings);
    }
}
