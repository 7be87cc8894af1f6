//! The handle of a run that was started in this process.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use holdover_core::engine::RunOutcome;
use holdover_core::ids::{Epoch, InboxSeq, SessionKey};
use holdover_core::store::OutcomeKind;
use holdover_core::time::Timestamp;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use super::{Response, Runtime};
use crate::drive::{self, Leaving, Offspring, Plan};
use crate::error::RuntimeError;
use crate::guard::{Guarded, Panicked, guarded};
use crate::host::Claimed;

/// A run that was started here, and its session. Dropping the handle stops the run immediately; another run takes
/// the session over when the lease has ended. [`RunHandle::detach`] lets the run continue without the handle.
#[must_use = "dropping it stops the run"]
pub struct RunHandle {
    runtime: Runtime,
    key: SessionKey,
    epoch: Option<Epoch>,
    duplicate: bool,
    item: Option<InboxSeq>,
    not_before: Option<Timestamp>,
    run: Option<Guarded<Result<RunOutcome, RuntimeError>>>,
    /// The place where the run reports its children.
    offspring: Arc<Offspring>,
}

impl RunHandle {
    /// Drives a claim in a task of its own.
    pub(super) fn begin(runtime: &Runtime, claimed: Claimed, plan: Plan) -> Self {
        let key = claimed.claim.fence.key.clone();
        let epoch = Some(claimed.claim.fence.epoch);
        let offspring = Arc::<Offspring>::default();
        let cx = runtime.run_context_in(Arc::clone(&offspring));
        let run = Some(guarded(drive::run(cx, claimed, plan, Leaving::never())));
        Self {
            runtime: runtime.clone(),
            key,
            epoch,
            duplicate: false,
            item: None,
            not_before: None,
            run,
            offspring,
        }
    }

    /// Creates a handle for a session that another run works on, now or later.
    pub(super) fn of_another(runtime: &Runtime, key: SessionKey, duplicate: bool) -> Self {
        let (epoch, item, run, offspring) = (None, None, None, Arc::default());
        Self { runtime: runtime.clone(), key, epoch, duplicate, item, not_before: None, run, offspring }
    }

    /// Sets the number of the message that was delivered.
    pub(super) fn delivering(self, item: InboxSeq) -> Self {
        Self { item: Some(item), ..self }
    }

    /// Sets the instant before which no turn takes the message.
    pub(super) fn at(self, not_before: Option<Timestamp>) -> Self {
        Self { not_before, ..self }
    }

    /// Returns the key of the session.
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Returns the number of the run, or `None` if no run was started here.
    pub fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// Returns true if the message had been accepted before under this idempotency key. If so, nothing was started
    /// now.
    pub fn is_duplicate(&self) -> bool {
        self.duplicate
    }

    /// Returns the number of the message in the inbox of the session. [`Runtime::taken`] finds the turn that took the
    /// message by it. Returns `None` if the run was started without a message.
    pub fn item(&self) -> Option<InboxSeq> {
        self.item
    }

    /// Waits for the outcome of the turn: its ending, or the reason why it waits. Like [`Runtime::wait`], this
    /// follows the session through durable timers, back-offs and other runs, and through the turns of the children
    /// that it waits for.
    pub async fn outcome(mut self) -> Result<RunOutcome, RuntimeError> {
        let key = self.key.clone();
        let run =
            self.run.take().map(|run| async move { unless_panicked(&key, run.await).map(Some) }.boxed());
        let outcome = self.runtime.wait_with(&self.key, run, self.offspring).await?;
        match (self.item, self.not_before) {
            (Some(item), Some(at)) => self.runtime.wait_for_later(&self.key, item, at, outcome).await,
            (_, _) => Ok(outcome),
        }
    }

    /// Waits like [`outcome`](Self::outcome), but for at most `at_most`. Returns `None` if the session is still at
    /// work then. The run goes on as long as this handle exists, and can be waited for again. After the run started
    /// here has ended, this method starts nothing: runs after a timer or a back-off, and runs of children, are left
    /// to workers. While a child that the session waits for is due or runs, it returns `None`. It does not wait for the
    /// instant of a message [for later](super::Execute::at), unless the session is new.
    pub async fn outcome_within(&mut self, at_most: Duration) -> Result<Option<RunOutcome>, RuntimeError> {
        let began = Instant::now();
        if let Some(run) = self.run.as_mut() {
            let Ok(ended) = timeout(at_most, run).await else { return Ok(None) };
            self.run = None;
            let outcome = unless_panicked(&self.key, ended)?;
            if is_last_word(&outcome) {
                return Ok(Some(outcome));
            }
        }
        self.runtime.wait_at_most(&self.key, at_most.saturating_sub(began.elapsed())).await
    }

