//! The virtual object of a session.

use holdover_core::ids::{QueueLabel, SessionKey};
use holdover_core::store::SessionStatus;
use holdover_runtime_local::{Runtime, RuntimeErrorKind};
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::{
    ContextClient as _, ContextReadState as _, ContextWriteState as _, HandlerError, Json, ObjectContext,
    SharedObjectContext, TerminalError,
};
use serde::{Deserialize, Serialize};

use crate::cancelled::{Cancelled, run_or_cancelled};
use crate::names::session_key;
use crate::places::Places;
use crate::report::{Report, Then, now_ms, pause};
use crate::timer::{Timer, Timers};

/// The exclusive handler, which serves the session.
pub(crate) const WAKE: &str = "wake";

/// The shared handler, and the key of the object's state that it reads.
pub(crate) const STATUS: &str = "status";

/// The other keys of the object's state.
const QUEUE: &str = "queue";
const TIMER: &str = "timer";
const FAILURES: &str = "failures";

/// The input of `wake`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wake {
    /// The timer that calls: the invocation that sent the delayed call. `None` for a wake-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timer: Option<String>,
}

/// The objects of the sessions of one agent.
pub(crate) struct Sessions {
    runtime: Runtime,
    queue: QueueLabel,
    pub(crate) service: String,
    /// The places of the runs in this process.
    places: Places,
}

impl Sessions {
    pub(crate) fn new(runtime: Runtime, queue: QueueLabel, service: String, places: &Places) -> Self {
        Self { runtime, queue, service, places: places.clone() }
    }
}

#[restate_sdk::object(client_visibility = "pub(crate)")]
impl Sessions {
    /// Serves the session once.
    #[handler]
    pub(crate) async fn wake(
        &self,
        ctx: ObjectContext<'_>,
        Json(wake): Json<Wake>,
    ) -> Result<(), HandlerError> {
        let Some(key) = session_key(ctx.key()) else {
            return Err(TerminalError::new_with_code(400, "no session has this key").into());
        };
        let state = State::read(&ctx).await;
        let outdated =
            wake.timer.is_some() && wake.timer != state.timer.as_ref().map(|timer| timer.by.clone());
        if outdated && !state.cancelled {
            return Ok(());
        }
        let mut cancelled = state.cancelled;
        let report = loop {
            if cancelled {
                // A second cancellation interrupts again.
                while run_or_cancelled(&ctx, "interrupt", self.interrupt(&key)).await.is_err() {}
            }
            match run_or_cancelled(&ctx, "serve", self.serve(&key)).await {
                Ok(report) => break report,
                Err(Cancelled) => cancelled = true,
            }
        };
        let timers = Timers::new(state.timer, wake.timer.is_some() && !outdated, report.now_ms);
        self.conclude(&ctx, timers, state.failures, &report);
        Ok(())
    }

    /// Returns the status of the session when it was served last. `null` if Restate knows nothing of it.
    #[handler]
    pub(crate) async fn status(
        &self,
        ctx: SharedObjectContext<'_>,
    ) -> Result<Json<Option<SessionStatus>>, HandlerError> {
        Ok(Json(ctx.get::<Json<SessionStatus>>(STATUS).await?.map(|Json(status)| status)))
    }
}

impl Sessions {
    async fn serve(&self, key: &SessionKey) -> Report {
        let (runtime, named) = (self.runtime.clone(), key.clone());
        match self.places.perform(key, async move { runtime.serve(&named).await }).await {
            Some(Ok(served)) => Report::of(served, now_ms()),
            Some(Err(error)) => {
                tracing::warn!(session = %key, %error, "not served; Restate tries it again");
                Report::later(now_ms())
            }
            None => {
                tracing::error!(session = %key, "not served, because of a panic; Restate tries it again");
                Report::later(now_ms())
            }
        }
    }

    /// Interrupts the session. While the store does not answer, tries again.
    async fn interrupt(&self, key: &SessionKey) {
        let mut failures = 0u32;
        loop {
            let Err(error) = self.runtime.interrupt(key, "cancelled in Restate").await else { return };
            if error.kind() != RuntimeErrorKind::Unavailable {
                tracing::warn!(session = %key, %error, "cancelled in Restate, but not interrupted");
                return;
            }
            tracing::warn!(session = %key, %error, "cancelled in Restate, but not interrupted yet; tried again");
            tokio::time::sleep(pause(failures)).await;
            failures = failures.saturating_add(1);
        }
    }

    /// Writes what Restate shows of the session, and sets its timer. Waits for nothing, so that no cancellation comes in
    /// between. All that Restate compares when the handler is repeated follows from the state and the report, which are in the
    /// journal.
    fn conclude(&self, ctx: &ObjectContext<'_>, timers: Timers, failures: u32, report: &Report) {
        let foreign = report.queue.as_ref().is_some_and(|queue| *queue != self.queue);
        let at_end = matches!(report.status, Some(SessionStatus::Idle | SessionStatus::Aborted));
        match report.then {
            Then::Gone => return ctx.clear_all(),
            Then::Rests if at_end => return ctx.clear_all(),
            // A session that was deleted and created again has another agent, whose object was woken.
            Then::Rests | Then::Waits | Then::At(_) | Then::Later if foreign => return ctx.clear_all(),
            Then::Later => ctx.set(FAILURES, failures.saturating_add(1)),
            Then::Rests | Then::Waits | Then::At(_) => {
                if failures > 0 {
                    ctx.clear(FAILURES);
                }
            }
        }
        match report.next_ms(failures) {
            Some(at_ms) => self.set_timer(ctx, timers, at_ms, report.now_ms),
            None => ctx.clear(TIMER),
        }
        if let Some(status) = report.status {
            ctx.set(STATUS, Json(status));
        }
        if let Some(queue) = &report.queue {
            ctx.set(QUEUE, Json(queue.clone()));
        }
    }

    fn set_timer(&self, ctx: &ObjectContext<'_>, timers: Timers, at_ms: u64, reported_ms: u64) {
        let Some(timer) = timers.next(ctx.invocation_id(), at_ms, reported_ms) else { return };
        let call = Wake { timer: Some(timer.by.clone()) };
        // Restate does not compare the delay when a handler is repeated.
        let delay = timer.delay(now_ms());
        ctx.set(TIMER, Json(timer));
        let target = RequestTarget::object(&self.service, ctx.key(), WAKE);
        let _sent = ctx.request::<_, ()>(target, Json(call)).send_after(delay);
    }
}

/// The state of the object.
struct State {
    timer: Option<Timer>,
    failures: u32,
    /// True if the call was cancelled while its state was read.
    cancelled: bool,
}

impl State {
    async fn read(ctx: &ObjectContext<'_>) -> Self {
        let mut cancelled = false;
        let timer = loop {
            match ctx.get::<Json<Timer>>(TIMER).await {
                Ok(timer) => break timer.map(|Json(timer)| timer),
                Err(_) => cancelled = true,
            }
        };
        let failures = loop {
            match ctx.get::<u32>(FAILURES).await {
                Ok(failures) => break failures.unwrap_or_default(),
                Err(_) => cancelled = true,
            }
        };
        Self { timer, failures, cancelled }
    }
}
