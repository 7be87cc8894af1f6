//! Operations that are cut off, and their allowed results.

use tokio::time::Instant;
use uuid::Uuid;

use crate::backoff::Backoff;
use crate::cases::crash::{SETTLE_MAX, settles};
use crate::cases::prelude::*;
use crate::ops::Op;
use crate::proxy::{Cut, Proxy, Seen};
use crate::scenario::{Ask, Scenario};
use crate::script::Request;

/// How often a place is tried again that a request or an answer was too short for, or that lay behind both.
pub(super) const TRIES_MAX: usize = 16;

/// A handle that goes through a proxy, and a peer that does not.
pub(super) struct Wire {
    pub(super) t: Bench,
    pub(super) peer: Handle,
    pub(super) through: Handle,
    pub(super) proxy: Proxy,
}

/// What an operation asks, and what must come of it.
pub(super) struct Story {
    pub(super) scenario: Scenario,
    /// What the request has in it, and no other.
    marker: String,
    op: Op,
    pub(super) request: Request,
    before: String,
    after: String,
    /// The answer.
    first: String,
    /// The answer of a repeat after it was applied.
    again: String,
}

/// What is known of an operation that was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    /// The backend had answered it.
    Applied,
}

impl Wire {
    pub(super) async fn new(t: Bench) -> CaseResult<Self> {
        let (peer, proxy) = (t.peer().await, Proxy::default());
        let through = t.peer_through(&proxy).await?;
        Ok(Self { t, peer, through, proxy })
    }

    pub(super) fn ops(&self) -> impl Iterator<Item = Op> + use<> {
        let capabilities = self.t.store.capabilities();
        Op::ALL.into_iter().filter(move |op| op.is_declared(&capabilities))
    }

    /// Sets the stage of an operation in a new scenario.
    pub(super) async fn story(&self, op: Op) -> CaseResult<Story> {
        let marker = marker();
        let scenario = Scenario::named(&marker, self.t.lease());
        self.t.forget_history();
        let mut model = scenario.prepare(&self.t.store, op.stage()).await?;
        let request = scenario.request(op, Ask { tag: "cut", lease: self.t.lease() });
        let before = scenario.snapshot_of(&model);
        let first = scenario.ask_model(&mut model, &request);
        let after = scenario.snapshot_of(&model);
        let again = scenario.ask_model(&mut model, &request);
        Ok(Story { scenario, marker, op, request, before, after, first, again })
    }

    /// What goes through the proxy for an operation that nothing cuts.
    async fn measure(&self, op: Op) -> CaseResult<Seen> {
        let story = self.story(op).await?;
        let planned = self.proxy.plan(Cut::Nowhere, &story.marker);
        let answer = story.scenario.ask(&self.through, &story.request).await?;
        ensure_eq!(answer, story.first, "the answer of an operation that nothing cuts");
        through_the_proxy(planned.seen())
    }

    /// Cuts every operation at each of these places, which `cut` finds in what goes through for it.
    pub(super) async fn sweep(&self, places: &[Place], cut: fn(Seen, Place) -> Cut) -> CaseResult {
        for op in self.ops() {
            // The first time a connection may still be made ready for it.
            self.measure(op).await.map_err(|failure| failure.within(format!("{op:?}")))?;
            let mut whole = self.measure(op).await?;
            let mut hits = Hits::default();
            for place in places {
                let done = self.cut(op, &mut whole, *place, cut).await;
                hits.count(done.map_err(|failure| {
                    failure.within(format!("{op:?}, {:?} of {whole:?}", cut(whole, *place)))
                })?);
            }
            hits.judge().map_err(|failure| failure.within(format!("{op:?}")))?;
        }
        Ok(())
    }

    /// Cuts an operation at a place, and looks at what came of it.
    async fn cut(
        &self,
        op: Op,
        whole: &mut Seen,
        place: Place,
        cut: fn(Seen, Place) -> Cut,
    ) -> CaseResult<Hit> {
        let (mut elsewhere, mut missed) = (None, 0);
        for _ in 0..TRIES_MAX {
            let story = self.story(op).await?;
            let planned = self.proxy.plan(cut(*whole, place), &story.marker);
            let answered = story.scenario.try_ask(&self.through, &story.request).await?;
            let seen = planned.seen();
            drop(planned);
            if !seen.cut {
                whole.learn(&seen);
                continue;
            }
            let hit = Hit::of(answered.is_err(), &seen, whole);
            // On a connection that had to be made ready first more was asked, and the last answer lay behind.
            let all = seen.answer_bytes + 1 == whole.answer_bytes && seen.request_bytes <= whole.sent_bytes;
            let known = if all { Known::Applied } else { Known::Nothing };
            self.judge(&story, answered, known).await?;
            match hit {
                Ok(hit) => return Ok(hit),
                Err(behind) => {
                    elsewhere = Some(behind);
                    whole.shorten(&seen, missed);
                    missed += 1;
                }
            }
        }
        Err(elsewhere.unwrap_or_else(too_short))
    }

