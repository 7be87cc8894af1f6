//! Runs a worker until a stop signal, or until there is nothing left to do.

use std::num::NonZeroU32;
use std::pin::pin;
use std::time::Duration;

use holdover_core::store::{PAGE_ROWS_MAX, SessionQuery, SessionStatus, SessionSummary};
use holdover_runtime_local::AgentSource;
use tokio_util::sync::CancellationToken;

use crate::exit::Failure;
use crate::front::Front;
use crate::print::note;
use crate::signals::{Signals, Told};

/// The interval between two checks for remaining work.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The way in which the worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// There is nothing left to do.
    Idle,
    /// All runs that were active at the stop have released their sessions.
    Stopped,
    /// Some of those runs have not released their sessions in time. `None` if no signal told the process to stop.
    Late { told: Option<Told>, left: usize },
    /// The process was told to stop for the second time.
    AtOnce(Told),
}

/// Runs the worker until a stop signal, until `over` is cancelled or, if requested, until there is nothing left to do.
/// `work` runs until its token is cancelled, and returns the number of runs that were dropped. Sessions that the worker has
/// claimed by then are left to other workers or checked once more, so that no session stays held without a run.
/// `told_to_stop` is cancelled at the first stop signal.
pub(super) async fn serve(
    mut signals: Signals,
    work: impl AsyncFn(CancellationToken) -> Result<usize, Failure>,
    told_to_stop: &CancellationToken,
    until_idle: Option<impl AsyncFn() -> Result<bool, Failure>>,
    over: &CancellationToken,
) -> Result<Ended, Failure> {
    loop {
        let stop = CancellationToken::new();
        let mut working = pin!(work(stop.clone()));
        // The work may end by itself. It is then not awaited again.
        let mut done = None;
        let mut told = tokio::select! {
            left = &mut working => {
                done = Some(left?);
                None
            }
            () = over.cancelled() => None,
            told = signals.next() => Some(told),
            idle = idle(until_idle.as_ref()) => {
                idle?;
                None
            }
        };
        if told.is_some() {
            begin_to_stop(told_to_stop);
        }
        stop.cancel();
        let left = match done {
            Some(left) => left,
            None => loop {
                tokio::select! {
                    left = &mut working => break left?,
                    again = signals.next() => match told {
                        Some(_) => return Ok(Ended::AtOnce(again)),
                        None => {
                            told = Some(again);
                            begin_to_stop(told_to_stop);
                        }
                    }
                }
            },
        };
        match told {
            Some(_) if left == 0 => return Ok(Ended::Stopped),
            Some(told) => return Ok(Ended::Late { told: Some(told), left }),
            None if over.is_cancelled() && left == 0 => return Ok(Ended::Stopped),
            None if over.is_cancelled() => return Ok(Ended::Late { told: None, left }),
            // This repeats the check while this worker has no claim on its way: the first check may have missed a late
            // claim.
            None => match &until_idle {
                Some(is_idle) if !is_idle().await? => {}
                Some(_) | None => return Ok(Ended::Idle),
            },
        }
    }
}

fn begin_to_stop(told_to_stop: &CancellationToken) {
    told_to_stop.cancel();
    note("stopping once running calls have returned; a second signal stops at once");
}

