//! Measures, on a store with many other sessions, how long a worker takes to find work, and a person to find and answer
//! a call.

mod crowd;
mod idle;
mod report;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use holdover::pending::PendingQuery;
use holdover::runtime::Queues;
use holdover::session::{SessionKey, SessionQuery};
use holdover::store::StateStore;
use holdover_store::ClaimDue;
use holdover_store::ids::StateFormat;

use self::crowd::{Asked, LEASE, QUEUE};
use crate::stores::{Backend, Place};
use crate::timed::histogram;
use crate::{Failed, Places, machine};

/// The arguments of the scaling benchmark.
#[derive(clap::Args)]
pub(crate) struct Scaling {
    /// The number of suspended sessions, each with an open call and an alarm in the future.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    beside: usize,
    /// The number of due sessions of one tenant while tenants take turns.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    backlog: usize,
    /// The number of repetitions of each measurement.
    #[arg(long, value_name = "N", default_value_t = 200)]
    times: usize,
    /// The number of seconds for which the exchanges of a worker that finds nothing are counted.
    #[arg(long, value_name = "N", default_value_t = 30)]
    idle: u64,
    /// Measures this backend alone: sqlite, postgres, redis or redis-cluster.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Writes the report to this file too.
    #[arg(long, value_name = "FILE.md")]
    pub(crate) report: Option<std::path::PathBuf>,
    #[command(flatten)]
    places: Places,
}

/// The measurements of one store.
struct Measured {
    /// The backend's name in the store's capabilities.
    backend: String,
    /// The waits on a store without other sessions.
    alone: Waits,
    /// The waits beside the crowd.
    beside: Waits,
    /// The exchanges per second of a worker that finds nothing, beside the crowd. `None` for SQLite, which has no
    /// server, and for a cluster, which has several.
    exchanges: Option<f64>,
    /// The time it took to create the crowd.
    made_in: Duration,
    /// Microseconds from the instant at which a session of the small tenant is due until it is claimed, beside the
    /// backlog.
    turn: Histogram<u64>,
    /// The same time without a backlog.
    no_backlog: Histogram<u64>,
}

/// The microseconds that each of these takes.
struct Waits {
    /// A search that finds nothing due.
    idle: Histogram<u64>,
    /// A claim of one of a hundred due sessions.
    claim: Histogram<u64>,
    /// A search for an open call by its id.
    find: Histogram<u64>,
    /// The delivery of its answer.
    answer: Histogram<u64>,
}

/// The number of sessions that are due when one is claimed.
const DUE: usize = 100;

impl Scaling {
    /// Measures SQLite and each server whose URL is given, or only the one of them that `only` names. Returns the page.
    pub(crate) async fn measure(&self, command: &str) -> Result<String, Failed> {
        let facts = machine::facts(&self.places.folder).await?;
        let mut all = Vec::new();
        for place in Place::all(&self.places) {
            let name = place.name();
            if self.only.as_ref().is_some_and(|only| only.replace('-', " ") != name) {
                continue;
            }
            let measured = self.one(&place).await;
            all.push(measured.map_err(|error| format!("{name}: {error}"))?);
        }
        Ok(report::write(command, &facts, self.beside, self.backlog, &all))
    }

    async fn one(&self, place: &Place) -> Result<Measured, Failed> {
        let backend = Backend::open(place).await?;
        let store = backend.store();
        let alone = self.waits(store).await?;
        let began = Instant::now();
        crowd::suspended(store, "crowd", self.beside).await?;
        let made_in = began.elapsed();
        backend.settle().await?;
        let beside = self.waits(store).await?;
        let exchanges = idle::exchanges(&backend, Duration::from_secs(self.idle)).await?;
        let no_backlog = self.turns(store, 0).await?;
        let turn = self.turns(store, self.backlog).await?;
        let backend_name = store.capabilities().backend;
        backend.close().await?;
        Ok(Measured { backend: backend_name, alone, beside, exchanges, made_in, turn, no_backlog })
    }

