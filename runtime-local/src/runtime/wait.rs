//! Waits for a session and for the children that it waits for. Meanwhile, runs those of them that are due, as a
//! worker does.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use holdover_core::engine::RunOutcome;
use holdover_core::ids::{InboxSeq, SessionKey};
use holdover_core::machine::Call;
use holdover_core::store::{Session, SessionStatus, Watch};
use holdover_core::time::Timestamp;
use tokio::time::{Instant, sleep};

use super::Runtime;
use super::handle::is_last_word;
use super::standing::{is_due, machine_of, only_looks, outcome_of};
use super::tree::runs::{Below, Ended, TreeRuns};
use crate::backoff::Backoff;
use crate::drive::{Leaving, Offspring, Plan};
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::hint::Hint;
use crate::host::Try;

/// The interval at which a store without hints is read.
const POLL: Duration = Duration::from_secs(1);

/// The interval at which a session is read whose message waits for its instant.
const POLL_LATER: Duration = Duration::from_secs(30);

/// The pause after a hint grows from `GAP` to `GAP_MAX` while hints keep coming.
const GAP: Duration = Duration::from_millis(1);
const GAP_MAX: Duration = Duration::from_millis(20);

impl Runtime {
    /// Waits until the turn has ended, or until the session and the children that it waits for can only go on if a
    /// person or a client answers. It also waits for agents of other programs. Meanwhile it runs those
    /// sessions that are due and that no other run holds, if their agents are found here, at most 16 at once, unless the
    /// [options](crate::RuntimeOptions::run_here) leave runs to others. Once
    /// the runtime [drains](Self::drain), it starts nothing more, and returns as soon as its own runs have left
    /// their sessions.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), it cannot be
    /// [read](RuntimeError::Unreadable), or its run failed with an error. The error is returned after the
    /// runs of children here have ended. If the run of a child fails with an error, this is only logged. If
    /// the store does not answer while anything runs here, it is asked again.
    pub async fn wait(&self, key: &SessionKey) -> Result<RunOutcome, RuntimeError> {
        self.wait_with(key, None, Arc::default()).await
    }

    /// Waits like [`wait`](Self::wait). `run` is a run of the session that was started here and reports its
    /// children to `offspring`.
    pub(super) async fn wait_with(
        &self,
        key: &SessionKey,
        run: Option<BoxFuture<'_, Ended>>,
        offspring: Arc<Offspring>,
    ) -> Result<RunOutcome, RuntimeError> {
        let mut tree = TreeRuns::new(self, key, self.options().run_here, offspring);
        if let Some(run) = run {
            tree.add(key.clone(), run);
        }
        let outcome = self.until_rest(key, tree, None).await?;
        Ok(outcome.unwrap_or(RunOutcome::Released))
    }

    /// Waits for at most `at_most`, and returns the ending of the turn, or the reason why it waits. Returns `None`
    /// if the session, or a child that it waits for, is still at work then, or if no run has taken the session up.
    /// This method only watches and runs nothing: use it in a front end that leaves runs to workers.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), or it cannot be
    /// [read](RuntimeError::Unreadable).
    pub async fn wait_at_most(
        &self,
        key: &SessionKey,
        at_most: Duration,
    ) -> Result<Option<RunOutcome>, RuntimeError> {
        let until = Instant::now().checked_add(at_most);
        self.until_rest(key, TreeRuns::new(self, key, false, Arc::default()), until).await
    }

    /// Waits on while the message `item` waits for its instant `at`, and returns the outcome of the session after that.
    /// `outcome` is the outcome so far, which is returned if the message was taken or withdrawn.
    pub(super) async fn wait_for_later(
        &self,
        key: &SessionKey,
        item: InboxSeq,
        at: Timestamp,
        mut outcome: RunOutcome,
    ) -> Result<RunOutcome, RuntimeError> {
        let before = InboxSeq(item.0.saturating_sub(1));
        loop {
            let comes = self.now() < at;
            let page = self.host.store().read_inbox(key, before, 1).await?;
            let waits = page.items.first().is_some_and(|found| found.seq == item);
            let session = self.existing(key).await?;
            if session.status == SessionStatus::Aborted || self.host.is_draining() {
                return Ok(outcome);
            }
            if !waits {
                // It was taken, perhaps by a turn that still runs, or withdrawn.
                return self.wait_with(key, None, Arc::default()).await;
            }
            if comes {
                let left = self.now().until(at).min(POLL_LATER);
                self.host.store().wait_for_change(Watch::Session(key.clone()), left).await?;
            }
            outcome = self.wait_with(key, None, Arc::default()).await?;
            if !comes {
                return Ok(outcome);
            }
        }
    }

