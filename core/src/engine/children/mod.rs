//! Begins the child sessions that answer a call, takes their outcomes, and stops children that no call waits for any
//! more.
//!
//! None of this needs a transaction over two sessions. Before a child begins, the pending call that it answers is
//! durable. A background child answers no pending call; before it begins, every decision so far is durable. A child
//! can be created, stopped or answered for twice without harm. A run decides about a call by what is in its inbox, so
//! the next run decides the same.

use std::collections::BTreeSet;

use crate::engine::action::{Action, ActionId};
use crate::engine::calls::results::{result, stopped_alone};
use crate::engine::context::Context;
use crate::engine::gate::asking::Asking;
use crate::machine::steering::is_spent;
use crate::machine::{Call, CallState};
use crate::store::{ItemKind, StoredItem};
use crate::words::children::{Allowance, ChildOutcome, ChildPlan, Tasks, succeeded, told, told_to_code};
use crate::words::history::{CallInput, Input};
use crate::words::ids::{CallId, InboxSeq, ToolName};
use crate::words::message::ResultStatus;
use crate::words::tool::ResourceProfile;
use crate::words::usage::Usage;

pub(crate) mod background;
pub(crate) mod ends;
pub(crate) mod handing_over;
pub(crate) mod looking;
pub(crate) mod telling;

/// The handler of the children of calls.
pub(crate) struct ChildrenHandler<'a> {
    pub(crate) cx: &'a mut Context,
}

/// The reason why a call no longer waits for its children.
enum Over {
    /// The call has the outcomes that it needs.
    Answered,
    /// The deadline of the call has passed.
    Late,
    /// The call was stopped on its own, while its turn goes on.
    Stopped,
}

