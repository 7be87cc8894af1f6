//! `work`: serving the sessions that are due.

use std::convert::Infallible;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use holdover_core::ids::{CallId, SessionKey, ToolName};
use holdover_core::model::TokenUsage;
use holdover_core::step::RunOutcome;
use holdover_core::store::{PageRequest, SessionQuery, SessionStatus, StateStore};
use holdover_runtime_local::{Provisional, RunObserver, Worker, WorkerOptions};
use serde_json::json;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::args::{Common, Work};
use crate::exit::{Exit, Failure};
use crate::follow::REDRAW_EVERY;
use crate::front::Front;
use crate::print::view::{Doing, Serving};
use crate::print::{Out, clean, human, json, note, screen};
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
    let stop = CancellationToken::new();
    let ended = tokio::select! {
        () = worker.run(stop.clone()) => Ended::Stopped,
        ended = until_told(&front, args.until_idle, &stop) => ended?,
        never = teller.draw() => match never {},
    };
    let (why, exit) = match ended {
        Ended::Idle => ("idle", Exit::Completed),
        Ended::Stopped => ("stopped", Exit::Completed),
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
        self.say(&format!("session {}: step {}: it asks for {}", of.session.id, of.step, clean(tool)));
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
        self.out.object(&json::last(&session.id, json!({ "kind": outcome.kind().as_str() })));
    }
}

/// How the work ended.
enum Ended {
    /// There is nothing left to do.
    Idle,
    /// What ran when the stop was asked for has come to its end.
    Stopped,
    /// Told to stop for the second time.
    AtOnce(Told),
}

/// Returns when there is nothing left to wait for. Having asked the worker to stop, it returns only when told
/// again: the worker ends first, once what runs has come to its end.
async fn until_told(front: &Front, until_idle: bool, stop: &CancellationToken) -> Result<Ended, Failure> {
    let mut signals = Signals::listen()?;
    loop {
        let told = tokio::select! {
            told = signals.next() => told,
            idle = idle(front), if until_idle && !stop.is_cancelled() => {
                idle?;
                return Ok(Ended::Idle);
            }
        };
        if stop.is_cancelled() {
            return Ok(Ended::AtOnce(told));
        }
        note("stopping once what runs has come to its end; again stops at once");
        stop.cancel();
    }
}

/// Returns once nothing is due and nobody holds a session. What waits for a later instant, or for
/// somebody, does not count.
async fn idle(front: &Front) -> Result<(), Failure> {
    loop {
        if !any_active(front).await? && !any_due(front).await? {
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn any_active(front: &Front) -> Result<bool, Failure> {
    let query = SessionQuery {
        status: vec![SessionStatus::Active],
        page: PageRequest::first(NonZeroU32::MIN),
        ..SessionQuery::all(front.common.tenant.clone())
    };
    Ok(!front.store.list_sessions(&query).await?.items.is_empty())
}

async fn any_due(front: &Front) -> Result<bool, Failure> {
    let mut query = SessionQuery::all(front.common.tenant.clone());
    loop {
        let page = front.store.list_sessions(&query).await?;
        let now = front.runtime.now();
        if page.items.iter().any(|session| session.alarm.is_some_and(|alarm| alarm <= now)) {
            return Ok(true);
        }
        match page.next {
            Some(next) => query.page = PageRequest { after: Some(next), limit: None },
            None => return Ok(false),
        }
    }
}
