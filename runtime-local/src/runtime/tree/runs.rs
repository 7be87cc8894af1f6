//! The runs of a tree in this process: what is due in it and held by nobody is run here, some at once.

use std::collections::{HashSet, VecDeque};
use std::future::pending;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use holdover_core::engine::RunOutcome;
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::store::Session;
use holdover_core::time::Timestamp;
use tokio::time::Instant;

use crate::error::RuntimeError;
use crate::host::Backoff;
use crate::runtime::Runtime;
use crate::runtime::wait::{Look, look};

/// The number of sessions of a tree that run here at once.
const AT_ONCE: usize = 16;

/// Where nothing new is found below the root, it is looked for ever more rarely, down to this.
const SCAN: Duration = Duration::from_millis(20);
const SCAN_MAX: Duration = Duration::from_secs(1);

/// Looking takes at most one part in this many of the time.
const SCAN_SHARE: u32 = 8;

/// The end of a run: none if somebody else has the session, or its agent is not found here.
pub(in crate::runtime) type Ended = Result<Option<RunOutcome>, RuntimeError>;

/// What goes on below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) enum Below {
    /// Nothing, unless somebody outside answers.
    Rests,
    /// Something runs, or is due, here or elsewhere, or time must pass.
    GoesOn,
}

/// The runs of a tree in this process, and what is known of its members.
pub(in crate::runtime) struct TreeRuns<'a> {
    runtime: &'a Runtime,
    root: &'a SessionKey,
    /// False: what is due is left to others.
    runs_here: bool,
    running: FuturesUnordered<BoxFuture<'a, (SessionKey, Ended)>>,
    busy: HashSet<SessionId>,
    due: VecDeque<Session>,
    ended: HashSet<SessionId>,
    next_scan: Instant,
    pause: Backoff,
}

impl<'a> TreeRuns<'a> {
    pub(in crate::runtime) fn new(runtime: &'a Runtime, root: &'a SessionKey, runs_here: bool) -> Self {
        Self {
            runtime,
            root,
            runs_here,
            running: FuturesUnordered::new(),
            busy: HashSet::new(),
            due: VecDeque::new(),
            ended: HashSet::new(),
            next_scan: Instant::now(),
            pause: Backoff::new(SCAN, SCAN_MAX),
        }
    }

    /// Counts a run that has begun as one of these.
    pub(in crate::runtime) fn take(&mut self, key: SessionKey, run: BoxFuture<'a, Ended>) {
        self.busy.insert(key.id.clone());
        self.running.push(Box::pin(async move { (key, run.await) }));
    }

    /// Runs a session that is due.
    pub(in crate::runtime) fn start(&mut self, session: Session) {
        let runtime = self.runtime;
        let key = session.key.clone();
        self.take(key, Box::pin(async move { runtime.run_due(&session.key, &session).await }));
    }

    /// Whether what is due is run here.
    pub(in crate::runtime) fn runs_here(&self) -> bool {
        self.runs_here
    }

    /// Whether the root runs here.
    pub(in crate::runtime) fn runs_root(&self) -> bool {
        self.busy.contains(&self.root.id)
    }

    /// Waits for the end of a run; for ever, if none runs here. None: a run below the root has ended. How one of those
    /// ended is its own affair.
    pub(in crate::runtime) async fn ended(&mut self) -> Option<Ended> {
        let Some((key, ended)) = self.running.next().await else { return pending().await };
        self.busy.remove(&key.id);
        if key == *self.root {
            return Some(ended);
        }
        match ended {
            Ok(Some(RunOutcome::Ended(_) | RunOutcome::Suspended(_) | RunOutcome::BackingOff { .. })) => {
                self.pause = Backoff::new(SCAN, SCAN_MAX);
                self.next_scan = Instant::now();
            }
            Ok(Some(RunOutcome::Released | RunOutcome::Lost) | None) => {}
            Err(error) => tracing::warn!(session = %key, %error, "the run of a child broke down"),
        }
        None
    }

    /// Waits until nothing runs here any more.
    pub(in crate::runtime) async fn settle(&mut self) -> Option<Ended> {
        let mut root = None;
        while !self.running.is_empty() {
            root = self.ended().await.or(root);
        }
        root
    }

    /// Starts what is due below `root`, as it stands now, and says whether anything goes on there.
    pub(in crate::runtime) async fn work(&mut self, root: &Session) -> Result<Below, RuntimeError> {
        let mut below = Below::GoesOn;
        if self.due.is_empty() && self.next_scan <= Instant::now() {
            below = self.scan(root).await?;
        }
        while self.running.len() < AT_ONCE
            && let Some(session) = self.due.pop_front()
        {
            if !self.busy.contains(&session.key.id) {
                self.start(session);
            }
        }
        Ok(if self.running.is_empty() { below } else { Below::GoesOn })
    }

    /// The time until what lies below the root is looked at again.
    pub(in crate::runtime) fn until_next_scan(&self) -> Duration {
        self.next_scan.saturating_duration_since(Instant::now())
    }

    async fn scan(&mut self, root: &Session) -> Result<Below, RuntimeError> {
        let began = Instant::now();
        let members = self.runtime.members(root, &mut self.ended).await?;
        let now = self.runtime.now();
        let mut first: Option<Timestamp> = None;
        let mut goes_on = members.some_ended;
        for session in members.open {
            match look(&session, now) {
                Ok(Look::Over(_)) => continue,
                Ok(Look::Later(at)) => first = Some(first.map_or(at, |first| first.min(at))),
                Ok(Look::Due) if self.runs_here && !self.busy.contains(&session.key.id) => {
                    self.due.push_back(session);
                }
                // It runs here, or others run it: those that can read it.
                Ok(Look::Due) | Err(_) => {}
            }
            goes_on = true;
        }
        if members.some_ended {
            self.pause = Backoff::new(SCAN, SCAN_MAX);
        }
        let spent = began.elapsed().saturating_mul(SCAN_SHARE);
        let pause = self.pause.take().max(spent);
        let pause = first.map_or(pause, |at| pause.min(now.until(at).max(SCAN)));
        self.next_scan = Instant::now() + pause;
        Ok(if goes_on { Below::GoesOn } else { Below::Rests })
    }
}
