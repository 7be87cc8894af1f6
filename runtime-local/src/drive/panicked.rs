//! Handles a run that panics: in the program's observer, or in the engine itself. Tools, models, gates and
//! provisioners run in tasks of their own, and their panics are answers.

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

/// What a future answers, or the words with which it panicked. It is dropped then, with all that it had out.
pub(super) async fn unless_panicked<T>(future: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(|panic| panic_words(&*panic))
}

/// Who ends the turn of a run that panicked, and how its claim is known again.
pub(super) struct AfterPanic {
    cx: RunContext,
    key: SessionKey,
    run: RunId,
    agent: Option<Arc<Agent>>,
}

impl AfterPanic {
    /// Of a run that begins with this claim.
    pub(super) fn of(cx: &RunContext, claimed: &Claimed, plan: &Plan) -> Self {
        let agent = match plan {
            Plan::Run(agent) | Plan::Resume(agent) => Some(Arc::clone(agent)),
            // To end it is what panicked: the lease ends instead.
            Plan::End | Plan::Fail(..) => None,
        };
        let (key, run) = (claimed.claim.fence.key.clone(), claimed.claim.run.clone());
        Self { cx: cx.clone(), key, run, agent }
    }

    /// Ends the turn with `engine.panicked`, where that can still be done: the lease must run, and to end it must not
    /// panic, too. Else the session is taken over once the lease has ended, and given up after the fifth time.
    pub(super) async fn end(self, words: String) -> Result<RunOutcome, RuntimeError> {
        tracing::error!(session = %self.key, panic = words, "a run panicked");
        let panicked = || RuntimeError::Panicked { key: self.key.clone(), detail: words.clone() };
        let agent = self.agent.clone().ok_or_else(panicked)?;
        let claimed = self.claim_again().await?.ok_or_else(panicked)?;
        let plan = Plan::Fail(agent, ErrorInfo::new("engine.panicked", format!("its run panicked: {words}")));
        let ending = Box::pin(one_run(self.cx.clone(), claimed, plan, Leaving::never()));
        unless_panicked(ending).await.unwrap_or_else(|_| Err(panicked()))
    }

    /// The claim of the run that panicked, as it stands now. None: it is over.
    async fn claim_again(&self) -> Result<Option<Claimed>, RuntimeError> {
        let repeat = ClaimOne { run: self.run.clone(), ..self.cx.host.claim_one(Vec::new(), None) };
        let asked = Instant::now();
        match self.cx.host.store().claim_session(&self.key, repeat).await? {
            ClaimOutcome::Claimed(mut claim) => {
                // What was out is lost: as of a run that died.
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
