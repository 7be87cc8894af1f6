//! The activities, which a workflow has this process perform.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::SessionKey;
use holdover_runtime_local::{Runtime, RuntimeError};
use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::words::Answer;

/// The reason of an interrupt that a person requested at Temporal.
const CANCELLED: &str = "the workflow was cancelled in Temporal";

/// The number of heartbeats within the heartbeat time-out of an activity.
const HEARTBEATS: u32 = 3;

/// The interval of heartbeats if the activity has no heartbeat time-out.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The activities of a worker.
pub(crate) struct Activities {
    runtime: Runtime,
    /// The runtime of the program. What runs there goes on if the thread of the SDK ends.
    program: Handle,
}

impl Activities {
    pub(crate) fn new(runtime: Runtime, program: Handle) -> Self {
        Self { runtime, program }
    }

    /// Runs `work` in the program's runtime, with heartbeats. If Temporal gives the activity up, the work goes on, and
    /// nobody waits for it.
    async fn attended<T: Send + 'static>(
        &self,
        context: &ActivityContext,
        key: &SessionKey,
        work: impl Future<Output = Result<T, RuntimeError>> + Send + 'static,
    ) -> Result<T, ActivityError> {
        let mut work: JoinHandle<_> = self.program.spawn(work);
        let every = context.info().heartbeat_timeout.map_or(HEARTBEAT, |timeout| timeout / HEARTBEATS);
        let mut beat = interval(every.max(Duration::from_millis(100)));
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                () = context.cancelled() => return Err(ActivityError::cancelled()),
                _ = beat.tick() => context.record_heartbeat(()).await?,
            }
        };
        // Temporal keeps the failure, so it has no detail: a detail may quote text of the session.
        match done {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                tracing::warn!(session = %key, %error, "not served; Temporal tries again");
                Err(failure("the session could not be served; the log of the worker has the reason"))
            }
            Err(error) => {
                tracing::error!(session = %key, %error, "serving broke down; Temporal tries again");
                Err(failure("serving the session broke down; the log of the worker has the reason"))
            }
        }
    }
}

fn failure(words: &'static str) -> ActivityError {
    ActivityError::application(ApplicationFailure::new(Failed(words)))
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(&'static str);

#[activities]
impl Activities {
    /// Serves the session once: one run, from claim to exit.
    #[activity(name = "serve")]
    pub(crate) async fn serve(
        self: Arc<Self>,
        context: ActivityContext,
        key: SessionKey,
    ) -> Result<Answer, ActivityError> {
        let (runtime, named) = (self.runtime.clone(), key.clone());
        let served = self.attended(&context, &key, async move { runtime.serve(&named).await }).await?;
        Ok(served.into())
    }

    /// Interrupts the session's turn. The session stays usable.
    #[activity(name = "interrupt")]
    pub(crate) async fn interrupt(
        self: Arc<Self>,
        context: ActivityContext,
        key: SessionKey,
    ) -> Result<(), ActivityError> {
        let (runtime, named) = (self.runtime.clone(), key.clone());
        let interrupted = async move {
            match runtime.interrupt(&named, CANCELLED).await {
                Ok(_) | Err(RuntimeError::NotFound { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        };
        self.attended(&context, &key, interrupted).await
    }
}
