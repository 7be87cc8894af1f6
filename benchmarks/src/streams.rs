//! A model that answers word by word: the writes during the answer, and how many of them are synced.

use std::sync::Arc;
use std::time::Instant;

use hdrhistogram::Histogram;

use crate::scene::{self, Turn};
use crate::stats::{Samples, cpu, ms};
use crate::timed::{Timed, histogram};
use crate::{Failed, Settings};

/// The numbers of words in an answer: 0, so that it comes at once, and 50, which take one second.
const WORDS: [usize; 2] = [0, 50];
const STEPS: u64 = 3;

/// The measurements with answers of `words` words.
pub(crate) struct Streamed {
    pub(crate) words: usize,
    pub(crate) step_ms: Samples,
    pub(crate) cpu_ms: Samples,
    /// The number of transactions of one step.
    pub(crate) transactions: Samples,
    /// The number of synced transactions of one step.
    pub(crate) synced: Samples,
    /// Microseconds from the call of a commit or staging to its acknowledgement.
    pub(crate) commit_us: Histogram<u64>,
}

pub(crate) async fn measure(settings: &Settings) -> Result<Vec<Streamed>, Failed> {
    let mut all: Vec<Streamed> = WORDS.map(Streamed::new).into();
    for _ in 0..settings.repetitions {
        for streamed in &mut all {
            streamed.once(settings).await?;
        }
    }
    Ok(all)
}

impl Streamed {
    fn new(words: usize) -> Self {
        Self {
            words,
            step_ms: Samples::default(),
            cpu_ms: Samples::default(),
            transactions: Samples::default(),
            synced: Samples::default(),
            commit_us: histogram(),
        }
    }

    async fn once(&mut self, settings: &Settings) -> Result<(), Failed> {
        let folder = tempfile::tempdir_in(&settings.places.folder)?;
        let store = scene::open(folder.path()).await?;
        let timed = Timed::new();
        let agent = scene::agent(Turn { steps: STEPS, words: self.words, ..Turn::default() })?;
        let runtime = scene::runtime(Arc::new(timed.around(store.clone())), &agent);
        let (before, began, worked) = (store.writer_counts(), Instant::now(), cpu());
        scene::turn(&runtime, &agent, 0).await?;
        let (after, took, worked) = (store.writer_counts(), began.elapsed(), cpu() - worked);
        drop(runtime);
        store.close().await;

        let groups = after.groups - before.groups;
        let synced = groups - (after.provisional - before.provisional);
        self.step_ms.add(ms(took) / STEPS as f64);
        self.cpu_ms.add(ms(worked) / STEPS as f64);
        self.transactions.add(groups as f64 / STEPS as f64);
        self.synced.add(synced as f64 / STEPS as f64);
        self.commit_us.add(&timed.writes().latency)?;
        Ok(())
    }
}
