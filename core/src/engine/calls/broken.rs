//! Calls that could not be run or gave no result. Such a call is sent again if its effect class allows this and
//! retries are left. Otherwise the fallback of its tool is called in its place, if the call did not act. If there is none,
//! the engine gives the call up and counts it towards `broken_calls_max` (requirements C49, C52, C53).

use std::time::Duration;

use crate::engine::calls::CallsHandler;
use crate::engine::calls::results::result;
use crate::engine::context::telling::in_short;
use crate::engine::mind::Mind;
use crate::machine::Call;
use crate::words::agent::TOOL_FALLBACKS_MAX;
use crate::words::event::Event;
use crate::words::history::CallInput;
use crate::words::message::ResultStatus;
use crate::words::tool::EffectClass;

/// A call that could not be run or gave no result.
#[derive(Debug, Clone)]
pub(crate) struct NotRun {
    /// The reason as a text.
    pub(crate) why: String,
    /// True if the call was sent and gave no result. Unless it only reads, it may have acted.
    pub(crate) sent: bool,
    /// The wait before the next attempt that the tool asks for.
    pub(crate) wait: Option<Duration>,
}

impl NotRun {
    /// Returns the reason in the form that is kept in the state.
    fn in_short(&self) -> String {
        self.why.chars().take(WHY_CHARS_MAX).collect()
    }
}

impl CallsHandler<'_> {
    /// Reports an open circuit, if the newest broken call opened it.
    pub(crate) fn note_broken(&mut self, before: u32, why: &str) {
        let broken = self.cx.mind.machine.turn.broken;
        let most = self.cx.run.agent.as_ref().map_or(0, |agent| agent.retries.broken_calls_max);
        if broken > before && broken == most {
            self.cx.mind.emit(Event::CircuitOpened { calls: broken, why: in_short(why) });
        }
    }

    /// Returns the input for a call that could not be run or gave no result. If `stopping`, the call was told to stop,
    /// so it does not count as broken.
    pub(crate) fn not_run(&mut self, call: &Call, broken: NotRun, stopping: bool) -> CallInput {
        // The call may have acted now or when it was sent before. One attempt that did not act does not prove that
        // none did.
        let may_have_acted = call.may_have_acted() || (broken.sent && call.effect != EffectClass::ReadOnly);
        if stopping {
            return if may_have_acted { self.doubt(call, &broken, false) } else { self.cx.mind.cancel(call) };
        }
        if let Some(again) = self.try_again(call, &broken) {
            return again;
        }
        if may_have_acted {
            return self.doubt(call, &broken, true);
        }
        if let Some(other) = self.fall_back(call, &broken) {
            return other;
        }
        let word = if broken.sent { "gave no result" } else { "not run" };
        let tries = if call.tries > 0 { format!(" (tried {} times)", call.tries + 1) } else { String::new() };
        let told = format!("{word}: {}{tries}", broken.why);
        self.keep_bounded(call, ResultStatus::Error, told);
        self.cx.mind.keep_as_broken(call);
        CallInput::Returned { ok: false, stop: false, broken: true }
    }

    /// Handles a call that was allowed, but whose tool the agent no longer has. The call is not sent.
    pub(crate) fn gone(&mut self, call: &Call) -> CallInput {
        let why = format!("there is no tool {} any more", call.tool);
        if call.may_have_acted() {
            return self.doubt(call, &NotRun { why, sent: false, wait: None }, false);
        }
        self.keep_bounded(call, ResultStatus::Error, format!("not run: {why}"));
        CallInput::Returned { ok: false, stop: false, broken: false }
    }

    /// Decides whether to send a call again. A call that may have acted is sent again only if repeating it is harmless,
    /// and a dangerous call never.
    fn try_again(&mut self, call: &Call, broken: &NotRun) -> Option<CallInput> {
        let harmless = match call.effect {
            EffectClass::ReadOnly | EffectClass::Idempotent => true,
            EffectClass::AtMostOnce => !broken.sent && !call.sent_before,
        };
        let goes_on = self.cx.mind.machine.state.batch().is_some_and(|batch| batch.stopping.is_none());
        if !harmless || call.dangerous || !goes_on {
            return None;
        }
        let retries = self.cx.run.agent.as_ref().map(|agent| agent.retries.clone())?;
        let until = self.cx.run.now.after(retries.after_call(call.tries, broken.wait)?);
        let attempt = call.tries + 1;
        let why = broken.in_short();
        let (id, tool) = (call.id.clone(), call.tool.clone());
        self.cx.mind.emit(Event::CallRetried { call: id, tool, until, attempt, why: why.clone() });
        self.cx.mind.draft.decided = true;
        Some(CallInput::TryAgain { until, why, sent: broken.sent })
    }

    /// Calls the fallback of the tool in place of a call that did not act and is not sent again (requirement C53). A
    /// dangerous call falls back only if it was never sent, even if it only reads.
    fn fall_back(&mut self, call: &Call, broken: &NotRun) -> Option<CallInput> {
        let goes_on = self.cx.mind.machine.state.batch().is_some_and(|batch| batch.stopping.is_none());
        let never_sent = !broken.sent && !call.sent_before;
        // The agent may have changed since the first fallback, so its check of the length does not bound this one.
        let ends = call.instead_of.len() >= TOOL_FALLBACKS_MAX;
        if !goes_on || ends || (call.dangerous && !never_sent) {
            return None;
        }
        let agent = self.cx.run.agent.clone()?;
        let spec = agent.fallback_of(&call.tool)?;
        let (why, from, to) = (broken.in_short(), call.tool.clone(), spec.name.clone());
        let (id, told) = (call.id.clone(), to.to_string());
        self.cx.mind.emit(Event::CallFellBack { call: id, from, to: told, why: why.clone() });
        self.cx.mind.draft.decided = true;
        let (effect, dangerous, runs_on) = (spec.effect, spec.dangerous, spec.runs_on);
        Some(CallInput::FellBack { to, effect, dangerous, runs_on, why })
    }

    fn doubt(&mut self, call: &Call, lost: &NotRun, broken: bool) -> CallInput {
        self.keep_doubt(call, &lost.why);
        if broken {
            self.cx.mind.keep_as_broken(call);
        }
        CallInput::Lost { broken }
    }

    /// Keeps a result that says that the outcome of the call is unknown, with the last error of the call.
    pub(crate) fn keep_doubt(&mut self, call: &Call, why: &str) {
        let told = format!(
            "in doubt: {why}. It may or may not have acted, and it is not sent again. Find out before you \
             repeat it."
        );
        self.cx.mind.keep_result(result(call, ResultStatus::InDoubt, told, self.cx.mind.edited(call)));
    }
}

impl Mind {
    /// Marks the result that was just kept as broken. Its stored form is rebuilt when the call ends.
    fn keep_as_broken(&mut self, call: &Call) {
        if let Some(ended) = self.step.ended.get_mut(&call.id) {
            ended.result.broken = true;
        }
    }
}

/// The most characters of an error text that are kept while a call waits or runs as a fallback. The text is limited
/// because it is part of the state.
const WHY_CHARS_MAX: usize = 1_000;