    /// Waits until the turn has ended, and returns the response. A turn that failed or was stopped has a
    /// response, too.
    ///
    /// Errors: [`Unanswered`](RuntimeError::Unanswered) if the turn waits for a person, a client or another
    /// session.
    pub async fn response(self) -> Result<Response, RuntimeError> {
        let (runtime, key) = (self.runtime.clone(), self.key.clone());
        let outcome = self.outcome().await?;
        let response = runtime.response(&key).await?;
        response.ok_or_else(|| RuntimeError::unanswered(&key, &outcome))
    }

    /// Waits until the turn has completed, and returns the agent's answer.
    ///
    /// Errors: [`Unanswered`](RuntimeError::Unanswered) if the turn ended otherwise, or waits for a person, a
    /// client or another session. Use [`outcome`](Self::outcome) to get the details.
    pub async fn text(self) -> Result<String, RuntimeError> {
        let (runtime, key) = (self.runtime.clone(), self.key.clone());
        let outcome = self.outcome().await?;
        if outcome.kind() != OutcomeKind::Completed {
            return Err(RuntimeError::unanswered(&key, &outcome));
        }
        Ok(runtime.last_text(&key).await?.unwrap_or_default())
    }

    /// Waits until the turn has ended with a value, and returns the value. Use it for an agent whose turns must
    /// return a value ([`AgentBuilder::output`](crate::AgentBuilder::output)).
    ///
    /// Errors: [`Unanswered`](RuntimeError::Unanswered) if the turn ended otherwise, or waits for a person, a
    /// client or another session; [`Unreadable`](RuntimeError::Unreadable) if the value fits its schema but is not
    /// a valid `T`.
    pub async fn output<T: DeserializeOwned>(self) -> Result<T, RuntimeError> {
        let (runtime, key) = (self.runtime.clone(), self.key.clone());
        let outcome = self.outcome().await?;
        let unanswered = || RuntimeError::unanswered(&key, &outcome);
        let value = runtime.output_of(&key, &outcome).await?.ok_or_else(unanswered)?;
        serde_json::from_value(value).map_err(|error| RuntimeError::unreadable(&key, "output", error))
    }

    /// Waits for the end of this run alone, and not for later runs. Returns `None` if no run was started here, or
    /// if its end was returned before.
    pub async fn first_outcome(&mut self) -> Result<Option<RunOutcome>, RuntimeError> {
        let Some(run) = self.run.as_mut() else { return Ok(None) };
        let ended = run.await;
        self.run = None;
        unless_panicked(&self.key, ended).map(Some)
    }

    /// Lets the run continue without this handle.
    pub fn detach(self) {
        if let Some(run) = self.run {
            run.detach();
        }
    }
}

impl std::fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunHandle")
            .field("key", &self.key)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// Drives a claim to the exit of its run, which reports its children to `offspring`. Dropping the future stops
    /// the run.
    pub(super) async fn drive(
        &self,
        claimed: Claimed,
        plan: Plan,
        offspring: Arc<Offspring>,
        leaving: Leaving,
    ) -> Result<RunOutcome, RuntimeError> {
        let key = claimed.claim.fence.key.clone();
        let cx = self.run_context_in(offspring);
        unless_panicked(&key, guarded(drive::run(cx, claimed, plan, leaving)).await)
    }
}

pub(super) fn unless_panicked<T>(
    key: &SessionKey,
    ended: Result<Result<T, RuntimeError>, Panicked>,
) -> Result<T, RuntimeError> {
    ended.unwrap_or_else(|panicked| Err(RuntimeError::Panicked { key: key.clone(), detail: panicked.0 }))
}

/// Returns true if the turn has ended, or waits for a person or a client, even if that wait has a deadline. Returns
/// false if the turn goes on after a back-off, a timer, another run or a child.
pub(super) fn is_last_word(outcome: &RunOutcome) -> bool {
    match outcome {
        RunOutcome::Released | RunOutcome::Lost => false,
        RunOutcome::Ended(_) | RunOutcome::Suspended(_) | RunOutcome::BackingOff { .. } => {
            outcome.goes_on_at().is_none() && !outcome.waits_for_children()
        }
    }
}
