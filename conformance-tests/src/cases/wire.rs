//! Connections that break before a request, inside it, or inside its answer.

mod cut;

use self::cut::{Hit, Hits, Known, Patience, Place, TRIES_MAX, Wire, marker, through_the_proxy, too_short};
use super::prelude::*;
use crate::fixture;
use crate::proxy::{Cut, Seen};
use crate::script::Request;

/// The maximum number of commits after the first until two in a row have the same length. The first commit on a new
/// connection of a pool is longer, because the connection is prepared.
const READY_MAX: usize = 12;

cases! {
    crash.cut_request_sweep: Durable Crash needs WireFaults,
        "a request that is cut anywhere is applied wholly or not at all, its error says what is known, and the \
         same handle repeats it to one effect",
        "networks end connections in the middle of everything",
        "StateStore: applied wholly or not at all; StoreError::retry: whether the write may have landed (INV-04)";
    crash.lost_ack_sweep_exactly_once: Durable Crash needs WireFaults,
        "an operation whose answer is cut off anywhere is repeated to one effect and the first answer",
        "what was applied without a word is repeated, and must not be done twice",
        "a repeat with the same operation id answers the first outcome and changes nothing";
    crash.killed_connection_surfaces_unavailable_or_retries: Durable Crash needs WireFaults,
        "a handle whose connections all died answers, or says unavailable, and works again without being opened anew",
        "a server that restarts would have to be followed by every worker",
        "StoreErrorKind::Unavailable: the backend cannot be reached; Retry::Later: the same call may succeed later";
    crash.ambiguous_commit_reported_as_ambiguous: Durable Crash needs WireFaults,
        "a commit that may have been applied is never said to have changed nothing",
        "its run would decide anew on a transcript that has moved on, and do an effect twice",
        "Retry::Never, Retry::Later: nothing was changed; Retry::OutcomeUnknown: the write may have landed";
    promotion.answer_cut_then_retry_is_exactly_once: Durable Crash needs WireFaults,
        "a commit whose answer was cut off, repeated on the same handle and on a peer, promotes once",
        "the owner repeats until it is answered; each repeat could append again",
        "commit: a repeat of the last commit under the same fence answers the first outcome";
}

async fn cut_request_sweep(t: Bench) -> CaseResult {
    let eighths = [2, 4, 6].map(Place::Eighths);
    let places = [&[Place::After(0), Place::After(1)][..], &eighths, &[Place::BeforeLast]].concat();
    let cut = |whole: Seen, place: Place| Cut::Request(place.of(whole.request_bytes));
    Wire::new(t).await?.sweep(&places, cut).await
}

async fn lost_ack_sweep_exactly_once(t: Bench) -> CaseResult {
    let places = [Place::After(0), Place::After(1), Place::Eighths(4), Place::BeforeLast];
    let cut = |whole: Seen, place: Place| Cut::Answer(place.of(whole.answer_bytes));
    Wire::new(t).await?.sweep(&places, cut).await
}

async fn killed_connection_surfaces_unavailable_or_retries(t: Bench) -> CaseResult {
    let wire = Wire::new(t).await?;
    for op in wire.ops() {
        let killed = async {
            let story = wire.story(op).await?;
            let read = Request::Load(nobody());
            wire.repeat(&story.scenario, &read).await?;
            wire.kill().await?;
            let answered = story.scenario.try_ask(&wire.through, &story.request).await?;
            wire.judge(&story, answered, Known::Nothing).await?;
            wire.kill().await?;
            // A read must recover too.
            wire.repeat(&story.scenario, &read).await.map(drop)
        };
        killed.await.map_err(|failure: Failure| failure.within(format!("{op:?}")))?;
    }
    Ok(())
}

impl Wire {
    /// Creates a run, and a commit that promotes the staged results of the run and appends an event. The commit is not
    /// sent.
    async fn promoting(&self, name: &str) -> CaseResult<(Fence, Version, Commit)> {
        let claim = self.t.running(name).await?;
        self.t.stage(&claim.fence, staging([("a", "result a"), ("b", "result b")])).await?;
        let commit = Commit {
            state: state("promoted"),
            messages: promote(["b", "a"]),
            events: events(["promoted"]),
            ..fixture::commit()
        };
        Ok((claim.fence, claim.session.version, commit))
    }

    /// Measures the bytes of a promoting commit that is not cut.
    async fn measure_commit(&self, name: &str) -> CaseResult<Seen> {
        let marker = marker();
        let (fence, _, commit) = self.promoting(&format!("{name}-{marker}")).await?;
        let planned = self.proxy.plan(Cut::Nowhere, &marker);
        self.commit_until_answered(&fence, &commit).await?;
        through_the_proxy(planned.seen())
    }

    async fn commit_until_answered(&self, fence: &Fence, commit: &Commit) -> CaseResult<Receipt> {
        let mut patience = Patience::new();
        loop {
            match self.through.commit(fence, commit.clone()).await {
                Ok(outcome) => return Ok(want!(outcome, CommitOutcome::Committed(receipt) => receipt)),
                Err(error) => patience.after(error.kind, error.retry).await?,
            }
        }
    }

    /// Measures a commit on a prepared connection: two commits in a row must have the same length.
    async fn measure_ready(&self, name: &str) -> CaseResult<Seen> {
        let mut before = self.measure_commit(&format!("{name}-0")).await?;
        for nth in 1..=READY_MAX {
            let seen = self.measure_commit(&format!("{name}-{nth}")).await?;
            if seen == before {
                return Ok(seen);
            }
            before = seen;
        }
        Err(Failure::new(format!(
            "expected two commits alike to be as long\n    found    none of {READY_MAX}"
        )))
    }

