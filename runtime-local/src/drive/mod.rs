//! The driver of one run. It asks core's step iterator for the next action, performs it, and reports the result.
//! All actions that are in flight live in this future: dropping it drops them.

mod calls;
mod came;
mod children;
mod context;
mod deltas;
mod done;
mod early;
mod leaving;
mod line;
mod model;
mod panicked;
mod perform;
mod phases;
mod plan;
mod provision;
mod renewal;
mod running;
mod shorten;
mod summary;
mod transactions;
mod transcript;
mod writes;

use std::sync::Arc;

use futures::StreamExt;
use futures::future::{AbortHandle, Abortable, BoxFuture, ready};
use futures::stream::FuturesUnordered;
use holdover_core::engine::{Action, Reply, RunOutcome, StartError, StepIterator};
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{Fence, MessageSeq, QueueLabel};
use holdover_core::payload::Payload;
use holdover_core::plan::Plan as Code;
use holdover_core::store::{Claim, Labels, StateStore};
use holdover_core::time::Timestamp;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use calls::Calls;
pub use children::ChildStanding;
pub(crate) use children::{has_ended, is_set_aside, outcome_elsewhere, successors};
pub(crate) use context::{Offspring, RunContext};
use deltas::Heard;
use done::Done;
use early::Early;
pub(crate) use leaving::Leaving;
use model::ModelOut;
use panicked::{AfterPanic, unless_panicked};
use renewal::Renewal;
use transactions::Transactions;
use transcript::Transcript;

use crate::agent::Agent;
use crate::clock::{Lease, StoreClock};
use crate::error::RuntimeError;
use crate::hooks::Watcher;
use crate::host::Claimed;
use crate::observer::RunObserver;
use crate::outage::{Outages, Patience};

/// The purpose of a claim.
pub(crate) enum Plan {
    /// To run the session with its agent.
    Run(Arc<Agent>),
    /// To run the session with its agent, because a caller asked for the session to go on.
    Resume(Arc<Agent>),
    /// To end the turn of a session whose run panicked.
    Fail(Arc<Agent>, ErrorInfo),
    /// To end a session that has an interrupt waiting, without its agent.
    End,
}

impl Plan {
    /// Returns true if the plan begins or continues a turn. Another run can do that instead.
    fn can_be_left(&self) -> bool {
        match self {
            Self::Run(_) | Self::Resume(_) => true,
            Self::Fail(..) | Self::End => false,
        }
    }
}

/// Drives a claimed session until its run exits, or until its runtime drops it. The run counts as open from this call
/// on. If the run was told to leave already and another run can follow the plan, gives the claim back.
pub(crate) fn run(
    cx: RunContext,
    claimed: Claimed,
    plan: Plan,
    leaving: Leaving,
) -> impl Future<Output = Result<RunOutcome, RuntimeError>> + Send {
    let mut open = cx.host.open_run();
    async move {
        let leaving = leaving.or_with(&cx.host);
        if leaving.is_told() && plan.can_be_left() {
            let why = ErrorInfo::new("runtime.stopping", "the program was told to stop");
            cx.host.give_back(&claimed, claimed.claim.now, &why).await;
            return Ok(RunOutcome::Released);
        }
        tokio::select! {
            biased;
            () = open.cut() => Ok(RunOutcome::Lost),
            outcome = run_or_fail(cx, claimed, plan, leaving) => outcome,
        }
    }
}

/// Runs the session. If the run panics, a second run under the same claim ends the turn with the error.
async fn run_or_fail(
    cx: RunContext,
    claimed: Claimed,
    plan: Plan,
    leaving: Leaving,
) -> Result<RunOutcome, RuntimeError> {
    let after_panic = AfterPanic::of(&cx, &claimed, &plan);
    match unless_panicked(one_run(cx, claimed, plan, leaving)).await {
        Ok(outcome) => outcome,
        Err(words) => after_panic.end(words).await,
    }
}

