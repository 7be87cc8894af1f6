//! The workflow of a session. It decides only when the session is served.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;
use holdover_core::store::SessionStatus;
use temporalio_common::RetryPolicy;
use temporalio_common::search_attributes::SearchAttributeKey;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::workflows::select;
use temporalio_sdk::{
    ActivityExecutionError, ActivityOptions, ContinueAsNewOptions, SyncWorkflowContext, TimerOptions,
    WaitConditionOptions, WorkflowCancellationToken, WorkflowContext, WorkflowResult, WorkflowTermination,
};

use crate::STATUS_ATTRIBUTE;
use crate::activities::Activities;
use crate::ids::{interrupts_of, task_queue_of};
use crate::pauses::Pauses;
use crate::words::{Answer, Order, Then};

#[cfg(test)]
mod tests;

/// The search attribute for the status of the session.
pub(crate) const STATUS: SearchAttributeKey<String> = SearchAttributeKey::keyword(STATUS_ATTRIBUTE);

/// The maximum time for which one attempt awaits a run. A run that goes on for longer is awaited by the next attempt.
const RUN_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The pauses between attempts if no worker can run the session, and after failures.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The workflow of a session that has work, or waits.
#[workflow]
pub(crate) struct SessionWorkflow {
    /// True if a signal came since the last call of `serve` began.
    woken: bool,
    /// The heartbeat time-out: after this time without a heartbeat of an activity, Temporal lets another worker try.
    heartbeat: Duration,
}

impl SessionWorkflow {
    pub(crate) fn new(heartbeat: Duration) -> Self {
        Self { woken: false, heartbeat }
    }
}

#[workflow_methods(factory_only)]
impl SessionWorkflow {
    /// Serves the session until it rests. Returns its status.
    #[run(name = "HoldoverSession")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, mut order: Order) -> WorkflowResult<String> {
        let mut pauses = Pauses::new(PAUSE, PAUSE_MAX);
        loop {
            ctx.state_mut(|session| session.woken = false);
            show(ctx, &order, SessionStatus::Active);
            let answer = match serve(ctx, &mut order).await {
                Ok(answer) => answer,
                // Temporal has given the activity up. The run may go on, or another worker may take the session over.
                Err(_) => Answer { then: Then::TryAgain, status: None, queue: None },
            };
            if let Some(status) = answer.status {
                show(ctx, &order, status);
            }
            let woken = ctx.state(|session| session.woken);
            if answer.then == Then::End && !woken {
                let status = answer.status.map_or("gone", SessionStatus::as_str).to_owned();
                return if order.interrupted { Err(WorkflowTermination::cancelled()) } else { Ok(status) };
            }
            let moved = answer.queue.filter(|queue| *queue != order.queue);
            if moved.is_some() || ctx.continue_as_new_suggested() || ctx.history_length() >= order.events_max
            {
                let options = ContinueAsNewOptions::builder()
                    .maybe_task_queue(moved.as_ref().map(task_queue_of))
                    .build();
                let order = Order { queue: moved.unwrap_or(order.queue), ..order };
                match ctx.continue_as_new(order, options)? {}
            }
            let pause = match answer.then {
                Then::End => None,
                Then::Wait => {
                    pauses = Pauses::new(PAUSE, PAUSE_MAX);
                    Some(None)
                }
                Then::AfterMs(after) if Duration::from_millis(after) > PAUSE => {
                    pauses = Pauses::new(PAUSE, PAUSE_MAX);
                    Some(Some(Duration::from_millis(after)))
                }
                // The run made progress, and left the session due: a message waits, for example.
                Then::AfterMs(0) => {
                    pauses = Pauses::new(PAUSE, PAUSE_MAX);
                    None
                }
                Then::AfterMs(_) | Then::TryAgain => Some(Some(pauses.take())),
            };
            if let Some(at_most) = pause {
                wait(ctx, &mut order, at_most).await;
            }
        }
    }

    /// Tells the workflow that the session may have work.
    #[signal(name = "wake")]
    pub(crate) fn wake(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _nothing: ()) {
        self.woken = true;
    }
}

type Context = WorkflowContext<SessionWorkflow>;

/// Lets a worker of the session's queue serve the session once. A cancellation of the workflow interrupts the session
/// meanwhile.
async fn serve(ctx: &Context, order: &mut Order) -> Result<Answer, ActivityExecutionError> {
    let serving = ctx.execute_activity(Activities::serve, order.key.clone(), activity(ctx, None));
    let mut serving = pin!(serving);
    if !order.interrupted {
        select! {
            served = serving => return served,
            _ = ctx.cancelled() => interrupt(ctx, order).await,
        }
    }
    serving.await
}

/// Shows the status in Temporal.
fn show(ctx: &Context, order: &Order, status: SessionStatus) {
    let status = status.as_str().to_owned();
    if order.shows && ctx.search_attributes().get(&STATUS).as_ref() != Some(&status) {
        ctx.upsert_search_attributes([STATUS.value_set(status)]);
    }
}

/// Waits for a signal, a cancellation, or the end of the time. A cancellation interrupts the session.
async fn wait(ctx: &Context, order: &mut Order, at_most: Option<Duration>) {
    // At the end, the timer and the condition are cancelled by this token. A cancellation of the workflow cancels neither.
    let over = WorkflowCancellationToken::new();
    let asked_before = order.interrupted;
    let (timer, condition) = (over.clone(), over.clone());
    let time = async move {
        match at_most {
            Some(after) => {
                ctx.timer(TimerOptions::builder(after).cancellation_token(timer).build()).await;
            }
            None => pending().await,
        }
    };
    let asked = async move { if asked_before { pending().await } else { drop(ctx.cancelled().await) } };
    let condition = WaitConditionOptions::builder().cancellation_token(condition).build();
    let woken = ctx.wait_condition_with_options(|session: &SessionWorkflow| session.woken, condition);
    let (mut time, mut asked, mut woken) = (pin!(time.fuse()), pin!(asked.fuse()), pin!(woken));
    let cancelled = select! {
        _ = woken => false,
        _ = time => false,
        () = asked => true,
    };
    over.cancel();
    if cancelled {
        interrupt(ctx, order).await;
    }
}

/// Interrupts the session, once.
async fn interrupt(ctx: &Context, order: &mut Order) {
    order.interrupted = true;
    // If Temporal gives the activity up, the session goes on: the person sees that and can interrupt it directly.
    let options = activity(ctx, Some(interrupts_of(&order.queue)));
    let _ = ctx.execute_activity(Activities::interrupt, order.key.clone(), options).await;
}

/// Returns the options of an activity on the workflow's own queue, or on another. A cancellation of the workflow does not
/// reach it.
fn activity(ctx: &Context, queue: Option<String>) -> ActivityOptions {
    let retries = RetryPolicy::builder().initial_interval(PAUSE).maximum_interval(PAUSE_MAX).build();
    ActivityOptions::with_start_to_close_timeout(RUN_MAX)
        .heartbeat_timeout(ctx.state(|session| session.heartbeat))
        .retry_policy(retries)
        .maybe_task_queue(queue)
        .cancellation_token(WorkflowCancellationToken::new())
        .build()
}