    /// Makes a commit that is cut off at the place that `cut` computes from the uncut lengths `whole`. The session's
    /// name begins with `name`.
    async fn lose(&self, name: &str, mut whole: Seen, cut: fn(Seen) -> Cut) -> CaseResult<Lost> {
        let (mut elsewhere, mut missed) = (None, 0);
        for nth in 0..TRIES_MAX {
            let marker = marker();
            let (fence, version, commit) = self.promoting(&format!("{name}-{nth}-{marker}")).await?;
            let planned = self.proxy.plan(cut(whole), &marker);
            let answered = self.through.commit(&fence, commit.clone()).await;
            let seen = planned.seen();
            if !seen.cut {
                whole.learn(&seen);
                continue;
            }
            match Hit::of(answered.is_err(), &seen, &whole) {
                Ok(hit) => return Ok(Lost { fence, version, commit, answered, hit }),
                Err(behind) => {
                    elsewhere = Some(behind);
                    whole.shorten(&seen, missed);
                    missed += 1;
                    // The next commit uses a prepared connection.
                    self.measure_commit(&format!("{name}-{nth}-ready-{marker}")).await?;
                }
            }
        }
        Err(elsewhere.unwrap_or_else(too_short))
    }
}

/// A commit that was cut off.
struct Lost {
    fence: Fence,
    /// The version before the commit.
    version: Version,
    commit: Commit,
    answered: Result<CommitOutcome, StoreError>,
    hit: Hit,
}

async fn answer_cut_then_retry_is_exactly_once(t: Bench) -> CaseResult {
    let wire = Wire::new(t).await?;
    let whole = wire.measure_ready("full").await?;
    let lost = wire.lose("lost", whole, |whole| Cut::Answer(whole.answer_bytes - 1)).await?;
    let Lost { fence, version, commit, answered, .. } = lost;
    let next = Version(version.0 + 1);
    ensure_eq!(wire.peer.load_session(&fence.key).await?.map(|it| it.version), Some(next), "the version");
    match answered {
        // The store has retried by itself.
        Ok(outcome) => want!(outcome, CommitOutcome::Committed(_)),
        Err(error) => ensure_eq!(error.retry, Retry::OutcomeUnknown, "what is known of an applied commit"),
    }
    let same = wire.commit_until_answered(&fence, &commit).await?;
    let other = wire.peer.commit(&fence, commit.clone()).await?;
    let other = want!(other, CommitOutcome::Committed(receipt) => receipt);
    for receipt in [same, other] {
        ensure_eq!((receipt.version, receipt.last_message.0), (next, 2), "version and newest message");
    }
    ensure_eq!(wire.t.messages(&fence.key).await?, ["result b", "result a"], "messages");
    let found = wire.t.snapshot(&fence.key).await?;
    ensure_eq!(found.events.len(), 1, "how many events");
    let staged = found.session.map(|session| session.staged.results);
    ensure_eq!(staged, Some(Vec::new()), "what is staged");
    // The answer to a late repeat says that the commit was applied.
    wire.t.take_over(&fence.key).await?;
    let late = wire.through.commit(&fence, commit).await?;
    ensure_eq!(late, CommitOutcome::StaleFence { applied: Applied::Yes }, "a repeat after a takeover");
    Ok(())
}

async fn ambiguous_commit_reported_as_ambiguous(t: Bench) -> CaseResult {
    let wire = Wire::new(t).await?;
    let cuts: [fn(Seen) -> Cut; 5] = [
        |_| Cut::Request(0),
        |whole| Cut::Request(whole.request_bytes / 2),
        |whole| Cut::Request(whole.request_bytes - 1),
        |_| Cut::Answer(0),
        |whole| Cut::Answer(whole.answer_bytes - 1),
    ];
    let mut hits = Hits::default();
    for (nth, cut) in cuts.into_iter().enumerate() {
        wire.t.forget_history();
        // The connection is opened again after each cut.
        let whole = wire.measure_ready(&format!("full-{nth}")).await?;
        let done = say_what_is_known(&wire, &format!("lost-{nth}"), whole, cut).await;
        hits.count(done.map_err(|failure| failure.within(format!("{:?}", cut(whole))))?);
    }
    hits.judge()
}

/// Cuts off a commit. If the error says that it changed nothing, the commit must not be applied later either.
async fn say_what_is_known(wire: &Wire, name: &str, whole: Seen, cut: fn(Seen) -> Cut) -> CaseResult<Hit> {
    let Lost { fence, version, answered, hit, .. } = wire.lose(name, whole, cut).await?;
    let lost = match answered {
        // The store has retried by itself.
        Ok(outcome) => {
            want!(outcome, CommitOutcome::Committed(_));
            return Ok(hit);
        }
        Err(error) => error,
    };
    ensure_eq!(lost.kind, StoreErrorKind::Unavailable, "what went wrong");
    ensure_eq!(lost.operation, "commit", "the operation that the error names");
    ensure_eq!(lost.key.as_deref(), Some(&fence.key), "the session that the error names");
    // After this commit is applied, the lost one either took the version before it or can never be applied.
    let sentinel = wire.peer.commit(&fence, fixture::commit()).await?;
    let receipt = want!(sentinel, CommitOutcome::Committed(receipt) => receipt);
    let applied = receipt.version.0 - version.0 == 2;
    let said = lost.retry;
    ensure!(
        said == Retry::OutcomeUnknown || (said == Retry::Later && !applied),
        "expected OutcomeUnknown, or Later for what was not applied",
        found = "{said:?}, applied: {applied}"
    );
    if said == Retry::Later {
        ensure_eq!(wire.t.messages(&fence.key).await?.len(), 0, "messages of a commit that was not applied");
    }
    Ok(hit)
}
