//! Hooks at the beginning of a turn, after its steps, and at its end.

use std::sync::Arc;

use holdover_core::engine::{Correction, HookStop};
use holdover_core::error::ErrorInfo;
use holdover_core::hook::{AfterStep, HookPoint, StepEnded, TurnBegins, TurnEnds};
use holdover_core::machine::{DoneReason, Ending};

use super::{Failed, Hooked, Hooks};

impl Hooks {
    /// Tells the hooks that a turn begins. An error ends the turn.
    pub(crate) async fn agent_start(&self, turn: &TurnBegins) -> Result<(), ErrorInfo> {
        for hooked in self.at(HookPoint::AgentStart) {
            let (hook, turn) = (Arc::clone(&hooked.hook), turn.clone());
            let told = hooked.ask(HookPoint::AgentStart, async move { hook.agent_start(&turn).await });
            told.await.map_err(|failed| error(HookPoint::AgentStart, &failed))?;
        }
        Ok(())
    }

    /// Tells all hooks that a turn ends. Returns the first failure that is not ignored.
    pub(crate) async fn agent_end(&self, turn: &TurnEnds) -> Result<(), ErrorInfo> {
        let mut first = Ok(());
        for hooked in self.at(HookPoint::AgentEnd) {
            let (hook, turn) = (Arc::clone(&hooked.hook), turn.clone());
            let told = hooked.ask(HookPoint::AgentEnd, async move { hook.agent_end(&turn).await });
            let told = told.await.map(drop).map_err(|failed| error(HookPoint::AgentEnd, &failed));
            first = first.and(told);
        }
        first
    }

    /// Tells all hooks of a step. Returns the first ending of the turn that a hook asked for or caused by its
    /// failure, and the hooks' corrections for the model.
    pub(crate) async fn after_step(&self, step: &StepEnded) -> (Option<HookStop>, Vec<Correction>) {
        let (mut first, mut corrections) = (None, Vec::new());
        for hooked in self.at(HookPoint::AfterStep) {
            let (hook, step) = (Arc::clone(&hooked.hook), step.clone());
            let word = hooked.ask(HookPoint::AfterStep, async move { hook.after_step(&step).await }).await;
            let stop = match word {
                Ok(None | Some(AfterStep::GoOn)) => None,
                Ok(Some(AfterStep::Correct { text })) => {
                    corrections.push(Correction { by: hooked.name.clone(), text });
                    None
                }
                Ok(Some(AfterStep::Stop { why })) => Some(stop(hooked, DoneReason::ToolStop, &why)),
                Ok(Some(AfterStep::OverBudget { why })) => {
                    Some(stop(hooked, DoneReason::BudgetExceeded, &why))
                }
                Err(failed) => Some(HookStop {
                    ending: Ending::error(error(HookPoint::AfterStep, &failed)),
                    notice: format!("stopped: {}", failed.what),
                }),
            };
            first = first.or(stop);
        }
        (first, corrections)
    }
}

fn stop(hooked: &Hooked, reason: DoneReason, why: &str) -> HookStop {
    HookStop { ending: Ending::of(reason), notice: format!("stopped by the hook {}: {why}", hooked.name) }
}

fn error(point: HookPoint, failed: &Failed) -> ErrorInfo {
    ErrorInfo::new(format!("hook.{}", point.as_str()), failed.to_string())
}