async fn one_run(
    cx: RunContext,
    claimed: Claimed,
    plan: Plan,
    leaving: Leaving,
) -> Result<RunOutcome, RuntimeError> {
    let clock = StoreClock::heard(claimed.asked, claimed.claim.now);
    let (agent, started) = start(claimed.claim.clone(), plan, clock);
    let steps = match started {
        Ok(steps) => steps,
        Err(error) => {
            cx.host.leave_unread(&claimed, &error, clock).await;
            return Err(RuntimeError::Start(error));
        }
    };
    cx.host.can_run(&claimed.claim);
    if !steps.machine().children().is_empty() {
        cx.offspring.tell_open();
    }
    let Claimed { claim, lease, asked: _ } = claimed;
    tracing::debug!(run = %claim.fence, found = %claim.found, "run begins");
    let (hears, heard) = mpsc::unbounded_channel();
    let watcher = agent.as_ref().and_then(|agent| Watcher::of(agent.hooks()));
    let observer = cx.host.options().observer.clone();
    let driver = Driver {
        outages: Outages::of(claim.fence.clone(), clock, observer.clone()),
        store: Arc::clone(cx.host.store()),
        renewal: Renewal::new(cx.host.options().lease),
        cx,
        agent,
        definition: (claim.session.queue, claim.session.definition),
        labels: claim.session.labels,
        fence: claim.fence,
        steps,
        clock,
        lease,
        transcript: Transcript::default(),
        out: FuturesUnordered::new(),
        model: None,
        code: None,
        calls: Calls::default(),
        early: Early::default(),
        watcher,
        writes_out: 0,
        releasing: 0,
        heard,
        hears,
        written: watch::Sender::new(claim.session.last_message),
        provisioning: CancellationToken::new(),
        leaving,
        transactions: Transactions::new(),
    };
    let fence = driver.fence.clone();
    let outcome = driver.drive().await;
    tracing::debug!(run = %fence, outcome = outcome.kind().as_str(), "run over");
    if let Some(observer) = observer {
        observer.on_run_over(&fence.key, &outcome);
    }
    Ok(outcome)
}

/// Begins a run. Fails if the state of the session cannot be read, or if this process cannot decode the session,
/// because its data would be written unencoded.
fn start(
    claim: Claim,
    plan: Plan,
    clock: StoreClock,
) -> (Option<Arc<Agent>>, Result<StepIterator, StartError>) {
    if let Some(encoding) = claim.session.definition.encoding() {
        let (key, detail) = (claim.session.key, encoding.to_string());
        return (None, Err(StartError { key, what: "definition", detail }));
    }
    let facts = clock.facts();
    match plan {
        Plan::Run(agent) => {
            let spec = Arc::clone(agent.spec());
            (Some(agent), StepIterator::start(claim, spec, facts))
        }
        Plan::Resume(agent) => {
            let spec = Arc::clone(agent.spec());
            (Some(agent), StepIterator::resume(claim, spec, facts))
        }
        Plan::Fail(agent, error) => {
            let spec = Arc::clone(agent.spec());
            (Some(agent), StepIterator::fail(claim, spec, error, facts))
        }
        Plan::End => (None, StepIterator::end(claim, facts)),
    }
}

struct Driver {
    cx: RunContext,
    store: Arc<dyn StateStore>,
    agent: Option<Arc<Agent>>,
    definition: (QueueLabel, Payload),
    labels: Labels,
    fence: Fence,
    steps: StepIterator,
    clock: StoreClock,
    lease: Lease,
    outages: Outages,
    renewal: Renewal,
    transcript: Transcript,
    /// All actions that are in flight.
    out: FuturesUnordered<Abortable<BoxFuture<'static, Done>>>,
    /// The model call that is in flight.
    model: Option<ModelOut>,
    /// The code that plans the session, while it waits.
    code: Option<Box<dyn Code>>,
    calls: Calls,
    /// Calls that were begun while the model was writing.
    early: Early,
    /// Reports transitions to hooks.
    watcher: Option<Watcher>,
    /// The number of commits and stagings that are in flight.
    writes_out: usize,
    /// The number of commits that are in flight and release the session. The lease ends with them.
    releasing: usize,
    /// The messages of running model calls, and the sender for them.
    heard: UnboundedReceiver<Heard>,
    hears: UnboundedSender<Heard>,
    /// The newest message that the store is known to have.
    written: watch::Sender<MessageSeq>,
    /// Cancelled once the turn no longer needs the environment that is being prepared.
    provisioning: CancellationToken,
    leaving: Leaving,
    transactions: Transactions,
}

