//! `work`: serves the sessions that are due.

mod serve;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use holdover_core::engine::RunOutcome;
use holdover_core::ids::{CallId, SessionKey, ToolName};
use holdover_core::model::TokenUsage;
use holdover_core::phrases;
use holdover_core::store::OutcomeKind;
use holdover_core::tool::Progress;
use holdover_runtime_local::{CancellationToken, Elsewhere, Provisional, RunObserver, Worker, WorkerOptions};
use serde_json::json;
use tokio::time::{MissedTickBehavior, sleep};

use self::serve::{Ended, is_idle, serve};
use crate::args::{Common, Work};
use crate::engine::HowToWork;
use crate::exit::{Exit, Failure};
use crate::follow::REDRAW_EVERY;
use crate::front::{Front, WorkerParts};
use crate::print::view::{Doing, Serving};
use crate::print::{Out, counted, human, inline, json, note, screen};
use crate::signals::{Signals, Told};
use crate::store::IfMissing;

/// Serves the sessions that are due.
pub(crate) async fn work(common: &Common, args: &Work) -> Result<Exit, Failure> {
    works(common, args, Around::default(), async |_, _| Ok(std::future::ready(()))).await
}

/// The surroundings of a worker that has more to do than to work.
#[derive(Default)]
pub(crate) struct Around {
    /// The client for other programs, in place of the default one.
    pub(crate) elsewhere: Option<Arc<dyn Elsewhere>>,
    /// The time for which the work beside goes on at least after the first stop signal, unless there is a second one.
    pub(crate) linger: Duration,
    /// Ends the work when it is cancelled, as a stop signal does.
    pub(crate) over: CancellationToken,
}

/// Serves the sessions that are due, until a stop signal. `beside` starts work that runs in parallel, and returns a future that
/// ends that work. It is given a token that is cancelled at the first stop signal.
pub(crate) async fn works<End: Future<Output = ()>>(
    common: &Common,
    args: &Work,
    around: Around,
    beside: impl AsyncFnOnce(&Front, CancellationToken) -> Result<End, Failure>,
) -> Result<Exit, Failure> {
    if let Some(engine) = common.engine.as_ref().filter(|_| args.until_idle) {
        let why = "--until-idle is for a worker alone: an engine keeps its workers";
        return Err(Failure::wrong_use(format!("engine {engine}: {why}")));
    }
    let Around { elsewhere, linger, over } = around;
    let teller = Arc::new(Teller::new(Out::new(common)));
    let observer = Some(Arc::clone(&teller) as Arc<dyn RunObserver>);
    let parts = WorkerParts { observer, queues: args.queue.clone(), elsewhere };
    let front = Front::serving(common, Some(&args.drive), IfMissing::Create, parts).await?;
    let worker = Worker::new(front.runtime.clone(), options_of(common, args));
    let how = HowToWork { max_running: args.max_running, drain: args.drain.into(), grace: args.grace };
    let told = CancellationToken::new();
    let work = async |stop: CancellationToken| {
        let done = CancellationToken::new();
        let works = async {
            let left = match &front.engine {
                None => Ok(worker.run(stop.clone()).await),
                Some(engine) => {
                    let work = engine.work(front.runtime.clone(), &how, stop.clone());
                    both(&worker, work, stop.clone()).await
                }
            };
            done.cancel();
            left
        };
        let lingers = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => if told.is_cancelled() { sleep(linger).await },
                // The work ended by itself.
                () = done.cancelled() => {}
            }
        };
        tokio::join!(works, lingers).0
    };
    let id = front.runtime.worker_id().clone();
    front.out.passing(front.out.dim(&format!("worker {id} serves {}", served(common, args))));
    // Whoever is told where this process listens may stop it.
    let signals = Signals::listen()?;
    let end = beside(&front, told.clone()).await?;
    let ended = tokio::select! {
        ended = serve(signals, work, &told, args.until_idle.then_some(async || is_idle(&front).await), &over) => ended?,
        never = teller.draw() => match never {},
    };
    end.await;
    let (why, exit) = match ended {
        Ended::Idle => ("idle", Exit::Completed),
        Ended::Stopped => ("stopped", Exit::Completed),
        Ended::Late { told, left } => {
            note(&format!("--grace is over; left for others to take over: {}", counted(left, "session")));
            ("stopped late", told.map_or(Exit::Completed, Told::exit))
        }
        Ended::AtOnce(told) => ("stopped at once", told.exit()),
    };
    let ended = teller.ended().clone();
    let how: Vec<String> =
        ended.iter().map(|(kind, count)| format!("{count} {}", phrases::outcome(*kind))).collect();
    let runs = match ended.values().sum::<u64>() {
        0 => String::new(),
        runs => format!("; {}: {}", counted(runs, "run"), how.join(", ")),
    };
    front.out.passing(front.out.dim(&format!("worker {id}: {why}{runs}")));
    let runs: BTreeMap<&str, u64> = ended.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    front.out.object(&json!({ "worker": id, "stopped": why, "runs": runs }));
    front.close().await;
    Ok(exit)
}