impl ChildrenHandler<'_> {
    /// Lets a call begin children, and opens the pending call that they answer, unless they run in the background.
    /// Refuses a call whose children cannot be begun.
    pub(crate) fn ask(&mut self, call: &Call, profile: ResourceProfile) -> Option<CallInput> {
        let agent = self.cx.run.agent.clone()?;
        let arguments = self.cx.mind.arguments_of(&call.id);
        let Some(rules) = agent.sub_agent(&call.tool) else {
            return self.cx.gate().refuse(call, ResultStatus::Error, "the agent has no such sub-agent");
        };
        let tasks = match Tasks::read(&arguments, rules) {
            Ok(tasks) => tasks,
            Err(why) => {
                let told = format!("the arguments do not fit: {why}");
                return self.cx.gate().refuse(call, ResultStatus::Error, &told);
            }
        };
        let allowance = self.allowance(tasks.count(), tasks.background);
        if allowance.steps == Some(0) || is_spent(&self.cx.mind.machine.used_and_set_aside(), &agent.limits) {
            let told = "not begun: this session has no steps or no budget left to share";
            return self.cx.gate().refuse(call, ResultStatus::Error, told);
        }
        if tasks.background {
            return self.ask_in_background(call, &tasks, allowance, profile);
        }
        let pending = self.cx.gate().next_pending(call)?;
        let own = agent.tool(&call.tool).and_then(|spec| spec.timeout_ms);
        let deadline = self.cx.run.answer_deadline(own).into_iter().chain(self.cx.until()).min();
        let (count, needed) = (tasks.count(), tasks.needed());
        let asking =
            Asking { pending: pending.clone(), deadline, why: None, panel: None, needed, children: count };
        self.cx.gate().open_pending(call, asking);
        Some(CallInput::NeedsChildren {
            pending,
            deadline,
            profile,
            count,
            needed,
            background: None,
            remote: rules.remote.clone(),
            since: rules.remote.as_ref().map(|_| self.cx.run.now),
        })
    }

    /// Returns the part of the remaining limits of this session that each of `count` children of a call may use. The
    /// calls of a step that begin children share tokens and cost equally; if the children work in the background, the
    /// session itself keeps a share. Steps are not divided, and those of code are no limit.
    pub(super) fn allowance(&self, count: u32, in_background: bool) -> Allowance {
        let machine = &self.cx.mind.machine;
        let Some(agent) = self.cx.run.agent.as_deref() else { return Allowance::default() };
        let own = machine.turn.allowance();
        let most = agent.limits.max_steps.saturating_add(machine.turn.granted);
        let most = own.steps.map_or(most, |steps| steps.min(most));
        let calls = machine.state.batch().map_or(1, |batch| {
            let shares = |call: &&Call| agent.sub_agent(&call.tool).is_some_and(|rules| !rules.takes_over);
            batch.calls.iter().filter(shares).count().max(1)
        });
        let shares = u64::from(count.max(1)).saturating_mul(u64::try_from(calls).unwrap_or(u64::MAX));
        let shares = shares.saturating_add(u64::from(in_background));
        let all = machine.used_and_set_aside();
        let used = machine.turn.used_before.map_or(all, |before| all.since(&before));
        let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
        let share = |one: Option<u64>, other: Option<u64>| {
            one.into_iter().chain(other).min().map(|left| left / shares)
        };
        let limits = &agent.limits;
        // At rest, the coming turn has taken no steps.
        let taken = if machine.turn.open { machine.turn.steps } else { 0 };
        Allowance {
            steps: (!agent.planned).then(|| most.saturating_sub(taken)),
            tokens: share(left(limits.max_tokens, all.tokens.total()), left(own.tokens, used.tokens.total())),
            cost_microusd: share(
                left(limits.max_cost_microusd, all.cost_microusd),
                left(own.cost_microusd, used.cost_microusd),
            ),
            until: None,
        }
    }

    /// Begins the children of a call once that is safe: its pending call is durable or, for background children,
    /// everything that was decided (`all_durable`). Returns false if there is nothing to do.
    pub(crate) fn start(&mut self, all_durable: bool) -> bool {
        let Some(batch) = self.cx.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return false;
        };
        if self.cx.end.starts_nothing() {
            return false;
        }
        let waits = |call: &&Call| {
            let CallState::BlockedOnChild { pending, started: false, background, .. } = &call.state else {
                return false;
            };
            let durable =
                if background.is_some() { all_durable } else { self.cx.mind.open.contains(pending) };
            durable && !self.cx.out.children.contains_key(&call.id)
        };
        let Some(call) = batch.calls.iter().find(waits).cloned() else { return false };
        match self.plan(&call) {
            Some(plan) => {
                let id = self.cx.output.next_id();
                self.cx.out.children.insert(call.id, id);
                self.cx.output.push(Action::StartChildren { id, plan: Box::new(plan) });
                self.cx.output.irrevocable = true;
            }
            // The arguments were read when the call was allowed, but they or the sub-agent are gone now.
            None => {
                let told = "not begun: its sub-agent is not there any more";
                self.cx.mind.keep_result(result(&call, ResultStatus::Error, told, None));
                let input = CallInput::Answered { ok: false, usage: Usage::default() };
                self.cx.feed(Input::Call { call: call.id, input });
                self.cx.mind.draft.decided = true;
            }
        }
        true
    }

    fn plan(&self, call: &Call) -> Option<ChildPlan> {
        let CallState::BlockedOnChild { pending, deadline, background, remote, .. } = &call.state else {
            return None;
        };
        let rules = self.cx.run.agent.as_ref()?.sub_agent(&call.tool)?;
        let tasks = Tasks::read(&self.cx.mind.arguments_of(&call.id), rules).ok()?;
        let allowance = match background {
            Some(terms) => terms.share,
            None => Allowance { until: *deadline, ..self.allowance(tasks.count(), false) },
        };
        Some(ChildPlan {
            task: call.id.clone(),
            tool: call.tool.parse::<ToolName>().ok()?,
            pending: pending.clone(),
            fail_fast: tasks.fail_fast,
            background: *background,
            tasks: tasks.tasks,
            allowance,
            remote: remote.clone(),
        })
    }

    /// Takes the reply that every child of a call exists, or that an error was delivered in place of its outcome.
    pub(crate) fn on_started(&mut self, id: ActionId) {
        if self.began_outside(id) {
            return;
        }
        let Some(call) = self.came(id) else { return };
        if self.cx.mind.call(&call).is_some_and(|call| call.state.children().is_some()) {
            self.tell_of_background(&call);
            self.cx.feed(Input::Call { call, input: CallInput::Started });
            self.cx.mind.draft.decided = true;
        }
    }

    /// Takes the reply that every child of a call that had not answered is stopped.
    pub(crate) fn on_stopped(&mut self, id: ActionId) {
        if let Some(call) = self.came(id) {
            self.cx.out.childless.insert(call);
        }
    }

    /// Stops the children of a step that is being stopped, while other calls of the step are still ending. Returns
    /// false if there is nothing to do.
    pub(crate) fn stop(&mut self) -> bool {
        let Some(batch) = self.cx.mind.machine.state.batch() else { return false };
        let open = batch.calls.iter().find_map(|call| {
            let known =
                self.cx.out.children.contains_key(&call.id) || self.cx.out.childless.contains(&call.id);
            let children = call.state.children().filter(|_| !known)?;
            Some((call.id.clone(), children))
        });
        let Some((call, children)) = open else { return false };
        let id = self.cx.output.next_id();
        self.cx.out.children.insert(call, id);
        self.cx.output.push(Action::StopChildren { id, children });
        true
    }

    fn came(&mut self, id: ActionId) -> Option<CallId> {
        let call = self.cx.out.children.iter().find(|(_, action)| **action == id)?.0.clone();
        self.cx.out.children.remove(&call);
        Some(call)
    }

    /// Ends a call that has the outcomes that it needs, whose deadline has passed, or that was stopped alone. Children
    /// that have not answered are stopped first. Returns false if nothing can be done until everything that was decided is
    /// durable (`all_durable`), and none if there is nothing to do.
    pub(crate) fn take_outcomes(&mut self, all_durable: bool) -> Option<bool> {
        if self.take_ends() {
            return Some(true);
        }
        let batch = self.cx.mind.machine.state.batch().filter(|batch| batch.stopping.is_none())?;
        let ready = batch.calls.iter().find_map(|call| {
            let children = call.state.children().filter(|_| !self.cx.out.children.contains_key(&call.id))?;
            self.over(call).map(|over| (call.clone(), children, over))
        });
        let (call, children, over) = ready?;
        let items = self.answers(&call);
        let outstanding = u32::try_from(items.len()).is_ok_and(|answers| answers < children.count);
        if outstanding && !self.cx.out.childless.contains(&call.id) {
            // Code drops a call because of what it was told. If that were lost, a later run would be told first that the
            // children have ended.
            if self.cx.mind.step.plan.dropped.contains(&call.id) && !all_durable {
                return Some(false);
            }
            let id = self.cx.output.next_id();
            self.cx.out.children.insert(call.id, id);
            self.cx.output.push(Action::StopChildren { id, children });
            return Some(true);
        }
        self.end(&call, children.count, &over, items);
        Some(true)
    }

    /// Returns the reason why a call no longer waits for its children. Returns `None` while it waits.
    fn over(&self, call: &Call) -> Option<Over> {
        let CallState::BlockedOnChild { deadline, needed, started, .. } = &call.state else { return None };
        let mut answers = 0_u32;
        let mut settled = false;
        for item in &self.cx.mind.inbox.items {
            if let ItemKind::Answer { pending, settles } = &item.kind
                && Some(pending) == call.state.pending()
            {
                answers += 1;
                settled |= *settles;
            }
        }
        // A call that ended before its children have begun would leave some to begin later.
        if !started {
            return None;
        }
        if settled || answers >= *needed {
            Some(Over::Answered)
        } else if deadline.is_some_and(|deadline| deadline <= self.cx.run.now) {
            Some(Over::Late)
        } else {
            self.cx.mind.is_to_stop(&call.id).then_some(Over::Stopped)
        }
    }

    fn answers(&self, call: &Call) -> Vec<StoredItem> {
        let of_call = |item: &&StoredItem| matches!(&item.kind, ItemKind::Answer { pending, .. } if Some(pending) == call.state.pending());
        self.cx.mind.inbox.items.iter().filter(of_call).cloned().collect()
    }

    /// Counts the usage of children that have answered calls which are about to be stopped. The model is never shown
    /// these answers.
    pub(crate) fn count_unread(&mut self) {
        let Some(batch) = self.cx.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return;
        };
        let calls: Vec<Call> =
            batch.calls.iter().filter(|call| call.state.children().is_some()).cloned().collect();
        calls.iter().for_each(|call| self.count_answers(call));
    }

    fn count_answers(&mut self, call: &Call) {
        let Some(pending) = call.state.pending().cloned() else { return };
        for item in self.answers(call) {
            // The usage in an answer that cannot be read is unknown.
            if let Ok(ChildOutcome { index, usage, .. }) = item.payload.parse() {
                let pending = pending.clone();
                self.cx.feed(Input::ChildEnded { pending, index, tasks: Vec::new(), usage });
            }
        }
    }

    /// Ends a call with the outcomes that it has. The result, the end and the consumed answers are written in one
    /// commit.
    fn end(&mut self, call: &Call, count: u32, over: &Over, items: Vec<StoredItem>) {
        let outcomes: Vec<ChildOutcome> = items
            .iter()
            .zip(0..)
            .map(|(item, at)| {
                let unread = |error: serde_json::Error| {
                    ChildOutcome::not_created(at, format!("its outcome cannot be read: {error}"))
                };
                item.payload.parse().unwrap_or_else(unread)
            })
            .collect();
        let mut usage = Usage::default();
        outcomes.iter().for_each(|outcome| usage.add(outcome.usage));
        let fail_fast = items.iter().any(|item| matches!(item.kind, ItemKind::Answer { settles: true, .. }));
        let ending = match over {
            Over::Answered => "stopped: it was not waited for",
            Over::Late => "timed out: it did not end in time",
            Over::Stopped => "stopped: somebody stopped this call",
        };
        let ok = succeeded(&outcomes, fail_fast);
        let content = if self.cx.run.is_planned() {
            told_to_code(count, outcomes, ending, self.cx.calls().result_bytes_max())
        } else {
            told(count, &outcomes, ending)
        };
        if matches!(over, Over::Stopped) {
            self.count_answers(call);
        }
        let taken: BTreeSet<InboxSeq> = items.iter().map(|item| item.seq).collect();
        self.cx.mind.inbox.items.retain(|item| !taken.contains(&item.seq));
        self.cx.mind.draft.consumed.extend(taken);
        let input = match over {
            Over::Stopped => {
                let (edited, reason) = (self.cx.mind.edited(call), self.cx.mind.stops_alone_as());
                let told = stopped_alone(reason);
                self.cx.mind.keep_result(result(call, ResultStatus::Cancelled, told, edited));
                CallInput::Cancelled { reason }
            }
            Over::Answered | Over::Late => {
                let status = if ok { ResultStatus::Done } else { ResultStatus::Error };
                self.cx.calls().keep_bounded(call, status, content);
                CallInput::Answered { ok: self.cx.mind.is_done(&call.id), usage }
            }
        };
        self.cx.feed(Input::Call { call: call.id.clone(), input });
        self.cx.out.childless.remove(&call.id);
        self.cx.mind.draft.decided = true;
    }
}
