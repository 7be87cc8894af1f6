//! Many sessions at once: steps per second, and the time of a commit, beside bare transactions of the same group
//! sizes.

use std::sync::Arc;
use std::time::Instant;

use hdrhistogram::Histogram;
use holdover::store::StateStore;

use crate::raw::Raw;
use crate::scene::{self, Turn};
use crate::stats::Samples;
use crate::timed::{Timed, histogram};
use crate::{Failed, Settings};

/// The approximate minimum number of steps that are measured in total. Each session has at least [`STEPS_MIN`].
const STEPS_ALL_MIN: usize = 320;
const STEPS_MIN: usize = 10;

/// The measurements with `sessions` sessions at once.
pub(crate) struct Together {
    pub(crate) sessions: usize,
    pub(crate) steps: usize,
    pub(crate) steps_per_s: Samples,
    /// Microseconds from the call of a commit or staging to its acknowledgement.
    pub(crate) commit_us: Histogram<u64>,
    pub(crate) writes_per_transaction: Samples,
    /// Steps per second if only the same transactions are made, as bare inserts.
    pub(crate) raw_steps_per_s: Samples,
}

pub(crate) async fn measure(settings: &Settings) -> Result<Vec<Together>, Failed> {
    let together = settings.sessions.iter().map(|sessions| Together {
        sessions: *sessions,
        steps: steps(*sessions),
        steps_per_s: Samples::default(),
        commit_us: histogram(),
        writes_per_transaction: Samples::default(),
        raw_steps_per_s: Samples::default(),
    });
    let mut all: Vec<Together> = together.collect();
    for _ in 0..settings.repetitions {
        for together in &mut all {
            once(settings, together).await?;
        }
    }
    Ok(all)
}

/// Returns the number of steps of each session.
fn steps(sessions: usize) -> usize {
    (STEPS_ALL_MIN / sessions.max(1)).max(STEPS_MIN)
}

async fn once(settings: &Settings, together: &mut Together) -> Result<(), Failed> {
    let folder = tempfile::tempdir_in(&settings.places.folder)?;
    let store = scene::open(folder.path()).await?;
    let timed = Timed::new();
    let agent = scene::agent(Turn { steps: together.steps as u64, ..Turn::default() })?;
    let runtime = scene::runtime(Arc::new(timed.around(store.clone())), &agent);
    let before = store.writer_counts();
    let began = Instant::now();
    let turns = (0..together.sessions).map(|session| scene::turn(&runtime, &agent, session));
    futures::future::try_join_all(turns).await?;
    let took = began.elapsed().as_secs_f64();
    let after = store.writer_counts();
    let written = timed.writes();
    drop(runtime);
    let capabilities = store.capabilities();
    store.close().await;

    let steps = (together.sessions * together.steps) as f64;
    let (writes, transactions) = (after.writes - before.writes, after.groups - before.groups);
    together.steps_per_s.add(steps / took);
    together.commit_us.add(&written.latency)?;
    together.writes_per_transaction.add(writes as f64 / transactions.max(1) as f64);

    let mut raw = Raw::open(folder.path(), &capabilities)?;
    let bytes = written.bytes / writes.max(1);
    let mut took = 0.0;
    for at in 0..transactions {
        // The same total of inserts, spread evenly.
        let inserts = writes * (at + 1) / transactions - writes * at / transactions;
        took += raw.transaction(inserts, bytes)?.as_secs_f64();
    }
    together.raw_steps_per_s.add(steps / took);
    Ok(())
}
