//! The place of code in the loop of a run: it is asked before anything else starts or is written.

use crate::engine::StepIterator;
use crate::engine::context::Context;
use crate::engine::context::run::Look;
use crate::words::tool::EffectClass;

impl StepIterator {
    /// Asks the code that plans the open step, if it comes before everything else. Returns `None` if it does not. A
    /// commit that closes a pending call is awaited first: if the store refused it, the code would know too much.
    pub(crate) fn plan_first(&mut self) -> Option<bool> {
        if !self.cx.plan().comes_first() {
            return None;
        }
        if self.cx.plan().is_asked() {
            return Some(false);
        }
        if !self.cx.mind.draft.close.is_empty() {
            self.hold_for_commit(Vec::new());
            return Some(false);
        }
        Some(self.cx.plan().ask())
    }

    /// Asks the code for its first decisions in this turn.
    pub(crate) fn ask_code(&mut self) -> bool {
        let may_ask = self.cx.is_up_to_date() && !self.cx.plan().is_asked();
        may_ask && self.commit_first() && self.cx.plan().ask()
    }

    /// Looks for children, if this run must. First commits a drafted result of a call with an effect, because the look may
    /// take long. Returns `None` if there is nothing to look for.
    pub(crate) fn look(&mut self) -> Option<bool> {
        if self.cx.run.look == Look::Due && self.cx.drafts_effect() {
            self.commit_if_due();
            if self.is_held() {
                return Some(false);
            }
        }
        self.cx.children().look().then_some(true)
    }
}

impl Context {
    /// Returns true if the draft of an open step holds the result of a call that does not only read.
    pub(crate) fn drafts_effect(&self) -> bool {
        let Some(agent) = self.run.agent.as_ref().filter(|agent| agent.planned) else { return false };
        let acts = |tool: &str| agent.tool(tool).is_some_and(|spec| spec.effect != EffectClass::ReadOnly);
        self.mind.draft.results.iter().any(|result| acts(&result.tool))
    }
}
