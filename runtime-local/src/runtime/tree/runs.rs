//! The runs of a tree in this process. Sessions that are due and that no run holds are run here, several at once.

use std::collections::{HashSet, VecDeque};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered};
use holdover_core::engine::{Drain, RunOutcome};
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::store::Session;
use holdover_core::time::Timestamp;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::clock::far;
use crate::drive::{Leaving, Offspring, has_ended, is_set_aside};
use crate::error::RuntimeError;
use crate::guard::guarded;
use crate::runtime::Runtime;
use crate::runtime::handle::unless_panicked;
use crate::runtime::tree::members::AT_ONCE as READ_AT_ONCE;
use crate::runtime::wait::{Look, look};

/// The maximum number of sessions of a tree that run here at once, including the root.
const AT_ONCE: usize = 16;

/// The first pause between two scans. It doubles while scans find nothing new.
const SCAN: Duration = Duration::from_millis(20);
/// The maximum pause between two scans, unless a scan takes longer than an eighth of it.
const SCAN_MAX: Duration = Duration::from_secs(1);
/// The minimum ratio of a pause to the scan before it.
const PAUSE_PER_SCAN: u32 = 8;

/// The end of a run. `None` means that another run has the session, or that its agent is not found here.
pub(in crate::runtime) type Ended = Result<Option<RunOutcome>, RuntimeError>;

/// The state of the sessions below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) enum Below {
    /// No session goes on unless a person or a client answers.
    Rests,
    /// A session runs or is due, here or elsewhere, or waits for an instant.
    GoesOn,
}

/// The runs of a tree in this process, and the known members of the tree.
pub(in crate::runtime) struct TreeRuns<'a> {
    runtime: &'a Runtime,
    root: &'a SessionKey,
    runs_here: bool,
    running: FuturesUnordered<BoxFuture<'a, (SessionKey, Ended)>>,
    busy: HashSet<SessionId>,
    due: VecDeque<Session>,
    ended: HashSet<SessionId>,
    /// The members that work in the background, and all members below them.
    in_background: HashSet<SessionId>,
    /// Cancelled once the caller waits no more. Runs in the background are then left to others.
    over: CancellationToken,
    root_ended: Option<Ended>,
    /// The place where the runs report their children.
    offspring: Arc<Offspring>,
    /// True if a member below the root was open at the last scan.
    has_members: bool,
    next_scan: Instant,
    earliest_scan: Instant,
    pause: Backoff,
}

impl<'a> TreeRuns<'a> {
    /// Creates the runs of the tree of `root`. Without `runs_here`, sessions that are due are left to others. A run
    /// that was started before reports its children to `offspring`.
    pub(in crate::runtime) fn new(
        runtime: &'a Runtime,
        root: &'a SessionKey,
        runs_here: bool,
        offspring: Arc<Offspring>,
    ) -> Self {
        let now = Instant::now();
        Self {
            runtime,
            root,
            runs_here,
            running: FuturesUnordered::new(),
            busy: HashSet::new(),
            due: VecDeque::new(),
            ended: HashSet::new(),
            in_background: HashSet::new(),
            over: CancellationToken::new(),
            root_ended: None,
            offspring,
            has_members: false,
            next_scan: now,
            earliest_scan: now,
            pause: Backoff::new(SCAN, SCAN_MAX),
        }
    }

    /// Adds a run that was started before.
    pub(in crate::runtime) fn add(&mut self, key: SessionKey, run: BoxFuture<'a, Ended>) {
        self.busy.insert(key.id.clone());
        self.running.push(Box::pin(async move { (key, run.await) }));
    }

    /// Runs a session that is due, in a task of its own.
    pub(in crate::runtime) fn start(&mut self, session: Session) {
        let leaving = match self.in_background.contains(&session.key.id) {
            true => Leaving::when(self.over.clone(), Drain::Calls),
            false => Leaving::never(),
        };
        let (runtime, key) = (self.runtime.clone(), session.key.clone());
        let offspring = Arc::clone(&self.offspring);
        let run = guarded(async move { runtime.run_due(&session.key, &session, offspring, leaving).await });
        let named = key.clone();
        self.add(key, Box::pin(async move { unless_panicked(&named, run.await) }));
    }

    /// Returns true if sessions that are due are run here.
    pub(in crate::runtime) fn runs_here(&self) -> bool {
        self.runs_here
    }

    /// Returns true if the root runs here.
    pub(in crate::runtime) fn runs_root(&self) -> bool {
        self.busy.contains(&self.root.id)
    }

    /// Returns true if any session of the tree runs here.
    pub(in crate::runtime) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Takes the end of the root's run, if the run has ended here since the last call.
    pub(in crate::runtime) fn take_root_end(&mut self) -> Option<Ended> {
        self.root_ended.take()
    }

