//! Handles a run that panics because of the program's observer or of the engine itself. Tools, models, gates, hooks,
//! summarisers and provisioners run in tasks of their own, and their panics count as failed answers.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use holdover_core::engine::RunOutcome;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{RunId, SessionKey};
use holdover_core::store::{ClaimOne, ClaimOutcome, SessionStatus};
use tokio::time::Instant;

use super::{Leaving, Plan, RunContext, one_run};
use crate::agent::Agent;
use crate::error::RuntimeError;
use crate::guard::panic_words;
use crate::host::Claimed;

/// Returns the result of a future, or the message of its panic. After a panic, the future and all its work are
/// dropped.
pub(super) async fn unless_panicked<T>(future: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(|panic| panic_words(&*panic))
}

/// The data that is needed to end the turn of a run that panicked, and to find its claim again.
pub(super) struct AfterPanic {
    cx: RunContext,
    key: SessionKey,
    run: RunId,
    agent: Option<Arc<Agent>>,
}

impl AfterPanic {
    /// Creates the data for a run that begins with this claim.
    pub(super) fn of(cx: &RunContext, claimed: &Claimed, plan: &Plan) -> Self {
        let agent = match plan {
            Plan::Run(agent) | Plan::Resume(agent) => Some(Arc::clone(agent)),
            // The ending itself panicked, so the session waits for the lease to end.
            Plan::End | Plan::Fail(..) => None,
        };
        let (key, run) = (claimed.claim.fence.key.clone(), claimed.claim.run.clone());
        Self { cx: cx.clone(), key, run, agent }
    }

    /// Ends the turn with `engine.panicked`. This fails if the lease has ended, if the run was only to end the turn or
    /// the session, or if the ending panics, too. Another run then takes the session over once the lease has ended.
    /// After five lost runs in a row without a commit, the turn ends with the error `engine.poisoned`.
    pub(super) async fn end(self, words: String) -> Result<RunOutcome, RuntimeError> {
        tracing::error!(session = %self.key, panic = words, "a run panicked");
        let panicked = || RuntimeError::Panicked { key: self.key.clone(), detail: words.clone() };
        let agent = self.agent.clone().ok_or_else(panicked)?;
        let claimed = self.claim_again().await?.ok_or_else(panicked)?;
        let plan = Plan::Fail(agent, ErrorInfo::new("engine.panicked", format!("its run panicked: {words}")));
        let ending = Box::pin(one_run(self.cx.clone(), claimed, plan, Leaving::never()));
        unless_panicked(ending).await.unwrap_or_else(|_| Err(panicked()))
    }

    /// Returns the current claim of the run that panicked, or `None` if it is over.
    async fn claim_again(&self) -> Result<Option<Claimed>, RuntimeError> {
        let repeat = ClaimOne { run: self.run.clone(), ..self.cx.host.claim_one(Vec::new(), None) };
        let asked = Instant::now();
        match self.cx.host.store().claim_session(&self.key, repeat).await? {
            ClaimOutcome::Claimed(mut claim) => {
                // The calls that were in flight are lost, as after the death of a run.
                claim.found = SessionStatus::Active;
                Ok(Some(Claimed::new(*claim, asked)))
            }
            ClaimOutcome::Held { .. }
            | ClaimOutcome::VersionConflict { .. }
            | ClaimOutcome::LeaseEnded
            | ClaimOutcome::ItemRefused { .. }
            | ClaimOutcome::Aborted
            | ClaimOutcome::NotFound => Ok(None),
        }
    }
}
