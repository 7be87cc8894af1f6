//! Children elsewhere: gives tasks to agents in other programs, looks for their outcomes, stops them; and tells callers
//! elsewhere how their tasks ended.
//!
//! Nothing here waits for another program for long. A task that cannot be given in time is answered so. An outcome that
//! cannot be told stays in the store: its caller asks for it.

use std::time::Duration;

use futures::future::BoxFuture;
use holdover_core::children::{
    ChildNames, ChildOutcome, ChildPlan, OUTCOME_CHARS_MAX, Parent, ReplyBy, Unanswered, in_part,
};
use holdover_core::ids::SessionId;
use holdover_core::remote::{Remote, RemoteTask, TaskLimits, TaskOutcome, TaskStanding};
use tokio::time::{Instant, sleep, timeout_at};

use super::begin::Created;
use super::{Family, LeaseEnded};
use crate::elsewhere::ElsewhereError;
use crate::host::Backoff;

/// The time for a request to another program, with all its tries.
const WITHIN: Duration = Duration::from_secs(20);

/// The time for a request to stop, with all its tries: people wait for it.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// The most characters of an outcome from elsewhere that are kept.
const KEPT_CHARS_MAX: usize = 8 * OUTCOME_CHARS_MAX;

impl Family {
    /// Gives a task to an agent elsewhere.
    pub(super) async fn begin_elsewhere(
        &self,
        remote: &Remote,
        plan: &ChildPlan,
        task: &str,
        index: u32,
    ) -> Result<Created, LeaseEnded> {
        let Some(wire) = self.elsewhere.as_deref() else {
            return Ok(Created::Not(format!("{}: this program reaches no agents elsewhere", remote.url)));
        };
        let names = match ChildNames::of(&plan.pending, index) {
            Ok(names) => names,
            Err(error) => return Ok(Created::Not(error.to_string())),
        };
        let parent = Parent {
            session: self.fence.key.clone(),
            incarnation: self.fence.incarnation,
            pending: plan.pending.clone(),
            index,
            fail_fast: plan.fail_fast,
            by: ReplyBy::Answer,
        };
        let task = RemoteTask {
            id: names.id.clone(),
            task: task.to_owned(),
            limits: TaskLimits::of(&plan.allowance, self.now),
            reply_to: wire.address(remote, &parent),
        };
        match within(WITHIN, || wire.begin(remote, &task)).await {
            Ok(TaskStanding::Open) => Ok(Created::There),
            Ok(TaskStanding::Ended(outcome)) => {
                let outcome = outcome_of(index, &names, outcome);
                self.answer_for(&plan.pending, plan.fail_fast, &ReplyBy::Answer, &[], &outcome).await?;
                Ok(Created::There)
            }
            Err(error) => {
                // It may have been taken although nothing says so.
                if error.again {
                    self.stop_elsewhere(remote, &names.id).await;
                }
                Ok(Created::Not(format!("{}: {error}", remote.url)))
            }
        }
    }

    /// Stops a task elsewhere. If that fails, the task ends at its own deadline.
    pub(super) async fn stop_elsewhere(&self, remote: &Remote, task: &SessionId) {
        let Some(wire) = self.elsewhere.as_deref() else {
            tracing::warn!(%task, url = remote.url, "a task elsewhere cannot be stopped from this program");
            return;
        };
        if let Err(error) = within(STOP_WITHIN, || wire.stop(remote, task)).await {
            tracing::warn!(%task, url = remote.url, %error, "a task elsewhere cannot be stopped");
        }
    }

    /// Asks for the outcome of a task elsewhere, and answers with it if it is there, or if the task is gone.
    pub(super) async fn find_elsewhere(
        &self,
        remote: &Remote,
        children: &Unanswered,
        index: u32,
    ) -> Result<(), LeaseEnded> {
        let (Some(wire), Ok(names)) = (self.elsewhere.as_deref(), ChildNames::of(&children.pending, index))
        else {
            return Ok(());
        };
        let outcome = match wire.look(remote, &names.id).await {
            Ok(Some(TaskStanding::Open)) => return Ok(()),
            Ok(Some(TaskStanding::Ended(outcome))) => outcome_of(index, &names, outcome),
            Ok(None) => ChildOutcome::not_created(index, "it is gone"),
            // Looked for again next time.
            Err(error) => {
                tracing::debug!(task = %names.id, url = remote.url, %error, "a task elsewhere is not seen");
                return Ok(());
            }
        };
        self.answer_for(&children.pending, children.fail_fast, &children.by, &[], &outcome).await
    }

    /// Tells a caller elsewhere how its task ended.
    pub(super) async fn tell_elsewhere(&self, url: &str, task: &SessionId, outcome: ChildOutcome) {
        let Some(wire) = self.elsewhere.as_deref() else { return };
        let outcome = TaskOutcome { ok: outcome.ok, text: outcome.text, usage: outcome.usage };
        if let Err(error) = within(WITHIN, || wire.tell(url, task, &outcome)).await {
            // Not the address: whoever knows it can send an outcome.
            tracing::warn!(%task, %error, "an outcome cannot be sent; its caller may ask for it");
        }
    }
}

/// The outcome of a child elsewhere.
pub(crate) fn outcome_of(index: u32, names: &ChildNames, outcome: TaskOutcome) -> ChildOutcome {
    ChildOutcome {
        index,
        session: Some(names.id.clone()),
        ok: outcome.ok,
        text: in_part(&outcome.text, KEPT_CHARS_MAX),
        usage: outcome.usage,
    }
}

/// Tries until the request succeeds, fails for good, or the time is over.
async fn within<'a, T>(
    time: Duration,
    mut request: impl FnMut() -> BoxFuture<'a, Result<T, ElsewhereError>>,
) -> Result<T, ElsewhereError> {
    let until = Instant::now() + time;
    let mut pauses = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    let mut last = ElsewhereError::later("no answer in time");
    loop {
        match timeout_at(until, request()).await {
            Ok(Err(error)) if error.again => last = error,
            Ok(answer) => return answer,
            Err(_) => return Err(last),
        }
        let pause = pauses.take();
        if Instant::now() + pause >= until {
            return Err(last);
        }
        sleep(pause).await;
    }
}
