//! `work`: serving the sessions that are due.

use std::convert::Infallible;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use holdover_core::ids::{CallId, SessionKey, ToolName};
use holdover_core::model::TokenUsage;
use holdover_core::step::RunOutcome;
use holdover_core::store::{PAGE_ROWS_MAX, SessionQuery, SessionStatus, SessionSummary, StateStore};
use holdover_runtime_local::{Provisional, RunObserver, Worker, WorkerOptions};
use serde_json::json;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::args::{Common, Work};
use crate::exit::{Exit, Failure};
use crate::follow::REDRAW_EVERY;
use crate::front::Front;
use crate::print::view::{Doing, Serving};
use crate::print::{Out, human, inline, json, note, screen};
use crate::signals::{Signals, Told};
use crate::store::IfMissing;

/// How often it is asked whether anything is left to do.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Serves the sessions that are due.
pub(crate) async fn work(common: &Common, args: &Work) -> Result<Exit, Failure> {
    let teller = Arc::new(Teller::new(Out::new(common)));
    let observer = Arc::clone(&teller) as Arc<dyn RunObserver>;
    let front = Front::observed(common, Some(&args.drive), IfMissing::Create, Some(observer)).await?;
    let worker = Worker::new(
        front.runtime.clone(),
        WorkerOptions {
            max_running: args.max_running,
            tenant: (!args.all_tenants).then(|| common.tenant.clone()),
            shutdown_grace: args.grace,
            // Other processes give no hints on SQLite.
            poll: Duration::from_secs(1),
            ..WorkerOptions::default()
        },
    );
    let id = front.runtime.worker_id().clone();
    let whose =
        if args.all_tenants { "every tenant".to_owned() } else { format!("tenant {}", common.tenant) };
    front.out.passing(front.out.dim(&format!("worker {id} serves {whose} on {}", common.store)));
    let ended = tokio::select! {
        ended = serve(&front, &worker, args.until_idle) => ended?,
        never = teller.draw() => match never {},
    };
    let (why, exit) = match ended {
        Ended::Idle => ("idle", Exit::Completed),
        Ended::Stopped => ("stopped", Exit::Completed),
        Ended::Late { told, left } => {
            note(&format!("--grace is over; left as they are, for others to take over: {left} sessions"));
            ("stopped late", told.exit())
        }
        Ended::AtOnce(told) => ("stopped at once", told.exit()),
    };
    front.out.passing(front.out.dim(&format!("worker {id}: {why}")));
    front.out.object(&json!({ "worker": id, "stopped": why }));
    front.close().await;
    Ok(exit)
}

/// Tells in passing what is worked on; where something is drawn, only what is over, and the rest is drawn.
struct Teller {
    out: Out,
    began: Instant,
    serving: Mutex<Serving>,
}

impl Teller {
    fn new(out: Out) -> Self {
        Self { out, began: Instant::now(), serving: Mutex::default() }
    }

    fn serving(&self) -> MutexGuard<'_, Serving> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, line: &str) {
        if !self.out.draws() {
            self.out.passing(line);
        }
    }

    /// Draws what is worked on, for ever.
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

    fn on_call_over(&self, session: &SessionKey, call: &CallId) {
        // A call may come back after its run is over.
        if let Some(session) = self.serving().running.get_mut(&session.id) {
            session.back(call);
        }
    }

    fn on_run_over(&self, session: &SessionKey, outcome: &RunOutcome) {
        let mut serving = self.serving();
        serving.running.remove(&session.id);
        serving.over += 1;
        drop(serving);
        self.out.passing(format!("session {}: {}", session.id, human::outcome(outcome)));
        self.out.object(&json::last(&session.id, json!({ "kind": outcome.kind().as_str() }), false));
    }
}

/// How the work ended.
enum Ended {
    /// There is nothing left to do.
    Idle,
    /// What ran when the stop was asked for has come to its end.
    Stopped,
    /// Not all of it has within the time for that.
    Late { told: Told, left: usize },
    /// Told to stop for the second time.
    AtOnce(Told),
}

/// Works until told to stop or, if that is asked for, until there is nothing left to do. Whatever the worker has
/// claimed by then is run to its end, so that no session is left held by nobody.
async fn serve(front: &Front, worker: &Worker, until_idle: bool) -> Result<Ended, Failure> {
    let mut signals = Signals::listen()?;
    loop {
        let stop = CancellationToken::new();
        let mut working = pin!(worker.run(stop.clone()));
        let mut told = tokio::select! {
            _ = &mut working => None,
            told = signals.next() => Some(told),
            idle = idle(front), if until_idle => {
                idle?;
                None
            }
        };
        stop.cancel();
        if told.is_some() {
            say_that_it_stops();
        }
        let left = loop {
            tokio::select! {
                left = &mut working => break left,
                again = signals.next() => match told {
                    Some(_) => return Ok(Ended::AtOnce(again)),
                    None => {
                        told = Some(again);
                        say_that_it_stops();
                    }
                }
            }
        };
        match told {
            Some(_) if left == 0 => return Ok(Ended::Stopped),
            Some(told) => return Ok(Ended::Late { told, left }),
            // Seen again with no claim of ours on its way: the first look may have been a claim too late.
            None if is_idle(front).await? => return Ok(Ended::Idle),
            None => {}
        }
    }
}

fn say_that_it_stops() {
    note("stopping once what runs has come to its end; again stops at once");
}

/// Returns once nothing is due and nobody holds a session. What waits for a later instant, or for
/// somebody, does not count.
async fn idle(front: &Front) -> Result<(), Failure> {
    while !is_idle(front).await? {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// Whether no session is held and none is due. Both are asked of one row at one instant: a claim between two
/// reads would make a session neither. A page shows one instant; a claim between two pages may be missed.
async fn is_idle(front: &Front) -> Result<bool, Failure> {
    let mut query = SessionQuery::all(front.common.tenant.clone());
    query.page.limit = NonZeroU32::new(PAGE_ROWS_MAX);
    loop {
        let page = front.store.list_sessions(&query).await?;
        let now = front.runtime.now();
        let is_busy = |session: &SessionSummary| {
            session.status == SessionStatus::Active || session.alarm.is_some_and(|alarm| alarm <= now)
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