/// Returns once nothing is left to do. Never returns if this was not requested.
async fn idle(is_idle: Option<&impl AsyncFn() -> Result<bool, Failure>>) -> Result<(), Failure> {
    let Some(is_idle) = is_idle else { return std::future::pending().await };
    while !is_idle().await? {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// Returns true if nothing is left to do: no served session is held or due. Sessions that wait for a later instant or
/// for an answer do not count. Both facts are read from one row at one instant, because a claim between two reads would
/// make a session appear neither held nor due. A page shows one instant; a claim between two pages may be missed.
pub(super) async fn is_idle(front: &Front) -> Result<bool, Failure> {
    let mut query = SessionQuery::all(front.common.tenant.clone());
    query.page.limit = NonZeroU32::new(PAGE_ROWS_MAX);
    let served = front.agents.queues();
    loop {
        let page = front.store.list_sessions(&query).await?;
        let now = front.runtime.now();
        let is_busy = |session: &SessionSummary| {
            let is_due = session.alarm.is_some_and(|alarm| alarm <= now);
            served.serves(&session.queue) && (session.status == SessionStatus::Active || is_due)
        };
        if page.items.iter().any(is_busy) {
            return Ok(false);
        }
        match page.next {
            Some(next) => query.page.after = Some(next),
            None => return Ok(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use holdover_core::ids::TenantId;
    use holdover_models::{ModelRef, connect};
    use holdover_runtime_local::{Agent, Agents, Execute, Runtime, RuntimeOptions, Worker, WorkerOptions};
    use holdover_store_sqlite::{SqliteOptions, SqliteStore};

    use super::*;

    /// Simulates a check that is overtaken: it finds nothing left to do, but a session is held by the time it returns.
    #[tokio::test]
    async fn a_look_that_is_overtaken_by_a_claim_leaves_no_session_held() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.toml");
        std::fs::write(&script, "stream = { delay_ms = 50 }\n[[turns]]\nsay = 'one two three four five'\n")
            .unwrap();
        let model: ModelRef = format!("scripted:{}", script.display()).parse().unwrap();
        let agent = Arc::new(Agent::builder("a").shared_model(connect(&model).unwrap()).build().unwrap());
        let store = SqliteStore::open(SqliteOptions::new(folder.path().join("s.db"))).await.unwrap();
        let agents = Arc::new(Agents::new().with(Arc::clone(&agent)));
        let runtime = Runtime::new(Arc::new(store), agents, RuntimeOptions::default());
        let tenant = TenantId::new("t").unwrap();
        let key = runtime.start(Execute::new(tenant, agent, "hello")).await.unwrap().key;
        let status = async || runtime.session(&key).await.unwrap().unwrap().status;
        let overtaken = AtomicBool::new(false);
        let look = async || {
            if overtaken.load(Ordering::SeqCst) {
                return Ok(status().await == SessionStatus::Idle);
            }
            while status().await != SessionStatus::Active {
                tokio::task::yield_now().await;
            }
            overtaken.store(true, Ordering::SeqCst);
            Ok(true)
        };
        let worker = Worker::new(runtime.clone(), WorkerOptions::default());
        let work = async |stop| Ok(worker.run(stop).await);
        let (told, over) = (CancellationToken::new(), CancellationToken::new());
        let ended = serve(Signals::listen().unwrap(), work, &told, Some(look), &over).await;
        assert_eq!(ended.unwrap(), Ended::Idle);
        assert!(overtaken.load(Ordering::SeqCst));
        assert_eq!(status().await, SessionStatus::Idle);
    }

    #[tokio::test]
    async fn work_that_ends_by_itself_is_not_awaited_again() {
        let work = async |_stop| Ok(0);
        let never = None::<fn() -> std::future::Ready<Result<bool, Failure>>>;
        let (told, over) = (CancellationToken::new(), CancellationToken::new());
        let ended = serve(Signals::listen().unwrap(), work, &told, never, &over).await;
        assert_eq!(ended.unwrap(), Ended::Idle);
    }

    #[tokio::test]
    async fn work_stops_once_it_is_over() {
        let over = CancellationToken::new();
        let never = None::<fn() -> std::future::Ready<Result<bool, Failure>>>;
        for (left, ended) in [(0, Ended::Stopped), (1, Ended::Late { told: None, left: 1 })] {
            let work = async |stop: CancellationToken| {
                over.cancel();
                stop.cancelled().await;
                Ok(left)
            };
            let told = CancellationToken::new();
            let found = serve(Signals::listen().unwrap(), work, &told, never, &over).await;
            assert_eq!(found.unwrap(), ended);
        }
    }
}
