//! Handles tasks between this program and others. Gives tasks to agents in other programs, looks for their outcomes and
//! stops them. Tells callers in other programs how their tasks ended.
//!
//! Nothing here waits long for another program. A task that cannot be given in time is answered as not created, and the
//! remaining tasks of the same call are not tried. An outcome that cannot be sent stays in the store, and its caller
//! asks for it.

use std::sync::atomic::{AtomicBool, Ordering};
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
use crate::backoff::Backoff;
use crate::elsewhere::{Elsewhere, ElsewhereError};

/// The time limit of a request to another program, retries included.
const WITHIN: Duration = Duration::from_secs(20);

/// The time limit of a request to stop, retries included. It is short because people wait for it.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// The time limit of a look, retries included.
const LOOK_WITHIN: Duration = Duration::from_secs(5);

/// The maximum number of characters that are kept of an outcome from another program.
const KEPT_CHARS_MAX: usize = 8 * OUTCOME_CHARS_MAX;

/// The connection to the agent in another program that has the tasks of one call.
pub(super) struct Line<'a> {
    wire: Option<&'a dyn Elsewhere>,
    remote: &'a Remote,
    /// The instant at which the action began.
    since: Instant,
    /// True once a task could not be given, or looked for, in time.
    is_broken: AtomicBool,
    /// True once a task could not be stopped in time.
    stops_nothing: AtomicBool,
}

impl<'a> Line<'a> {
    /// Repeats a request until it is answered, is refused for good, or `time` is over. If it fails and could be
    /// retried, sets `is_broken`, and later requests with that flag fail at once.
    async fn ask<T>(
        &self,
        is_broken: &AtomicBool,
        time: Duration,
        mut request: impl FnMut(&'a dyn Elsewhere, &'a Remote) -> BoxFuture<'a, Result<T, ElsewhereError>>,
    ) -> Result<T, ElsewhereError> {
        let Some(wire) = self.wire else {
            return Err(ElsewhereError::never("this program reaches no agents elsewhere"));
        };
        if is_broken.load(Ordering::Relaxed) {
            return Err(ElsewhereError::later("not tried: it did not answer for another task"));
        }
        let answer = within(time, || request(wire, self.remote)).await;
        if answer.as_ref().is_err_and(|error| error.again) {
            is_broken.store(true, Ordering::Relaxed);
        }
        answer
    }
}

impl Family {
    /// Returns a connection to an agent in another program.
    pub(super) fn line<'a>(&'a self, remote: &'a Remote) -> Line<'a> {
        Line {
            wire: self.elsewhere.as_deref(),
            remote,
            since: Instant::now(),
            is_broken: AtomicBool::new(false),
            stops_nothing: AtomicBool::new(false),
        }
    }

    /// Gives a task to an agent in another program. If the task has ended already, answers the call. If the request
    /// fails, stops the task, because the other program may have taken it.
    pub(super) async fn begin_elsewhere(
        &self,
        line: &Line<'_>,
        plan: &ChildPlan,
        task: &str,
        index: u32,
    ) -> Result<Created, LeaseEnded> {
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
            limits: TaskLimits::of(&plan.allowance, self.now.after(line.since.elapsed())),
            reply_to: line.wire.and_then(|wire| wire.address(line.remote, &parent)),
        };
        let task = &task;
        match line.ask(&line.is_broken, WITHIN, |wire, remote| wire.begin(remote, task)).await {
            Ok(TaskStanding::Open) => Ok(Created::There),
            Ok(TaskStanding::Ended(outcome)) => {
                let outcome = outcome_of(index, &names, outcome);
                self.answer_for(&plan.pending, plan.fail_fast, &ReplyBy::Answer, &[], &outcome).await?;
                Ok(Created::There)
            }
            Err(error) => {
                // The other program may have taken the task without saying so, now or in an earlier try or run.
                self.stop_elsewhere(line, &names.id).await;
                Ok(Created::Not(format!("{error} ({})", line.remote.url)))
            }
        }
    }

    /// Stops a task in another program. A failure is only logged: the task then ends at its own limits.
    pub(super) async fn stop_elsewhere(&self, line: &Line<'_>, task: &SessionId) {
        if let Err(error) =
            line.ask(&line.stops_nothing, STOP_WITHIN, |wire, remote| wire.stop(remote, task)).await
        {
            tracing::warn!(%task, url = line.remote.url, %error, "a task elsewhere cannot be stopped");
        }
    }

    /// Asks for the outcome of a task in another program. Answers the call if the task has ended or is gone.
    pub(super) async fn find_elsewhere(
        &self,
        line: &Line<'_>,
        children: &Unanswered,
        index: u32,
    ) -> Result<(), LeaseEnded> {
        let Ok(names) = ChildNames::of(&children.pending, index) else { return Ok(()) };
        let task = &names.id;
        let outcome = match line
            .ask(&line.is_broken, LOOK_WITHIN, |wire, remote| wire.look(remote, task))
            .await
        {
            Ok(Some(TaskStanding::Open)) => return Ok(()),
            Ok(Some(TaskStanding::Ended(outcome))) => outcome_of(index, &names, outcome),
            Ok(None) => ChildOutcome::not_created(index, "it is gone"),
            // The next look asks again.
            Err(error) => {
                tracing::warn!(task = %names.id, url = line.remote.url, %error, "a task elsewhere is not seen");
                return Ok(());
            }
        };
        self.answer_for(&children.pending, children.fail_fast, &children.by, &[], &outcome).await
    }

    /// Tells a caller in another program how its task ended.
    pub(super) async fn tell_elsewhere(&self, url: &str, task: &SessionId, outcome: ChildOutcome) {
        let Some(wire) = self.elsewhere.as_deref() else { return };
        let outcome = TaskOutcome { ok: outcome.ok, text: outcome.text, usage: outcome.usage };
        if let Err(error) = within(WITHIN, || wire.tell(url, task, &outcome)).await {
            // The address is not logged: with it, anyone could send an outcome.
            tracing::warn!(%task, %error, "an outcome cannot be sent; its caller may ask for it");
        }
    }
}

/// Returns the outcome of a child in another program, with its text shortened to 8 times `OUTCOME_CHARS_MAX`.
pub(crate) fn outcome_of(index: u32, names: &ChildNames, outcome: TaskOutcome) -> ChildOutcome {
    ChildOutcome {
        index,
        session: Some(names.id.clone()),
        ok: outcome.ok,
        text: in_part(&outcome.text, KEPT_CHARS_MAX),
        usage: outcome.usage,
    }
}

/// Repeats a request until it succeeds, fails for good, or `time` is over.
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