/// Returns the options of the worker. Beside an engine, it is the net for sessions that the engine was not told of.
fn options_of(common: &Common, args: &Work) -> WorkerOptions {
    let options = match common.engine {
        Some(_) => WorkerOptions::net(),
        // On SQLite, other processes send no change hints.
        None => WorkerOptions::default().poll(Duration::from_secs(1)),
    };
    options
        .max_running(args.max_running)
        .tenant((!args.all_tenants).then(|| common.tenant.clone()))
        .drain(args.drain.into())
        .shutdown_grace(args.grace)
}

/// Runs the net and the worker of an engine until `stop` is cancelled. If the worker of the engine fails, the net stops
/// too.
async fn both(
    net: &Worker,
    worker: impl Future<Output = Result<usize, Failure>>,
    stop: CancellationToken,
) -> Result<usize, Failure> {
    let worker = async {
        let left = worker.await;
        stop.cancel();
        left
    };
    let (left, with_engine) = tokio::join!(net.run(stop.clone()), worker);
    Ok(left.max(with_engine?))
}

/// Returns the sessions that the worker serves, in words.
fn served(common: &Common, args: &Work) -> String {
    let whose = match args.all_tenants {
        true => "every tenant".to_owned(),
        false => format!("tenant {}", common.tenant),
    };
    match &common.engine {
        Some(engine) => format!("what {engine} asks for, and as its net {whose}, on {}", common.store),
        None => format!("{whose} on {}", common.store),
    }
}

/// Reports the work in progress. If progress is drawn, only finished runs are printed.
struct Teller {
    out: Out,
    began: Instant,
    serving: Mutex<Serving>,
    /// The number of finished runs, by the kind of their outcome.
    ended: Mutex<BTreeMap<OutcomeKind, u64>>,
}

impl Teller {
    fn new(out: Out) -> Self {
        Self { out, began: Instant::now(), serving: Mutex::default(), ended: Mutex::default() }
    }

    /// Returns the number of finished runs, by the kind of their outcome.
    fn ended(&self) -> MutexGuard<'_, BTreeMap<OutcomeKind, u64>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serving(&self) -> MutexGuard<'_, Serving> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, line: &str) {
        if !self.out.draws() {
            self.out.passing(line);
        }
    }

    /// Draws the work in progress. Never returns.
    async fn draw(&self) -> Infallible {
        let mut redraw = tokio::time::interval(REDRAW_EVERY);
        redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            redraw.tick().await;
            let lines = self.serving().lines(self.began.elapsed(), screen::columns());
            self.out.draw(&lines);
        }
    }
}

impl RunObserver for Teller {
    fn on_model_call(&self, of: &Provisional) {
        let now = self.began.elapsed();
        let doing = Doing::Asking { step: of.step, attempt: of.attempt };
        self.serving().session(&of.session.id, now).does(doing, now);
        self.say(&format!("session {}: step {}: the model is asked", of.session.id, of.step));
    }

    fn on_model_answered(&self, of: &Provisional, used: TokenUsage) {
        let now = self.began.elapsed();
        let mut serving = self.serving();
        serving.tokens = serving.tokens.saturating_add(used.total());
        serving.session(&of.session.id, now).does(Doing::Working, now);
    }

    fn on_call_started(&self, of: &Provisional, tool: &str) {
        self.say(&format!("session {}: step {}: it asks for {}", of.session.id, of.step, inline(tool)));
    }

    fn on_call_sent(&self, session: &SessionKey, call: &CallId, tool: &ToolName) {
        let now = self.began.elapsed();
        self.serving().session(&session.id, now).sent(call.clone(), tool.clone(), now);
    }

    fn on_call_progress(&self, session: &SessionKey, call: &CallId, progress: &Progress) {
        if let Some(session) = self.serving().running.get_mut(&session.id) {
            session.progressed(call, progress);
        }
    }

    fn on_call_over(&self, session: &SessionKey, call: &CallId) {
        // A call may return after its run is over.
        if let Some(session) = self.serving().running.get_mut(&session.id) {
            session.back(call);
        }
    }

    fn on_run_over(&self, session: &SessionKey, outcome: &RunOutcome) {
        let mut serving = self.serving();
        serving.running.remove(&session.id);
        serving.over += 1;
        drop(serving);
        *self.ended().entry(outcome.kind()).or_default() += 1;
        self.out.passing(format!("session {}: {}", session.id, human::outcome(outcome)));
        let kind = json!({ "kind": outcome.kind().as_str() });
        self.out.object(&json::last(&session.id, kind, None, (false, None)));
    }
}