impl Driver {
    fn observer(&self) -> Option<&dyn RunObserver> {
        self.cx.host.options().observer.as_deref()
    }

    /// Returns the terms on which the run waits for the store.
    fn patience(&self) -> Patience {
        Patience { lease: self.lease.clone(), outages: self.outages.clone() }
    }

    async fn drive(mut self) -> RunOutcome {
        loop {
            self.tell_moves();
            let action = self.steps.next_action();
            if let Action::Exit(outcome) = action {
                // If another run owns the session now, this run leaves immediately.
                if outcome != RunOutcome::Lost {
                    self.end_early().await;
                }
                if let Some(watcher) = self.watcher.take() {
                    watcher.finish().await;
                }
                return outcome;
            }
            if let Action::Await { until } = action {
                if !self.go_on_with_transactions() {
                    self.wait(until).await;
                }
            } else {
                self.perform(action);
            }
        }
    }

    /// Waits for the first event and handles it: an order to leave, a finished action or early call, news of a model
    /// call or of a transaction, the next renewal or look, the instant `until`, or a hint. While a transaction is open,
    /// what it does not need waits.
    async fn wait(&mut self, until: Option<Timestamp>) {
        let instant = until.map(|until| self.clock.instant(until));
        let (renew_at, look_at) = (self.renewal.due(), self.renewal.look_due());
        self.renewal.listen(&self.store, &self.fence.key).await;
        let free = !self.transactions.keep_back();
        let may_write = free || self.transactions.wait_for_write();
        let passing = self.transactions.are_passing();
        tokio::select! {
            biased;
            // First, because a finished action could begin the next one.
            drain = self.leaving.heard(), if free => self.drain(drain),
            Some(done) = self.out.next(), if !self.out.is_empty() => {
                // An error means that the action was aborted.
                if let Ok(done) = done {
                    self.take_or_keep(done);
                }
            }
            () = self.early.go_on(), if self.early.is_any_out() => {}
            Some(heard) = self.heard.recv() => self.on_heard(heard),
            Some(asked) = self.transactions.asked() => self.on_asked(asked),
            () = at(renew_at) => self.renew(),
            () = at(look_at), if free => self.look(),
            () = at(instant), if may_write => self.apply(Reply::TimePassed),
            hinted = self.renewal.hint(), if free => self.renewal.hinted(hinted, self.writes_out > 0),
            // Last, because everything that is ready comes before the next transaction.
            () = ready(()), if passing => self.transactions.passed(),
        }
    }

    fn apply(&mut self, reply: Reply) {
        self.steps.apply(reply, self.clock.facts());
        self.end_provisioning();
    }

    fn tell_moves(&mut self) {
        if let Some(watcher) = &mut self.watcher {
            self.steps.take_moves().into_iter().for_each(|moved| watcher.tell(moved));
        }
    }

    /// Runs a future until it is done, until the returned handle aborts it, or until the run is over.
    fn send(&mut self, future: impl Future<Output = Done> + Send + 'static) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        self.out.push(Abortable::new(Box::pin(future), registration));
        handle
    }

    /// Runs a future like [`send`](Self::send). Core may wait for its answer before it writes.
    fn ask(&mut self, future: impl Future<Output = Done> + Send + 'static) {
        let question = self.transactions.question();
        self.send(async move {
            let done = future.await;
            drop(question);
            done
        });
    }

    /// Takes over the lease, the clock and the newest message from the receipt of a renewal or a write.
    fn hear(&mut self, asked: Instant, repeated: bool, receipt: &holdover_core::store::Receipt) {
        self.lease.extend(asked, receipt);
        self.written.send_if_modified(|last| {
            let later = receipt.last_message > *last;
            *last = receipt.last_message.max(*last);
            later
        });
        // The answer to a repeated request is the first answer, which may be old.
        if !repeated {
            self.clock = StoreClock::heard(asked, receipt.now);
            self.cx.host.hear(receipt.now);
        }
    }
}

/// Waits until the instant. Without one, waits for ever.
async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
