//! A worker that claims due sessions continuously, and runs each in a task of its own.

use std::future::pending;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use holdover_core::engine::{Drain, RunOutcome, STATE_FORMAT};
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{StateFormat, TenantId};
use holdover_core::store::{ClaimDue, Queues, StateStore, StoreError, Watch};
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::drive::{self, Leaving, Plan};
use crate::error::RuntimeError;
use crate::hint::Hint;
use crate::host::{Bell, Claimed, draw_run};
use crate::runtime::Runtime;

/// The pause after a hint that brought nothing. It grows from `GAP` to `GAP_MAX` while such hints keep coming.
const GAP: Duration = Duration::from_millis(5);
const GAP_MAX: Duration = Duration::from_millis(100);

/// The pauses between looks at the store when none of the due sessions can be run here. After a hint, the pause
/// grows from `ASIDE` to `ASIDE_MAX`. Without a hint, it grows from the poll interval to `ASIDE_UNHINTED_MAX`.
const ASIDE: Duration = Duration::from_millis(100);
const ASIDE_MAX: Duration = Duration::from_secs(1);
const ASIDE_UNHINTED_MAX: Duration = Duration::from_secs(5);

/// The maximum interval at which other workers are expected to look.
const OTHERS_FIRST_MAX: Duration = Duration::from_secs(1);

/// The time that the worker waits at shutdown for the answer to a claim request that it has sent.
const LAST_ANSWER: Duration = Duration::from_secs(2);

/// Options of a [`Worker`]: which sessions it serves, how many at once, and how it stops.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkerOptions {
    /// The maximum number of sessions that run at once.
    pub max_running: NonZeroUsize,
    /// The queues that are served. `Queues::All` stands for the queues of the agents that are found here
    /// ([`AgentSource::queues`](crate::AgentSource::queues)).
    pub queues: Queues,
    /// The newest state format that is read. Sessions with a newer state format are not claimed.
    pub newest_format: StateFormat,
    /// The interval at which the store is asked if it gives no hints. Values below 100 ms count as 100 ms.
    /// With at least a second, an idle worker causes almost no load.
    pub poll: Duration,
    /// True if the worker listens to the store's hints, and looks at the store when an alarm rings that this runtime has
    /// set. Otherwise it looks once in each [`poll`](Self::poll), and again at once after it has found something.
    pub hints: bool,
    /// The tenant whose sessions are served. `None` stands for all tenants.
    pub tenant: Option<TenantId>,
    /// The point up to which runs go on after a shutdown was requested. They then leave their sessions due at once,
    /// and other workers go on with them. With [`Drain::Calls`], the default, nothing more starts, and calls that are
    /// in flight are awaited.
    pub drain: Drain,
    /// The maximum time for the runs to leave. Runs that are still open after it are dropped. Other workers take
    /// their sessions over once the leases have ended. An at-most-once call that was in flight is then in doubt.
    pub shutdown_grace: Duration,
}

holdover_core::setters! { WorkerOptions {
    max_running: NonZeroUsize,
    queues: Queues,
    newest_format: StateFormat,
    poll: Duration,
    hints: bool,
    drain: Drain,
    shutdown_grace: Duration,
} into {
    tenant: Option<TenantId>,
} }

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            max_running: NonZeroUsize::new(16).unwrap_or(NonZeroUsize::MIN),
            queues: Queues::All,
            newest_format: STATE_FORMAT,
            poll: Duration::from_secs(1),
            hints: true,
            tenant: None,
            drain: Drain::default(),
            shutdown_grace: Duration::from_secs(30),
        }
    }
}

impl WorkerOptions {
    /// The interval at which a [net](Self::net) looks at the store.
    pub const NET_POLL: Duration = Duration::from_secs(30);

    /// Returns the options of a worker beside a [durable engine](crate::Engine). It runs sessions that the engine was
    /// not told of: it looks at the store every 30 seconds, and ignores its hints, so that it seldom comes before the
    /// engine.
    pub fn net() -> Self {
        Self { poll: Self::NET_POLL, hints: false, ..Self::default() }
    }

    /// Listens for sessions that become due, for at most `at_most`.
    async fn listen(&self, store: &Arc<dyn StateStore>, at_most: Duration) -> Hint {
        if self.hints { Hint::listen(store, Watch::Due, at_most).await } else { Hint::deaf(at_most) }
    }
}

/// A worker. It claims due sessions continuously, and runs them. Any number of workers may serve one store.
#[derive(Debug, Clone)]
pub struct Worker {
    runtime: Runtime,
    options: WorkerOptions,
}

