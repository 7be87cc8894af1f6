//! The workload for comparisons with other engines: many sessions at once, each with a number of steps, and each step
//! with a short answer and one call with an effect. Instead, it can make as many bare writes of the same bytes, or the
//! same answers in a loop that stores nothing. The result is one line of JSON.

mod resume;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use holdover::store::{Capabilities, StateStore};
use serde_json::{Value, json};

use crate::scene::{self, Turn};
use crate::stats::{cpu, ms};
use crate::stores::{Backend, Bare, Place};
use crate::{Failed, flows};

pub(crate) use self::resume::Resume;

/// The bytes of the model's answer in a step, and of the result of its call.
pub(crate) const BYTES: usize = 200;
/// The durable points of a step: before its call, and after it.
const WRITES: u64 = 2;

/// One run of the workload.
#[derive(clap::Args)]
pub(crate) struct Work {
    /// The place of the store. For `sqlite:FILE`, a new file is created in the folder of FILE; the name FILE itself is
    /// not used. For `postgres://…`, a new schema is created; for `redis://…`, a new namespace.
    #[arg(long, value_name = "URL")]
    store: String,
    /// The number of sessions that run at once.
    #[arg(long, value_name = "N", default_value_t = 32)]
    sessions: usize,
    /// The number of steps of each session.
    #[arg(long, value_name = "N", default_value_t = 50)]
    steps: u64,
    /// The time that the model takes, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    model_ms: u64,
    /// Makes as many bare writes of the same bytes to the same place instead.
    #[arg(long)]
    bare: bool,
    /// Makes the same answers and calls in a loop that stores nothing instead.
    #[arg(long, conflicts_with = "bare")]
    plain: bool,
    /// Does the work as a flow: the answer of the model is a step, too.
    #[arg(long, conflicts_with_all = ["bare", "plain"])]
    flow: bool,
}

impl Work {
    /// Runs the workload and returns the line of results.
    pub(crate) async fn measure(&self) -> Result<Value, Failed> {
        let backend = Backend::open(&Place::of(&self.store)?).await?;
        let measured = self.on(&backend).await;
        let files = backend.close().await?;
        let mut measured = measured?;
        let file = if self.bare { files.bare } else { files.store };
        measured.stored += file;
        Ok(measured.line(self))
    }

    async fn on(&self, backend: &Backend) -> Result<Measured, Failed> {
        let before = backend.server_bytes().await?;
        let (began, worked) = (Instant::now(), cpu());
        if self.bare {
            self.insert(backend.bare()).await?;
        } else if self.plain {
            self.keep_nothing().await?;
        } else if self.flow {
            let thinks = Duration::from_millis(self.model_ms);
            flows::sessions(backend.store(), self.sessions, self.steps, thinks).await?;
        } else {
            self.run(backend.store()).await?;
        }
        let (took, worked) = (began.elapsed(), cpu() - worked);
        let stored = backend.server_bytes().await?.saturating_sub(before);
        Ok(Measured { took, worked, stored, capabilities: backend.store().capabilities() })
    }

    /// Returns the name of what is measured.
    fn system(&self) -> &'static str {
        match self {
            Self { bare: true, .. } => "bare",
            Self { plain: true, .. } => "loop",
            Self { flow: true, .. } => "holdover-flow",
            Self { .. } => "holdover",
        }
    }

    async fn run(&self, store: &Arc<dyn StateStore>) -> Result<(), Failed> {
        let agent = scene::agent(turn(self.steps, Duration::from_millis(self.model_ms)))?;
        let runtime = scene::runtime(Arc::clone(store), &agent);
        let turns = (0..self.sessions).map(|session| scene::turn(&runtime, &agent, session));
        try_join_all(turns).await.map(drop)
    }

    async fn keep_nothing(&self) -> Result<(), Failed> {
        let turn = turn(self.steps, Duration::from_millis(self.model_ms));
        let sessions = (0..self.sessions).map(|_| {
            let turn = turn.clone();
            tokio::spawn(async move { scene::plain(&turn).await })
        });
        try_join_all(sessions).await.map(drop).map_err(Failed::from)
    }

    async fn insert(&self, bare: &Arc<Bare>) -> Result<(), Failed> {
        let (writes, thinks) = (self.steps * WRITES, Duration::from_millis(self.model_ms));
        let sessions = (0..self.sessions).map(|_| {
            let bare = Arc::clone(bare);
            tokio::spawn(async move {
                for write in 0..writes {
                    if write % WRITES == 0 && !thinks.is_zero() {
                        tokio::time::sleep(thinks).await;
                    }
                    let mut bytes = vec![0; BYTES];
                    fastrand::fill(&mut bytes);
                    bare.insert(bytes).await?;
                }
                Ok::<_, Failed>(())
            })
        });
        try_join_all(sessions).await?.into_iter().collect()
    }
}

/// The measurements of one run.
struct Measured {
    took: Duration,
    /// The processor time of the process, on all cores together.
    worked: Duration,
    /// The bytes stored for all sessions.
    stored: u64,
    capabilities: Capabilities,
}

impl Measured {
    fn line(self, work: &Work) -> Value {
        let settings: serde_json::Map<String, Value> =
            self.capabilities.settings.into_iter().map(|(name, value)| (name, value.into())).collect();
        let steps = work.sessions as f64 * work.steps as f64;
        json!({
            "system": work.system(),
            "version": env!("CARGO_PKG_VERSION"),
            "store": self.capabilities.backend,
            "settings": settings,
            "sessions": work.sessions,
            "steps": work.steps,
            "seconds": self.took.as_secs_f64(),
            "steps_per_s": steps / self.took.as_secs_f64(),
            "ms_per_step": ms(self.took) / work.steps as f64,
            "cpu_ms_per_step": ms(self.worked) / steps,
            "bytes_stored": self.stored / work.sessions.max(1) as u64,
        })
    }
}

fn turn(steps: u64, thinks: Duration) -> Turn {
    Turn { steps, text_bytes: BYTES, result_bytes: BYTES, thinks, ..Turn::default() }
}
