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

/// The maximum number of tries to hit a place. A try misses if the request or the answer is too short, or if the cut
/// falls behind both.
pub(super) const TRIES_MAX: usize = 16;

/// A handle that uses a proxy, and a peer that does not.
pub(super) struct Wire {
    pub(super) t: Bench,
    pub(super) peer: Handle,
    pub(super) through: Handle,
    pub(super) proxy: Proxy,
}

/// An operation in a scenario of its own, with its request and the allowed results.
pub(super) struct Story {
    pub(super) scenario: Scenario,
    /// Text that only this request contains.
    marker: String,
    op: Op,
    pub(super) request: Request,
    before: String,
    after: String,
    /// The answer of the first request.
    first: String,
    /// The answer of a repeat after the operation was applied.
    again: String,
}

/// The outcome of an operation that was cut off, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    /// The backend had answered the operation.
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

    /// Measures the bytes of an operation that is not cut.
    async fn measure(&self, op: Op) -> CaseResult<Seen> {
        let story = self.story(op).await?;
        let planned = self.proxy.plan(Cut::Nowhere, &story.marker);
        let answer = story.scenario.ask(&self.through, &story.request).await?;
        ensure_eq!(answer, story.first, "the answer of an operation that nothing cuts");
        through_the_proxy(planned.seen())
    }

    /// Cuts every operation that the store supports, at each of these places. `cut` turns a place and the measured
    /// bytes into the cut.
    pub(super) async fn sweep(&self, places: &[Place], cut: fn(Seen, Place) -> Cut) -> CaseResult {
        for op in self.ops() {
            // A connection may still be prepared during the first measurement.
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

    /// Cuts an operation at a place and checks the result.
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
            // All but the last byte of the answer has arrived. If the connection was prepared first, more bytes were
            // sent, and the answer lies beyond the cut.
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

    /// Checks the answer of an operation that was cut off, and that the stored data agrees with it. Then the same
    /// handle repeats the operation.
    pub(super) async fn judge(&self, story: &Story, answered: Answered, known: Known) -> CaseResult {
        let Story { scenario, op, request, before, after, first, again, .. } = story;
        let changes = before != after;
        let repeated_by = match &answered {
            // The store has retried by itself.
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
            // The failed step of a walk changed nothing, but earlier steps may have.
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

    /// Repeats an operation on the same handle until it is answered. Also returns whether the outcome of an earlier try
    /// was unknown.
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

/// Makes a text that is unique to one request.
pub(super) fn marker() -> String {
    format!("cut{}", Uuid::new_v4().simple())
}

/// The effect of a cut on an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hit {
    /// The operation returned an error.
    Error,
    /// The store retried by itself on another connection.
    Again,
    /// Enough of the answer had arrived.
    Answered,
}

impl Hit {
    /// Determines the effect from what was seen on the cut connection and from an uncut run `whole`. Fails if the
    /// operation was answered and nothing shows that it used the cut connection.
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
        // On an unreadable wire, a retry cannot be seen.
        ensure!(
            !whole.marked || seen.request_bytes >= whole.request_bytes,
            "expected a request of which a part was cut off to be made again, or an error",
            found = "that it was answered, and {seen:?}"
        );
        Ok(Self::Answered)
    }
}

/// The number of effects of each kind, over all places.
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

    /// Fails if no cut had an effect, because then the operation was not tested.
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

/// The time limit in which a handle that was cut off must recover by itself, and the pauses between tries.
pub(super) struct Patience {
    deadline: Instant,
    pauses: Backoff,
}

impl Patience {
    pub(super) fn new() -> Self {
        Self { deadline: Instant::now() + SETTLE_MAX, pauses: Backoff::new() }
    }

    /// Pauses before the next try. Fails if the error does not allow a repeat, or if the time is over.
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

/// The answer of an operation, or the error that it was refused with.
pub(super) type Answered = Result<String, (StoreErrorKind, Retry)>;

/// Returns true if the operation may take several calls.
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

/// A place in a request or an answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    After(usize),
    /// After this many eighths of the bytes.
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