impl Worker {
    /// Creates a worker of `runtime`.
    pub fn new(runtime: Runtime, mut options: WorkerOptions) -> Self {
        options.poll = options.poll.max(GAP_MAX);
        if options.queues == Queues::All {
            options.queues = runtime.agents().queues();
        }
        Self { runtime, options }
    }

    /// Does the same as [`run`](Self::run) in a new task. Await the handle after you have cancelled `shutdown`.
    pub fn spawn(self, shutdown: CancellationToken) -> JoinHandle<usize> {
        tokio::spawn(async move { self.run(shutdown).await })
    }

    /// Works until `shutdown` is cancelled, or until the runtime [drains](Runtime::drain). From then on, the worker
    /// claims nothing, and its runs go on as far as [`drain`](WorkerOptions::drain) says. Their sessions are then
    /// left to other workers, suspended and due at once. After a store error, the worker logs the error, waits and
    /// retries, so it survives restarts of its store.
    ///
    /// Returns the number of runs that were dropped because they did not end within
    /// [`shutdown_grace`](WorkerOptions::shutdown_grace). Others take their sessions over.
    pub async fn run(&self, shutdown: CancellationToken) -> usize {
        // The runtime can stop the worker, too.
        let stop = shutdown.child_token();
        let work = async {
            let mut running = JoinSet::new();
            self.work(&mut running, &stop, &shutdown).await;
            self.finish(running).await
        };
        let stopped = async {
            self.runtime.host().drains().await;
            stop.cancel();
            pending().await
        };
        tokio::select! {
            left = work => left,
            never = stopped => never,
        }
    }

    /// Claims and starts runs until `shutdown` is cancelled. `told` tells the runs to leave.
    async fn work(&self, running: &mut JoinSet<()>, shutdown: &CancellationToken, told: &CancellationToken) {
        let mut gap = Backoff::new(GAP, GAP_MAX);
        let mut stumble = Backoff::store();
        let mut aside = Aside::new(self.options.poll);
        while !shutdown.is_cancelled() {
            while let Some(ended) = running.try_join_next() {
                note(ended);
            }
            let free = self.options.max_running.get() - running.len().min(self.options.max_running.get());
            if free == 0 {
                if let Some(Some(ended)) = shutdown.run_until_cancelled(running.join_next()).await {
                    note(ended);
                }
                continue;
            }
            let store = self.runtime.store().clone();
            // Listen before the claim, so that no session that becomes due in between is missed.
            let mut hint = self.options.listen(&store, self.options.poll).await;
            let mut bell = self.runtime.host().listen_for_alarms();
            let claims = tokio::select! {
                claims = self.claim(free) => claims,
                () = last_answer_is_late(shutdown) => return,
            };
            let claims = match claims {
                Ok(claims) => claims,
                Err(error) => {
                    tracing::warn!(%error, "worker: nothing claimed");
                    let pause = stumble.take().max(self.options.poll.min(Duration::from_secs(1)) / 4);
                    shutdown.run_until_cancelled(sleep(pause)).await;
                    continue;
                }
            };
            stumble = Backoff::store();
            let (left_alone, claims): (Vec<_>, Vec<_>) =
                claims.into_iter().partition(|claimed| self.runtime.host().leaves_alone(&claimed.claim));
            if !left_alone.is_empty() {
                self.give_back_again(left_alone).await;
                if claims.is_empty() {
                    shutdown.run_until_cancelled(aside.wait(&store, &self.options)).await;
                    continue;
                }
            }
            aside = Aside::new(self.options.poll);
            if claims.is_empty() {
                // The pause grows while hints bring nothing.
                match shutdown.run_until_cancelled(self.told(&mut hint, &mut bell)).await {
                    Some(true) => sleep(gap.take()).await,
                    Some(false) => {
                        gap = Backoff::new(GAP, GAP_MAX);
                        let others_first =
                            self.runtime.host().others_first(self.options.poll.min(OTHERS_FIRST_MAX));
                        if !others_first.is_zero() {
                            let mut hint = self.options.listen(&store, others_first).await;
                            shutdown.run_until_cancelled(hint.heard()).await;
                        }
                    }
                    None => {}
                }
                continue;
            }
            gap = Backoff::new(GAP, GAP_MAX);
            for claimed in claims {
                let (runtime, leaving) =
                    (self.runtime.clone(), Leaving::when(told.clone(), self.options.drain));
                running.spawn(async move { serve(runtime, claimed, leaving).await });
            }
        }
    }

    /// Returns true once a session may have become due, and false when the time of `hint` is over.
    async fn told(&self, hint: &mut Hint, bell: &mut Bell) -> bool {
        if !self.options.hints {
            return hint.heard().await;
        }
        tokio::select! {
            told = hint.heard() => told,
            () = bell.rings(|| self.runtime.host().now()) => true,
        }
    }

