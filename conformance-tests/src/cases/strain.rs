//! Many concurrent operations, all of which must end.

use std::time::Duration;

use futures::future::{BoxFuture, join_all};

use super::prelude::*;

cases! {
    race.no_deadlock_lock_order_probe: Distributed Concurrent,
        "peers that go over the same sessions in opposite orders are all answered",
        "two that wait for each other wait until somebody kills one",
        "StateStore: losing a race is a value in the outcome, and nothing stays locked (INV-04)";
    race.pool_exhaustion_is_unavailable_not_hang: Distributed Concurrent,
        "of many more calls than there are connections each is answered, or refused for now, and the next find them free",
        "a burst of requests would stop the process until it is started again",
        "StoreError: its retry says whether the same call may succeed later";
}

/// The maximum time for all operations that start together.
const TIME_MAX: Duration = Duration::from_secs(40);

/// Awaits the results of all operations. Fails if one takes too long. A read through another handle then shows the
/// cause: if it gets an answer, the operations wait for each other; if not, the whole store hangs.
async fn in_time<T>(t: &Bench, what: &str, all: impl Future<Output = T>) -> CaseResult<T> {
    if let Ok(ended) = tokio::time::timeout(TIME_MAX, all).await {
        return Ok(ended);
    }
    let other = async { t.peer().await.load_session(&nobody()).await };
    let found = format!("expected an answer to {what}\n    found    none within {TIME_MAX:?}");
    Err(match tokio::time::timeout(TIME_MAX, other).await {
        Ok(Ok(_)) => Failure::new(format!("{found}, though another handle is answered")),
        Ok(Err(error)) => Failure::hung(format!("{found}; another handle is told {error}")),
        Err(_) => Failure::hung(format!("{found}, nor to a read by another handle")),
    })
}

const ROUNDS: usize = 6;

/// Two resting sessions with a checkpoint each, and two due sessions.
struct Crossing {
    rest: [SessionKey; 2],
    sources: [NewFork; 2],
    checkpoints: [Version; 2],
    due: [SessionKey; 2],
}

impl Crossing {
    async fn prepare(t: &Bench, round: usize) -> CaseResult<Self> {
        let (one, sources_one, at_one) = Self::at_rest(t, &format!("rest-{round}-a")).await?;
        let (other, sources_other, at_other) = Self::at_rest(t, &format!("rest-{round}-b")).await?;
        let mut due = Vec::new();
        for name in ["a", "b"] {
            let new = new_session(&format!("due-{round}-{name}"));
            due.push(new.key.clone());
            let new = NewSession { start: Start::At(Timestamp::EPOCH), ..new };
            want!(t.store.create_session(new).await?, CreateOutcome::Created { .. });
        }
        let due = <[SessionKey; 2]>::try_from(due).map_err(|_| Failure::new("expected two sessions"))?;
        let sources = [sources_one.onto(&other), sources_other.onto(&one)];
        Ok(Self { rest: [one, other], sources, checkpoints: [at_one, at_other], due })
    }

    async fn at_rest(t: &Bench, name: &str) -> CaseResult<(SessionKey, NewFork, Version)> {
        let claim = t.running(name).await?;
        let receipt = t.commit(&claim.fence, checkpoint("kept")).await?;
        let release = Commit { release: Some(release_to(SessionStatus::Idle)), ..checkpoint("left") };
        t.commit(&claim.fence, release).await?;
        Ok((claim.fence.key, new_fork(claim.fence.incarnation, name), receipt.version))
    }
}

trait Onto {
    fn onto(self, key: &SessionKey) -> Self;
}

impl Onto for NewFork {
    /// Returns the same fork request for another key.
    fn onto(self, key: &SessionKey) -> Self {
        Self { key: key.clone(), ..self }
    }
}

type Task = BoxFuture<'static, CaseResult<Vec<SessionKey>>>;