    /// Waits until one of the runs here ends, or for ever if there is none. The future may be dropped and created
    /// again.
    pub(in crate::runtime) async fn ended(&mut self) {
        let Some((key, ended)) = self.running.next().await else { return pending().await };
        self.busy.remove(&key.id);
        if key == *self.root {
            self.root_ended = Some(ended);
            return;
        }
        match ended {
            Ok(Some(RunOutcome::Ended(_) | RunOutcome::Suspended(_) | RunOutcome::BackingOff { .. })) => {
                self.scan_soon();
            }
            Ok(Some(RunOutcome::Released | RunOutcome::Lost) | None) => {}
            Err(error) => tracing::warn!(session = %key, %error, "the run of a child broke down"),
        }
    }

    /// Waits until one of the runs here ends, or until [`work`](Self::work) may find something to do.
    pub(in crate::runtime) async fn ended_or_due(&mut self) {
        let offspring = Arc::clone(&self.offspring);
        let at = far(Instant::now(), self.until_next_scan());
        tokio::select! {
            () = self.ended() => {}
            () = offspring.told() => {
                self.has_members = true;
                self.scan_soon();
            }
            () = sleep_until(at), if self.has_members => {}
        }
    }

    /// Waits until nothing runs here any more. Background runs are left to others. Children that were asked to stop
    /// are run to their ends here, unless another run holds them.
    pub(in crate::runtime) async fn finish(&mut self) {
        self.over.cancel();
        loop {
            self.settle().await;
            self.find_stopped().await;
            self.start_due();
            if !self.is_running() {
                return;
            }
        }
    }

    /// Notes as due the children that were asked to stop and that no run holds.
    async fn find_stopped(&mut self) {
        let stopped = if self.runs_here { self.offspring.take_stopped() } else { Vec::new() };
        let store = self.runtime.host().store();
        let read = stream::iter(stopped).map(|key| async move { (store.load_session(&key).await, key) });
        // Read all children before anything else: a read that is not polled would hold up the other reads of the
        // store.
        let read: Vec<_> = read.buffered(READ_AT_ONCE).collect().await;
        let now = self.runtime.now();
        for (read, key) in read {
            match read {
                Ok(Some(session)) if !has_ended(&session) && matches!(look(&session, now), Ok(Look::Due)) => {
                    self.due.push_back(session);
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(session = %key, %error, "a child that was stopped is left to a worker");
                }
            }
        }
    }

    fn start_due(&mut self) {
        while self.running.len() < AT_ONCE
            && let Some(session) = self.due.pop_front()
        {
            if !self.busy.contains(&session.key.id) {
                self.start(session);
            }
        }
    }

    /// Waits until nothing runs here any more.
    pub(in crate::runtime) async fn settle(&mut self) {
        while self.is_running() {
            self.ended().await;
        }
    }

    /// Starts members that are due, given the present root, and returns whether any member goes on.
    pub(in crate::runtime) async fn work(&mut self, root: &Session) -> Result<Below, RuntimeError> {
        let mut below = Below::GoesOn;
        self.find_stopped().await;
        if self.due.is_empty() && self.next_scan <= Instant::now() {
            below = self.scan(root).await?;
        }
        self.start_due();
        Ok(if self.is_running() { Below::GoesOn } else { below })
    }

    /// Returns the time after which [`work`](Self::work) may find something new, if no run ends before.
    pub(in crate::runtime) fn until_next_scan(&self) -> Duration {
        if self.due.is_empty() { self.next_scan.saturating_duration_since(Instant::now()) } else { SCAN_MAX }
    }

    fn scan_soon(&mut self) {
        self.pause = Backoff::new(SCAN, SCAN_MAX);
        self.next_scan = self.earliest_scan.max(Instant::now());
    }

    async fn scan(&mut self, root: &Session) -> Result<Below, RuntimeError> {
        let began = Instant::now();
        let members = self.runtime.members(root, &mut self.ended).await?;
        let now = self.runtime.now();
        let mut first: Option<Timestamp> = None;
        let mut goes_on = members.some_ended || members.some_unreadable;
        self.has_members = goes_on || !members.open.is_empty();
        self.in_background = members.in_background;
        for session in members.open {
            // The caller does not wait for this session.
            if members.unawaited.contains(&session.key.id) {
                continue;
            }
            match look(&session, now) {
                Ok(Look::Over(_)) => continue,
                // Nobody goes on with a session that was set aside.
                Err(_) if is_set_aside(&session) => continue,
                Ok(Look::Later(at)) => first = Some(first.map_or(at, |first| first.min(at))),
                Ok(Look::Due) if self.runs_here && !self.busy.contains(&session.key.id) => {
                    self.due.push_back(session);
                }
                // The session runs here already, or it is run by others that can read it.
                Ok(Look::Due) | Err(_) => {}
            }
            goes_on = true;
        }
        if members.some_ended {
            self.pause = Backoff::new(SCAN, SCAN_MAX);
        }
        let least = began.elapsed().saturating_mul(PAUSE_PER_SCAN);
        let pause = self.pause.take();
        let pause = first.map_or(pause, |at| pause.min(now.until(at).max(SCAN)));
        let ended = Instant::now();
        self.earliest_scan = ended + least;
        self.next_scan = ended + pause.max(least);
        Ok(if goes_on { Below::GoesOn } else { Below::Rests })
    }
}