    /// Waits until the tree rests, `until` has passed, or the runtime drains. Returns `None` if `until` has passed, or
    /// if the root has no outcome when the runtime drains. A read that fails while anything runs here is repeated, so
    /// the runs go on.
    async fn until_rest<'a>(
        &'a self,
        key: &'a SessionKey,
        mut tree: TreeRuns<'a>,
        until: Option<Instant>,
    ) -> Result<Option<RunOutcome>, RuntimeError> {
        let mut pauses = Pauses::new();
        loop {
            match self.watch(key, &mut tree, until, &mut pauses).await {
                Ok(Watched::GoesOn) => pauses.stumble = Backoff::store(),
                Ok(Watched::Over(outcome)) => return Ok(outcome),
                Err(error) if tree.is_running() && error.kind() == RuntimeErrorKind::Unavailable => {
                    tracing::debug!(session = %key, %error, "not seen; what runs here goes on");
                    tokio::select! {
                        () = tree.ended() => {}
                        () = sleep(pauses.stumble.take()) => {}
                    }
                }
                Err(error) => {
                    tree.settle().await;
                    return Err(error);
                }
            }
        }
    }

    /// Looks at the tree once, starts the runs that are due, and waits for the next change.
    async fn watch(
        &self,
        key: &SessionKey,
        tree: &mut TreeRuns<'_>,
        until: Option<Instant>,
        pauses: &mut Pauses,
    ) -> Result<Watched, RuntimeError> {
        let draining = tree.runs_here() && self.host.is_draining();
        if tree.runs_root() {
            // Nothing is read while the root runs here and has no children.
            if draining { tree.ended().await } else { tree.ended_or_due().await }
        }
        let draining = tree.runs_here() && self.host.is_draining();
        match tree.take_root_end().transpose()? {
            Some(Some(outcome)) if draining => {
                tree.settle().await;
                return Ok(Watched::Over(Some(outcome)));
            }
            Some(Some(outcome)) if is_last_word(&outcome) => {
                tree.finish().await;
                return Ok(Watched::Over(Some(outcome)));
            }
            Some(Some(RunOutcome::Released | RunOutcome::Lost) | None) => sleep(pauses.idle.take()).await,
            Some(Some(RunOutcome::Ended(_) | RunOutcome::Suspended(_) | RunOutcome::BackingOff { .. }))
            | None => {}
        }
        if tree.runs_root() && draining {
            return Ok(Watched::GoesOn);
        }
        if tree.runs_root() {
            tree.work(&self.existing(key).await?).await?;
            return Ok(Watched::GoesOn);
        }
        // Listen before the read, so that no change in between is missed.
        let mut hint = Hint::listen(self.host.store(), Watch::Session(key.clone()), POLL).await;
        let session = self.existing(key).await?;
        let (over, later) = match look(&session, self.now())? {
            Look::Over(outcome) if !outcome.waits_for_children() => {
                tree.finish().await;
                return Ok(Watched::Over(Some(*outcome)));
            }
            Look::Over(outcome) => (Some(*outcome), None),
            Look::Later(at) => (None, Some(at)),
            Look::Due => (None, None),
        };
        if draining {
            tree.settle().await;
            return Ok(Watched::Over(outcome_of(&session, self.now())?));
        }
        if tree.runs_here() && over.is_none() && later.is_none() {
            tree.start(session);
            return Ok(Watched::GoesOn);
        }
        if tree.work(&session).await? == Below::Rests
            && let Some(outcome) = over
        {
            // A child that has ended meanwhile has changed the session.
            let rests = self.existing(key).await? == session;
            return Ok(if rests { Watched::Over(Some(outcome)) } else { Watched::GoesOn });
        }
        let left = until.map_or(POLL, |until| until.saturating_duration_since(Instant::now()).min(POLL));
        if left.is_zero() {
            return Ok(Watched::Over(None));
        }
        let left = match later {
            Some(at) => self.now().until(at).min(left),
            None => tree.until_next_scan().min(left),
        };
        tokio::select! {
            () = self.host.drains(), if tree.runs_here() => {}
            _ = hint.heard() => sleep(pauses.gap.take()).await,
            () = tree.ended() => {}
            () = sleep(left) => {}
        }
        Ok(Watched::GoesOn)
    }

    /// Claims and runs a session that is due. Returns `None` if another run has it, or if its agent is not found
    /// here.
    pub(super) async fn run_due(
        &self,
        key: &SessionKey,
        session: &Session,
        offspring: Arc<Offspring>,
        leaving: Leaving,
    ) -> Ended {
        let plan = match self.agent_to_run(key, &session.queue, &session.definition).await {
            Ok(agent) => Plan::Run(agent),
            Err(RuntimeError::AgentUnknown { queue, why, .. }) => {
                tracing::debug!(session = %key, %queue, %why, "left to a worker that has its agent");
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match self.host.try_claim(key, Vec::new(), Some(session.version)).await {
            Ok(Try::Ours(claimed)) => self.drive(*claimed, plan, offspring, leaving).await.map(Some),
            Ok(Try::Changed | Try::Duplicate(_))
            | Err(RuntimeError::Held { .. } | RuntimeError::Aborted { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The result of one look at a tree.
enum Watched {
    GoesOn,
    /// The wait is over, with the outcome of the root if it has one.
    Over(Option<RunOutcome>),
}

/// The pauses of a caller that waits.
struct Pauses {
    /// The pause after a run that could not go on here.
    idle: Backoff,
    /// The pause after a hint.
    gap: Backoff,
    /// The pause after a read that failed.
    stumble: Backoff,
}

impl Pauses {
    fn new() -> Self {
        Self {
            idle: Backoff::new(Duration::from_millis(20), POLL),
            gap: Backoff::new(GAP, GAP_MAX),
            stumble: Backoff::store(),
        }
    }
}

/// The next step for a session.
pub(super) enum Look {
    /// The session is at rest, or waits for a person, a client or children here, even if that wait has a deadline.
    Over(Box<RunOutcome>),
    /// Another run works on the session, or time must pass. Look again at this instant, or when the session
    /// changes.
    Later(Timestamp),
    /// The session needs a worker now.
    Due,
}

/// Returns true if a call of the session waits for children elsewhere.
fn is_elsewhere(session: &Session) -> Result<bool, RuntimeError> {
    let machine = machine_of(session)?;
    let batch = machine.as_ref().and_then(|machine| machine.state.batch());
    let is_elsewhere = |call: &Call| call.state.children().is_some_and(|children| children.remote.is_some());
    Ok(batch.is_some_and(|batch| batch.calls.iter().any(is_elsewhere)))
}

pub(super) fn look(session: &Session, now: Timestamp) -> Result<Look, RuntimeError> {
    match (session.status, &session.lease, session.alarm) {
        (SessionStatus::Active, Some(lease), _) if lease.ends > now => return Ok(Look::Later(lease.ends)),
        (SessionStatus::Active, _, Some(alarm)) if alarm > now => return Ok(Look::Later(alarm)),
        (SessionStatus::Active, _, _) => return Ok(Look::Due),
        (SessionStatus::Aborted, _, _) => {}
        (_, _, _) if is_due(session, now) => return Ok(Look::Due),
        (_, _, _) => {}
    }
    let outcome = outcome_of(session, now)?.unwrap_or(RunOutcome::Released);
    match (session.status, session.alarm) {
        (SessionStatus::Suspended, Some(alarm)) if outcome.goes_on_at().is_some() => Ok(Look::Later(alarm)),
        // Other programs work on the session.
        (SessionStatus::Suspended, Some(alarm)) if outcome.waits_for_children() && is_elsewhere(session)? => {
            Ok(Look::Later(alarm))
        }
        // A scheduled start. After a turn, the outcome of that turn is the answer, even if another one is scheduled.
        (SessionStatus::Idle, Some(alarm)) if outcome == RunOutcome::Released && !only_looks(session) => {
            Ok(Look::Later(alarm))
        }
        (_, _) => Ok(Look::Over(Box::new(outcome))),
    }
}