    async fn waits(&self, store: &Arc<dyn StateStore>) -> Result<Waits, Failed> {
        let [mut idle, mut claim, mut find, mut answer] = [(); 4].map(|()| histogram());
        for _ in 0..self.times {
            let found = timed(&mut idle, store.claim_due(due(1)?)).await??;
            if !found.is_empty() {
                return Err("a session was due that should not be".into());
            }
        }
        let mut waiting = crowd::due(store, "due", DUE, 0).await?;
        for _ in 0..self.times {
            let claims = timed(&mut claim, store.claim_due(due(1)?)).await??;
            let [claimed] = &claims[..] else { return Err("no session was due".into()) };
            crowd::end(&**store, claimed).await?;
            waiting.retain(|key| *key != claimed.fence.key);
            waiting.extend(crowd::due(store, "due", 1, 0).await?);
        }
        crowd::remove(&**store, &waiting).await?;
        let asked = crowd::suspended(store, "asked", self.times).await?;
        for one in &asked {
            let found = timed(&mut find, find_asking(&**store, one)).await??;
            timed(&mut answer, crowd::answer(&**store, &found, one)).await??;
        }
        // The answered sessions are due now, and the next measurement must not find them.
        crowd::remove(&**store, &asked.iter().map(|one| one.key.clone()).collect::<Vec<_>>()).await?;
        Ok(Waits { idle, claim, find, answer })
    }

    /// Measures how long a small tenant waits for a worker that claims one session after another, while another
    /// tenant has `backlog` sessions due.
    async fn turns(&self, store: &Arc<dyn StateStore>, backlog: usize) -> Result<Histogram<u64>, Failed> {
        let mut waited = histogram();
        // These sessions have been due for longer than the small tenant's.
        let many = crowd::due(store, "many", backlog, 0).await?;
        for _ in 0..self.times {
            let few = crowd::due(store, "small", 1, 1).await?;
            let began = Instant::now();
            loop {
                let claims = store.claim_due(due(1)?).await?;
                let [claimed] = &claims[..] else { return Err("no session was due".into()) };
                let is_ours = few.contains(&claimed.fence.key);
                if is_ours {
                    waited.record(u64::try_from(began.elapsed().as_micros())?)?;
                }
                crowd::end(&**store, claimed).await?;
                if is_ours {
                    break;
                }
            }
        }
        crowd::remove(&**store, &many).await?;
        Ok(waited)
    }
}

/// Finds an open call as `holdover approve ID` does: first the session of the incarnation that the id names, then
/// its calls.
async fn find_asking(store: &dyn StateStore, asked: &Asked) -> Result<SessionKey, Failed> {
    let tenant = asked.key.tenant.clone();
    let by_life = SessionQuery { life: Some(asked.life), ..SessionQuery::all(tenant.clone()) };
    let sessions = store.list_sessions(&by_life).await?.items;
    let session = sessions.into_iter().next().ok_or("no session has this life")?;
    let of_session = PendingQuery { session: Some(session.key.id.clone()), ..PendingQuery::all(tenant) };
    let open = store.list_pending(&of_session).await?.items;
    match open.iter().any(|call| call.id == asked.pending) {
        true => Ok(session.key),
        false => Err("it has no such open call".into()),
    }
}

/// Returns the request to claim at most `count` due sessions.
fn due(count: usize) -> Result<ClaimDue, Failed> {
    let run = || Ok::<_, Failed>(format!("run-{}", uuid::Uuid::new_v4()).parse()?);
    Ok(ClaimDue {
        runs: (0..count).map(|_| run()).collect::<Result<_, _>>()?,
        worker: "benchmark".parse()?,
        lease: LEASE,
        queues: Queues::Named(vec![QUEUE.parse()?]),
        newest_format: StateFormat(1),
        tenant: None,
    })
}

async fn timed<T>(into: &mut Histogram<u64>, what: impl Future<Output = T>) -> Result<T, Failed> {
    let began = Instant::now();
    let done = what.await;
    into.record(u64::try_from(began.elapsed().as_micros())?)?;
    Ok(done)
}
