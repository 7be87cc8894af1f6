//! The cost of a durable engine: the same turns by a worker alone, by Temporal and by Restate, on SQLite.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use holdover::prelude::*;
use holdover::restate::{RestateEngine, RestateOptions, RestateWorker};
use holdover::runtime::{CancellationToken, Engine};
use holdover::session::OutcomeKind;
use holdover::store::StateStore;
use holdover::temporal::{TemporalEngine, TemporalOptions, TemporalWorker};
use uuid::Uuid;

use crate::scene::{self, Turn};
use crate::stats::{Samples, ms};
use crate::work::BYTES;
use crate::{Failed, machine};

/// The cost of each engine whose address is given, beside a worker alone.
#[derive(clap::Args)]
pub(crate) struct Engines {
    /// The folder for the databases. Its file system is part of the measurement.
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    folder: PathBuf,
    /// The address of a namespace of Temporal.
    #[arg(long, value_name = "URL", env = "HOLDOVER_TEMPORAL_URL")]
    temporal: Option<String>,
    /// The URL at which a Restate server takes calls.
    #[arg(long, value_name = "URL", env = "HOLDOVER_RESTATE_INGRESS_URL", requires = "restate_admin")]
    restate: Option<String>,
    /// The URL of its admin API.
    #[arg(long, value_name = "URL", env = "HOLDOVER_RESTATE_ADMIN_URL")]
    restate_admin: Option<String>,
    /// The number of repetitions, in each of which every system is measured once.
    #[arg(long, value_name = "N", default_value_t = 5)]
    repetitions: u32,
    /// The number of turns of one step that are measured one after another.
    #[arg(long, value_name = "N", default_value_t = 50)]
    turns: usize,
    /// The number of sessions that run at once.
    #[arg(long, value_name = "N", default_value_t = 32)]
    sessions: usize,
    /// The number of steps of each of them.
    #[arg(long, value_name = "N", default_value_t = 10)]
    steps: u64,
    /// Writes the report to this file too.
    #[arg(long, value_name = "FILE.md")]
    pub(crate) report: Option<PathBuf>,
}

/// A system that decides when sessions run.
#[derive(Debug, Clone)]
enum System {
    Alone,
    Temporal(TemporalOptions),
    Restate(RestateOptions),
}

impl System {
    fn name(&self) -> &'static str {
        match self {
            Self::Alone => "a worker alone",
            Self::Temporal(_) => "Temporal",
            Self::Restate(_) => "Restate",
        }
    }

    fn engine(&self) -> Result<Option<Arc<dyn Engine>>, Failed> {
        Ok(match self {
            Self::Alone => None,
            Self::Temporal(options) => Some(Arc::new(TemporalEngine::new(options.clone()))),
            Self::Restate(options) => Some(Arc::new(RestateEngine::new(options)?)),
        })
    }

    /// Works until `stop` is cancelled.
    async fn work(self, runtime: Runtime, stop: CancellationToken) -> Result<(), Failed> {
        match self {
            Self::Alone => Worker::new(runtime, WorkerOptions::default()).run(stop).await,
            Self::Temporal(options) => TemporalWorker::new(runtime, options)?.run(stop).await,
            Self::Restate(options) => RestateWorker::new(runtime, &options)?.run(stop).await?,
        };
        Ok(())
    }
}

/// The measurements of one system.
struct Measured {
    system: System,
    /// The milliseconds of a turn of one step, from the message to its end.
    turn: Samples,
    /// The steps per second of all sessions together.
    together: Samples,
}

impl Engines {
    /// Measures each system, and returns the report.
    pub(crate) async fn measure(&self, command: &str) -> Result<String, Failed> {
        let facts = machine::facts(&self.folder).await?;
        let mut measured: Vec<Measured> = Vec::new();
        for system in self.systems()? {
            measured.push(Measured { system, turn: Samples::default(), together: Samples::default() });
        }
        for _ in 0..self.repetitions {
            for measured in &mut measured {
                self.measure_once(measured).await?;
            }
        }
        Ok(self.page(command, &facts, &measured))
    }