    /// Whether the answer of an operation that was cut off is one, and what is there agrees; then the same handle
    /// repeats it.
    pub(super) async fn judge(&self, story: &Story, answered: Answered, known: Known) -> CaseResult {
        let Story { scenario, op, request, before, after, first, again, .. } = story;
        let changes = before != after;
        let repeated_by = match &answered {
            // The store has asked again by itself.
            Ok(answer) => {
                ensure_eq!(answer, first, "the answer of an operation that was not given up");
                settles(&self.peer, scenario, before, after, true).await?;
                vec![again]
            }
            Err((StoreErrorKind::Unavailable, Retry::OutcomeUnknown)) => {
                settles(&self.peer, scenario, before, after, known == Known::Applied).await?;
                let applied = changes && scenario.snapshot(&self.peer).await? == *after;
                if applied { vec![again] } else { vec![first, again] }
            }
            // Of a walk one step changed nothing; those before it may have.
            Err((StoreErrorKind::Unavailable, Retry::Later)) if is_walk(*op) => vec![first, again],
            Err((StoreErrorKind::Unavailable, Retry::Later)) => {
                let found = scenario.snapshot(&self.peer).await?;
                ensure_eq!(found, *before, "the session after an error that says that nothing was changed");
                vec![first]
            }
            Err((kind, retry)) => {
                return Err(Failure::new(format!(
                    "expected an error that is Unavailable, Later or OutcomeUnknown\n    found    {kind:?}, {retry:?}"
                )));
            }
        };
        let (repeated, lost) = self.repeat(scenario, request).await?;
        ensure!(
            repeated_by.contains(&&repeated) || (lost && repeated == *again),
            "the answer of the repeat after {answered:?}\n    expected {repeated_by:?}",
            found = "{repeated}"
        );
        ensure_eq!(scenario.snapshot(&self.peer).await?, *after, "the session after the repeat");
        Ok(())
    }

    /// Kills every connection of the handle.
    pub(super) async fn kill(&self) -> CaseResult {
        let killed = self.proxy.cut_all().await;
        ensure!(killed > 0, "expected a connection to kill", found = "none");
        Ok(())
    }

    /// Repeats an operation on the same handle until it is answered. Also answers whether the outcome of a try
    /// before was unknown.
    pub(super) async fn repeat(&self, scenario: &Scenario, request: &Request) -> CaseResult<(String, bool)> {
        let (mut patience, mut lost) = (Patience::new(), false);
        loop {
            match scenario.try_ask(&self.through, request).await? {
                Ok(answer) => return Ok((answer, lost)),
                Err((kind, retry)) => {
                    lost |= retry == Retry::OutcomeUnknown;
                    patience.after(kind, retry).await?;
                }
            }
        }
    }
}

/// A text that is in one request alone.
pub(super) fn marker() -> String {
    format!("cut{}", Uuid::new_v4().simple())
}

/// How an operation was hit by the cut of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hit {
    /// It answered with an error.
    Error,
    /// The store asked again by itself, over another connection.
    Again,
    /// Enough of the answer had come.
    Answered,
}

impl Hit {
    /// By what was seen of an operation on a connection that was cut, and of a `whole` one. `Err`: it was answered,
    /// and nothing shows that it was on that connection.
    pub(super) fn of(refused: bool, seen: &Seen, whole: &Seen) -> CaseResult<Self> {
        if refused {
            return Ok(Self::Error);
        }
        ensure!(
            seen.carried(whole),
            "expected the operation on the connection that was cut",
            found = "that it was answered, and {seen:?}"
        );
        if seen.again {
            return Ok(Self::Again);
        }
        // What cannot be read may have come again.
        ensure!(
            !whole.marked || seen.request_bytes >= whole.request_bytes,
            "expected a request of which a part was cut off to be made again, or an error",
            found = "that it was answered, and {seen:?}"
        );
        Ok(Self::Answered)
    }
}

/// How often an operation was hit, over all places.
#[derive(Debug, Default)]
pub(super) struct Hits {
    errors: usize,
    again: usize,
    answered: usize,
}

impl Hits {
    pub(super) fn count(&mut self, hit: Hit) {
        match hit {
            Hit::Error => self.errors += 1,
            Hit::Again => self.again += 1,
            Hit::Answered => self.answered += 1,
        }
    }

    /// An operation that no cut ever hit was not tested.
    pub(super) fn judge(&self) -> CaseResult {
        ensure!(
            self.errors + self.again > 0,
            "expected a cut to be noticed at one place at least, by an error or by another request",
            found = "answers alone, {} of them",
            self.answered
        );
        Ok(())
    }
}

/// With a handle that was cut off, and must come back by itself.
pub(super) struct Patience {
    deadline: Instant,
    pauses: Backoff,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self { deadline: Instant::now() + SETTLE_MAX, pauses: Backoff::new() }
    }

    /// Waits a little before the next try.
    pub(super) async fn after(&mut self, kind: StoreErrorKind, retry: Retry) -> CaseResult {
        ensure!(
            comes_back(kind, retry) && Instant::now() < self.deadline,
            "expected the handle to work again within {SETTLE_MAX:?}",
            found = "{kind:?}, {retry:?}"
        );
        self.pauses.pause().await;
        Ok(())
    }
}

fn comes_back(kind: StoreErrorKind, retry: Retry) -> bool {
    kind == StoreErrorKind::Unavailable && retry != Retry::Never
}

/// What an operation was answered, or refused with.
pub(super) type Answered = Result<String, (StoreErrorKind, Retry)>;

/// Whether it takes several calls.
fn is_walk(op: Op) -> bool {
    [Op::ClaimDue, Op::Purge, Op::Prune].contains(&op)
}

pub(super) fn too_short() -> Failure {
    Failure::new("expected a cut\n    found    that so many bytes did not go through")
}

pub(super) fn through_the_proxy(seen: Seen) -> CaseResult<Seen> {
    let went = seen.request_bytes > 0 && seen.answer_bytes > 0;
    ensure!(went, "expected the peer to reach its backend through the proxy", found = "{seen:?}");
    Ok(seen)
}

/// A place in so many bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    After(usize),
    /// So many eighths of them.
    Eighths(usize),
    BeforeLast,
}

impl Place {
    pub(super) fn of(self, bytes: usize) -> usize {
        let last = bytes.saturating_sub(1);
        match self {
            Self::After(bytes) => bytes.min(last),
            Self::Eighths(eighths) => bytes * eighths / 8,
            Self::BeforeLast => last,
        }
    }
}