    async fn claim(&self, free: usize) -> Result<Vec<Claimed>, StoreError> {
        let due = ClaimDue {
            runs: (0..free).map(|_| draw_run()).collect(),
            worker: self.runtime.worker_id().clone(),
            lease: self.runtime.options().lease,
            queues: self.options.queues.clone(),
            newest_format: self.options.newest_format,
            tenant: self.options.tenant.clone(),
        };
        let asked = Instant::now();
        // A request whose answer was lost is not repeated: the leases that it got end by themselves.
        let claims = self.runtime.store().claim_due(due).await?;
        if let Some(claim) = claims.first() {
            self.runtime.host().hear(claim.now);
        }
        Ok(claims.into_iter().map(|claim| Claimed::new(claim, asked)).collect())
    }

    /// Gives back at once the sessions that were given back here a short time ago, so that a worker that can run
    /// them gets them. They are not tried again here.
    async fn give_back_again(&self, claims: Vec<Claimed>) {
        let why = ErrorInfo::new("runtime.left_alone", "this worker could not run it a moment ago");
        let given =
            claims.iter().map(|claimed| self.runtime.host().give_back(claimed, claimed.claim.now, &why));
        join_all(given).await;
    }

    async fn finish(&self, mut running: JoinSet<()>) -> usize {
        let all = async {
            while let Some(ended) = running.join_next().await {
                note(ended);
            }
        };
        if timeout(self.options.shutdown_grace, all).await.is_ok() {
            return 0;
        }
        let left = running.len();
        tracing::warn!(runs = left, "worker: dropped at shutdown, to be taken over");
        running.shutdown().await;
        left
    }
}

/// The pauses of a worker that found only due sessions that it leaves alone. These sessions are due at every look,
/// so the pauses grow until there is other work.
struct Aside {
    hinted: Backoff,
    unhinted: Backoff,
}

impl Aside {
    fn new(poll: Duration) -> Self {
        Self {
            hinted: Backoff::new(ASIDE, ASIDE_MAX),
            unhinted: Backoff::new(poll, ASIDE_UNHINTED_MAX.max(poll)),
        }
    }

    /// Waits after the sessions were given back. Giving them back is no reason to look again at once.
    async fn wait(&mut self, store: &Arc<dyn StateStore>, options: &WorkerOptions) {
        let mut hint = options.listen(store, self.unhinted.take()).await;
        if hint.heard().await {
            sleep(self.hinted.take()).await;
        }
    }
}

/// Waits until [`LAST_ANSWER`] has passed since the shutdown was requested. Until then, the worker waits for the answer
/// to its last claim request, and gives the claims back. If it dropped the claims, their sessions would stay untouched
/// until the leases have ended. The worker does not wait longer for a store that is silent.
async fn last_answer_is_late(shutdown: &CancellationToken) {
    shutdown.cancelled().await;
    sleep(LAST_ANSWER).await;
}

/// Serves one claim until the run exits.
async fn serve(runtime: Runtime, claimed: Claimed, leaving: Leaving) {
    let fence = claimed.claim.fence.clone();
    let session = &claimed.claim.session;
    if leaving.is_told() {
        let why = ErrorInfo::new("runtime.stopping", "the worker was told to stop");
        return runtime.host().give_back(&claimed, claimed.claim.now, &why).await;
    }
    let plan = match runtime.agent_to_run(&fence.key, &session.queue, &session.definition).await {
        Ok(agent) => Plan::Run(agent),
        // No agent is needed to end a session.
        Err(_) if claimed.claim.interrupt().is_some() => Plan::End,
        Err(error) => {
            let alarm = claimed.claim.now.after(runtime.host().give_back_for(session));
            tracing::warn!(
                session = %fence.key, queue = %session.queue, %error, until = %alarm,
                "worker: a session that is due cannot be run here; given back"
            );
            let why = ErrorInfo::new("runtime.agent_unknown", error.to_string());
            return runtime.host().give_back(&claimed, alarm, &why).await;
        }
    };
    match drive::run(runtime.run_context(), claimed, plan, leaving).await {
        Ok(RunOutcome::Lost) => tracing::info!(run = %fence, "worker: the session was taken over"),
        // The run itself logs how it ended.
        Ok(
            RunOutcome::Ended(_)
            | RunOutcome::Suspended(_)
            | RunOutcome::BackingOff { .. }
            | RunOutcome::Released,
        ) => {}
        Err(RuntimeError::Start(error)) => {
            tracing::error!(run = %fence, %error, "worker: cannot be taken up")
        }
        Err(error) => tracing::error!(run = %fence, %error, "worker: run broke down"),
    }
}

/// Logs a panic of a run. Other runs go on. The session of the run is taken over when the lease has ended.
fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "worker: a run panicked");
    }
}