    fn systems(&self) -> Result<Vec<System>, Failed> {
        let mut systems = vec![System::Alone];
        if let Some(url) = &self.temporal {
            systems.push(System::Temporal(TemporalOptions::new(url)?.max_running(places(self.sessions))));
        }
        if let (Some(ingress), Some(admin)) = (&self.restate, &self.restate_admin) {
            let options = RestateOptions::default().ingress_url(ingress).admin_url(admin);
            let anywhere = std::net::SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, 0));
            systems.push(System::Restate(options.listen(anywhere).max_running(places(self.sessions))));
        }
        Ok(systems)
    }

    async fn measure_once(&self, measured: &mut Measured) -> Result<(), Failed> {
        let folder = tempfile::tempdir_in(&self.folder)?;
        let store = scene::open(folder.path()).await?;
        for steps in [1, self.steps] {
            let agent =
                scene::agent(Turn { steps, text_bytes: BYTES, result_bytes: BYTES, ..Turn::default() })?;
            let agents = Agents::new().with(Arc::clone(&agent));
            let options = RuntimeOptions::default().engine(measured.system.engine()?).run_here(false);
            let runtime = Runtime::new(Arc::new(store.clone()) as Arc<dyn StateStore>, agents, options);
            let stop = CancellationToken::new();
            let worker = tokio::spawn(measured.system.clone().work(runtime.clone(), stop.clone()));
            // The first turn waits until the worker is known to the engine.
            turn(&runtime, &agent).await?;
            if steps == 1 {
                for _ in 0..self.turns {
                    measured.turn.add(ms(turn(&runtime, &agent).await?));
                }
            } else {
                let began = Instant::now();
                try_join_all((0..self.sessions).map(|_| turn(&runtime, &agent))).await?;
                let all = self.sessions as f64 * steps as f64;
                measured.together.add(all / began.elapsed().as_secs_f64());
            }
            stop.cancel();
            worker.await??;
        }
        store.close().await;
        Ok(())
    }

    fn page(&self, command: &str, facts: &machine::Facts, measured: &[Measured]) -> String {
        let mut page = String::from(
            "# What a durable engine costs\n\nWritten by `benchmarks engines`. The same turns run on SQLite by a worker alone, \
             and by workers of [Temporal and Restate](how-to/engines.md), in one process and on one machine with the \
             engine's server. A step has a model's answer and one call with an effect, so two synced writes.\n\n",
        );
        let _ = writeln!(page, "```sh\n{command}\n```\n\n| | |\n|---|---|");
        for (name, value) in facts {
            let _ = writeln!(page, "| {name} | {value} |");
        }
        let _ = writeln!(
            page,
            "\nEach value is the median (10th–90th percentile) of {} repetitions, in which the systems take turns.\n\n\
             | decides | a turn of one step, ms | {} sessions with {} steps each, steps per second |\n|---|---|---|",
            self.repetitions, self.sessions, self.steps
        );
        for Measured { system, turn, together } in measured {
            let _ = writeln!(page, "| {} | {turn} | {together} |", system.name());
        }
        page.push_str(
            "\nThe first column is the way of one message: it is stored, the engine is woken, a worker is asked, runs the \
             session and tells the engine, and the caller sees the end. The second is work beside other work. The steps of \
             a turn cost the same with each: the engine only begins and ends the turn.\n",
        );
        page
    }
}

fn places(sessions: usize) -> std::num::NonZeroUsize {
    std::num::NonZeroUsize::new(sessions).unwrap_or(std::num::NonZeroUsize::MIN)
}

/// Runs one turn in a session of its own, and returns its time.
async fn turn(runtime: &Runtime, agent: &Arc<Agent>) -> Result<Duration, Failed> {
    let began = Instant::now();
    let request = Execute::new(TenantId::new("acme")?, Arc::clone(agent), "Begin.");
    let request = request.in_session(SessionId::new(Uuid::new_v4().to_string())?);
    let outcome = runtime.execute(request).await?.outcome().await?;
    if outcome.kind() != OutcomeKind::Completed {
        return Err(format!("the turn ended otherwise: {outcome:?}").into());
    }
    Ok(began.elapsed())
}