/// Returns the work of one peer. The result of the work is the sessions that it claimed.
fn crossed(t: &Bench, on: &Crossing, index: usize, peer: Handle) -> Task {
    let backwards = index % 2 == 1;
    let order = if backwards { [1, 0] } else { [0, 1] };
    let capabilities = peer.capabilities();
    match index / 2 {
        0 if capabilities.forks => {
            let forks = order.map(|at| (on.rest[at].clone(), on.checkpoints[at], on.sources[at].clone()));
            Box::pin(async move {
                for (from, at, to) in forks {
                    peer.fork_session(&from, CheckpointId(at.0), to).await?;
                }
                Ok(Vec::new())
            })
        }
        1 => {
            let keys = order.map(|at| [on.rest[at].clone(), on.due[at].clone()]);
            Box::pin(async move {
                for key in keys.into_iter().flatten() {
                    peer.delete_session(&key, Deletion::FORCE).await?;
                }
                Ok(Vec::new())
            })
        }
        2 if capabilities.retention => {
            let remove = if backwards { Remove::Sessions } else { Remove::Checkpoints { keep: count(1) } };
            Box::pin(async move {
                peer.purge(&retention(remove)).await?;
                Ok(Vec::new())
            })
        }
        _ => {
            let due = t.due(4);
            Box::pin(async move {
                let claims = peer.claim_due(due).await?;
                Ok(claims.into_iter().map(|claim| claim.fence.key).collect())
            })
        }
    }
}

const PEERS: usize = 8;

async fn no_deadlock_lock_order_probe(t: Bench) -> CaseResult {
    let peers = t.peers(PEERS).await;
    for round in 0..ROUNDS {
        let on = Crossing::prepare(&t, round).await?;
        let claimed = in_time(
            &t,
            "claims, forks, deletions and purges that cross each other",
            race(peers.clone(), |index, peer| crossed(&t, &on, index, peer)),
        )
        .await??;
        let mut claimed: Vec<SessionKey> = claimed.into_iter().flatten().collect();
        let claims = claimed.len();
        claimed.sort();
        claimed.dedup();
        ensure_eq!(claims, claimed.len(), "how often each session was claimed");
        for key in on.rest.iter().chain(&on.due) {
            in_time(&t, "a deletion", t.store.delete_session(key, Deletion::FORCE)).await??;
            ensure_eq!(t.snapshot(key).await?.session, None, "a session that was deleted");
        }
    }
    Ok(())
}

/// More calls than any store has connections.
const CALLS: usize = 256;
/// The number of sessions that the calls use.
const SESSIONS: usize = 8;
/// The number of bursts. A store that leaks connections has fewer of them in the second burst.
const BURSTS: usize = 2;

async fn pool_exhaustion_is_unavailable_not_hang(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let mut keys = Vec::new();
    for nth in 0..SESSIONS {
        keys.push(t.create(&format!("s{nth}")).await?);
    }
    let mut accepted = vec![Vec::new(); SESSIONS];
    for burst in 0..BURSTS {
        let calls = (0..CALLS).map(|nth| {
            let (peer, key, item) = (peer.clone(), keys[nth % SESSIONS].clone(), format!("m{burst}-{nth}"));
            tokio::spawn(async move {
                peer.load_session(&key).await?;
                peer.deliver(&key, message(&item)).await.map(|delivery| (delivery, item))
            })
        });
        let answers = in_time(&t, "each of many calls", join_all(calls.collect::<Vec<_>>())).await?;
        for (nth, answer) in answers.into_iter().enumerate() {
            let answer = answer.map_err(|panicked| {
                Failure::panicked(format!("expected an answer\n    found    {panicked}"))
            })?;
            match answer {
                Ok((Delivery::Accepted { .. }, item)) => accepted[nth % SESSIONS].push(item),
                Ok((other, item)) => {
                    return Err(Failure::new(format!(
                        "expected {item} to be accepted\n    found    {other:?}"
                    )));
                }
                Err(error) => refused_for_now(&error)?,
            }
        }
    }
    in_time(&t, "a read after the bursts", peer.load_session(&keys[0])).await??;
    for (key, accepted) in keys.iter().zip(accepted) {
        let found: Vec<String> =
            all_items(&t.store, key).await?.iter().map(|item| item.key.to_string()).collect();
        let missing: Vec<_> = accepted.iter().filter(|item| !found.contains(item)).collect();
        ensure!(
            missing.is_empty(),
            "expected every item that was accepted",
            found = "that these are missing: {missing:?}"
        );
    }
    Ok(())
}

/// Fails if the error says that the same call must not be repeated.
fn refused_for_now(error: &StoreError) -> CaseResult {
    let later = error.retry != Retry::Never;
    ensure!(later, "expected an answer, or an error that may not come again", found = "{error}");
    Ok(())
}
