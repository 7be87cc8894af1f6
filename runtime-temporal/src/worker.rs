//! The worker: serves sessions when Temporal asks for it.

use std::time::Duration;

use holdover_core::ids::QueueLabel;
use holdover_core::store::Queues;
use holdover_runtime_local::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::error::TemporalError;
use crate::options::TemporalOptions;
use crate::pauses::Pauses;
use crate::sdk::{self, Plan};

/// The pauses before the thread of the SDK is started again.
const RESTART: Duration = Duration::from_millis(500);
const RESTART_MAX: Duration = Duration::from_secs(10);

/// The time after which a thread counts as sound: if it fails later, the pauses begin anew.
const SOUND: Duration = Duration::from_secs(60);

/// The time for the last answers to reach Temporal, after the runs have left.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// A worker that serves sessions when Temporal asks for it. Any number of workers may serve one namespace and one store.
///
/// It has a thread of its own for Temporal's SDK; the runs are tasks of the program's runtime. If the SDK fails, for
/// example because Temporal is down, the runs go on, and the thread is started again.
#[derive(Debug, Clone)]
pub struct TemporalWorker {
    runtime: Runtime,
    options: TemporalOptions,
    queues: Vec<QueueLabel>,
}

impl TemporalWorker {
    /// Creates a worker of `runtime`. Connects to nothing yet.
    ///
    /// # Errors
    /// The worker would serve [no queue](TemporalError::NoQueues), or send its API key
    /// [unencrypted](TemporalError::Unencrypted).
    pub fn new(runtime: Runtime, options: TemporalOptions) -> Result<Self, TemporalError> {
        options.check()?;
        let queues = match runtime.queues() {
            Queues::Named(named) if options.queues.is_empty() => named,
            Queues::Named(_) | Queues::All => options.queues.clone(),
        };
        if queues.is_empty() {
            return Err(TemporalError::NoQueues { engine: options.address() });
        }
        Ok(Self { runtime, options, queues })
    }

    /// Does the same as [`run`](Self::run) in a new task. Await the handle after you have cancelled `shutdown`.
    pub fn spawn(self, shutdown: CancellationToken) -> JoinHandle<usize> {
        tokio::spawn(async move { self.run(shutdown).await })
    }

    /// Works until `shutdown` is cancelled. From then on, the worker accepts no more sessions, and the runtime
    /// [drains](Runtime::drain): all its runs go on as far as [`drain`](TemporalOptions::drain) says. Their sessions are
    /// then left to other workers. If Temporal fails, the worker logs the error, waits and tries again.
    ///
    /// Returns the number of runs that were dropped because they did not end within
    /// [`shutdown_grace`](TemporalOptions::shutdown_grace). Others take their sessions over.
    pub async fn run(&self, shutdown: CancellationToken) -> usize {
        let (stop, abandon, ended) =
            (shutdown.child_token(), CancellationToken::new(), CancellationToken::new());
        // If this future is dropped, the thread ends.
        let _abandoned = abandon.clone().drop_guard();
        let plan = Plan {
            runtime: self.runtime.clone(),
            options: self.options.clone(),
            queues: self.queues.clone(),
            stop: stop.clone(),
            abandon: abandon.clone(),
        };
        let work = async {
            self.work(plan).await;
            ended.cancel();
        };
        let leave = async {
            stop.cancelled().await;
            let dropped = self.runtime.drain(self.options.drain, self.options.shutdown_grace).await;
            if timeout(LAST_ANSWERS, ended.cancelled()).await.is_err() {
                abandon.cancel();
            }
            dropped
        };
        tokio::join!(work, leave).1
    }

    /// Serves until the plan says to stop. Restarts the thread of the SDK when it fails.
    async fn work(&self, plan: Plan) {
        let mut pauses = Pauses::new(RESTART, RESTART_MAX);
        while !plan.stop.is_cancelled() {
            let began = Instant::now();
            let error = match sdk::serve(plan.clone()).await {
                Ok(()) if plan.stop.is_cancelled() => return,
                Ok(()) => "the worker of the SDK ended".to_owned(),
                Err(error) => error,
            };
            if began.elapsed() > SOUND {
                pauses = Pauses::new(RESTART, RESTART_MAX);
            }
            let pause = pauses.take();
            tracing::warn!(
                engine = self.options.address(),
                error,
                again_in_ms = pause.as_millis(),
                "the worker of Temporal failed; it starts again"
            );
            plan.stop.run_until_cancelled(sleep(pause)).await;
        }
    }
}
