//! The measured writes: a number of tasks, each of which makes one write after another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use holdover::session::{Deletion, Fence, Incarnation, Labels, SessionKey};
use holdover::store::StateStore;
use holdover_store::ids::StateFormat;
use holdover_store::payload::Payload;
use holdover_store::{
    ClaimOne, Commit, CommitOutcome, CreateOutcome, NewMessage, NewSession, NewState, Start,
};
use uuid::Uuid;

use super::Speed;
use super::bare::Bare;
use crate::Failed;

/// The payload bytes of a commit: those of a step whose tool returned 4 KB.
const MESSAGE_BYTES: usize = 4096;
const STATE_BYTES: usize = 1024;
const EVENT_BYTES: usize = 256;

/// The payload bytes of a commit, and of a bare insert.
pub(crate) const BYTES: usize = MESSAGE_BYTES + STATE_BYTES + EVENT_BYTES;

/// The lease of a claimed session, longer than any measurement.
const LEASE: Duration = Duration::from_secs(3600);

/// Measures `each` commits in each of `sessions` new sessions at once. Creating and deleting the sessions is not
/// measured.
pub(super) async fn commits(
    store: &Arc<dyn StateStore>,
    sessions: usize,
    each: usize,
    speed: &mut Speed,
) -> Result<(), Failed> {
    let fences = try_join_all((0..sessions).map(|_| running(store))).await?;
    let began = Instant::now();
    let tasks = fences.iter().cloned().map(|fence| {
        let store = Arc::clone(store);
        tokio::spawn(async move { commit(&*store, &fence, each).await })
    });
    let took = try_join_all(tasks).await?;
    let all = began.elapsed();
    speed.add(took, all)?;
    for fence in fences {
        store.delete_session(&fence.key, Deletion::FORCE).await?;
    }
    Ok(())
}

/// Measures `each` inserts, with as many bytes as a commit, by each of `tasks` tasks at once.
pub(super) async fn inserts(
    bare: &Arc<Bare>,
    tasks: usize,
    each: usize,
    speed: &mut Speed,
) -> Result<(), Failed> {
    let began = Instant::now();
    let tasks = (0..tasks).map(|_| {
        let bare = Arc::clone(bare);
        tokio::spawn(async move {
            let mut took = Vec::with_capacity(each);
            for _ in 0..each {
                let bytes = random(BYTES);
                let asked = Instant::now();
                bare.insert(bytes).await?;
                took.push(asked.elapsed());
            }
            Ok(took)
        })
    });
    let took = try_join_all(tasks).await?;
    let all = began.elapsed();
    speed.add(took, all)?;
    bare.clear().await
}

impl Speed {
    fn add(&mut self, tasks: Vec<Result<Vec<Duration>, Failed>>, all: Duration) -> Result<(), Failed> {
        let mut writes = 0;
        for took in tasks {
            for time in took? {
                self.us.record(u64::try_from(time.as_micros())?)?;
                writes += 1;
            }
        }
        self.per_s.add(f64::from(writes) / all.as_secs_f64());
        Ok(())
    }
}

/// Creates a session that this process has claimed.
async fn running(store: &Arc<dyn StateStore>) -> Result<Fence, Failed> {
    let name = Uuid::new_v4();
    let claim = ClaimOne {
        run: format!("run-{name}").parse()?,
        worker: "benchmark".parse()?,
        lease: LEASE,
        expected_version: None,
        items: Vec::new(),
    };
    let new = NewSession {
        key: SessionKey::new("benchmark".parse()?, format!("session-{name}").parse()?),
        incarnation: Incarnation(name),
        operation: format!("create-{name}").parse()?,
        queue: "benchmark".parse()?,
        labels: Labels::default(),
        definition: Payload::new("{}"),
        format: StateFormat(1),
        items: Vec::new(),
        start: Start::Claimed(claim),
    };
    let created = store.create_session(new).await?;
    let CreateOutcome::Created { claim: Some(claim), .. } = created else {
        return Err(format!("a new session was not created: {created:?}").into());
    };
    Ok(claim.fence)
}

async fn commit(store: &dyn StateStore, fence: &Fence, each: usize) -> Result<Vec<Duration>, Failed> {
    let mut took = Vec::with_capacity(each);
    for nth in 0..each {
        let commit = Commit {
            state: Some(NewState { format: StateFormat(1), payload: Payload::new(random(STATE_BYTES)) }),
            messages: vec![NewMessage::Inline(Payload::new(random(MESSAGE_BYTES)))],
            events: vec![Payload::new(random(EVENT_BYTES))],
            ..Commit::new(format!("commit-{nth}").parse()?)
        };
        let asked = Instant::now();
        let outcome = store.commit(fence, commit).await?;
        took.push(asked.elapsed());
        let CommitOutcome::Committed(_) = outcome else {
            return Err(format!("a commit was refused: {outcome:?}").into());
        };
    }
    Ok(took)
}

/// Returns bytes that no backend can compress.
fn random(bytes: usize) -> Vec<u8> {
    let mut random = vec![0; bytes];
    fastrand::fill(&mut random);
    random
}
