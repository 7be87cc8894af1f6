//! The code of a flow during one run: it is told the messages of the transcript, and polled after each result.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use holdover_core::error::ErrorInfo;
use holdover_core::ids::MessageSeq;
use holdover_core::message::Message;
use holdover_core::plan::{Plan, PlanEnd, PlanError, PlanFacts, PlanNotice, Planned, Planner};

use crate::call::REFUSED_MAX;
use crate::cx::Cx;
use crate::error::{Stop, Why};
pub(crate) use ledger::{GoesOn, Ledger};

mod ledger;

/// The most times in a row that code may wake itself without making a call. Beyond it, the flow fails.
const YIELDS_MAX: u32 = 100_000;

/// The future of a flow. It returns the value as JSON text.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<String, Stop>> + Send>>;

/// Begins the future of a flow with its input, as JSON text.
pub(crate) type Begin = dyn Fn(Cx, &str) -> Result<Running, String> + Send + Sync;

/// The code of a flow, for all runs of all sessions.
pub(crate) struct FlowPlanner {
    pub(crate) begin: Arc<Begin>,
}

impl Planner for FlowPlanner {
    fn begin(&self) -> Box<dyn Plan> {
        Box::new(Code {
            begin: Arc::clone(&self.begin),
            ledger: Arc::default(),
            woken: Arc::default(),
            running: None,
            ended: None,
        })
    }
}

/// The data that a flow shares with its code.
pub(crate) type Shared = Arc<Mutex<Ledger>>;

/// Locks the ledger. A panic elsewhere does not poison it: the run that panicked ends.
pub(crate) fn lock(ledger: &Shared) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The code of one flow in one run.
struct Code {
    begin: Arc<Begin>,
    ledger: Shared,
    woken: Arc<Woken>,
    running: Option<Running>,
    ended: Option<PlanEnd>,
}

/// Notes that the code was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Plan for Code {
    fn advance(
        &mut self,
        told: &[(MessageSeq, Arc<Message>)],
        facts: PlanFacts,
    ) -> Result<Planned, PlanError> {
        if self.woken.0.swap(false, Ordering::Relaxed) {
            return Err(foreign("something outside of the flow woke it"));
        }
        let restart = told.iter().rposition(|(_, message)| carried_on(message).is_some());
        let told = match restart {
            Some(at) => {
                // What was before belongs to the code with the earlier input.
                (self.running, self.ended) = (None, None);
                self.ledger = Arc::default();
                told.get(at..).unwrap_or_default()
            }
            None => told,
        };
        lock(&self.ledger).now = facts.now;
        for (_, message) in told.iter().skip(usize::from(restart.is_some())) {
            if let Message::Assistant(said) = &**message {
                lock(&self.ledger).record(said);
            }
        }
        for (_, message) in told {
            if self.ended.is_none() {
                self.tell(message)?;
            }
        }
        self.check()?;
        let mut ledger = lock(&self.ledger);
        Ok(Planned {
            calls: ledger.new_calls(facts.room),
            dropped: ledger.take_dropped(),
            record: ledger.new_record(),
            end: self.ended.clone(),
        })
    }
}

/// Returns the input with which the code starts over, if the message records that it does.
fn carried_on(message: &Message) -> Option<&str> {
    let Message::Assistant(said) = message else { return None };
    said.plan.as_ref()?.carries_on.as_deref()
}

impl Code {
    /// Tells the code one message, and polls it if the message is news.
    fn tell(&mut self, message: &Message) -> Result<(), PlanError> {
        match message {
            Message::User(said) if self.running.is_none() => self.start(&said.text),
            Message::Assistant(_) => carried_on(message).map_or(Ok(()), |input| self.start(input)),
            Message::Tool(result) => {
                let waited_for = lock(&self.ledger).end(result);
                self.check_divergence()?;
                if waited_for { self.poll() } else { Ok(()) }
            }
            Message::Notice(notice) if notice.plan == Some(PlanNotice::Stop) => {
                lock(&self.ledger).stop();
                self.poll()
            }
            Message::User(_) | Message::Notice(_) | Message::Decision(_) | Message::Summary(_) => Ok(()),
        }
    }

    fn start(&mut self, input: &str) -> Result<(), PlanError> {
        let cx = Cx::new(Arc::clone(&self.ledger));
        match (self.begin)(cx, input) {
            Ok(running) => {
                self.running = Some(running);
                self.poll()
            }
            Err(why) => {
                self.ended = Some(PlanEnd::Failed(ErrorInfo::new("flow.input", why)));
                Ok(())
            }
        }
    }

    /// Polls the code until it waits for a result, or has ended.
    fn poll(&mut self) -> Result<(), PlanError> {
        let waker = Waker::from(Arc::clone(&self.woken));
        for _ in 0..YIELDS_MAX {
            let Some(running) = &mut self.running else { return Ok(()) };
            self.woken.0.store(false, Ordering::Relaxed);
            let polled = running.as_mut().poll(&mut Context::from_waker(&waker));
            lock(&self.ledger).end_poll();
            self.check_divergence()?;
            if let Poll::Ready(ended) = polled {
                self.ended = Some(self.end_of(ended));
                // Calls that nobody waits for any more are dropped with the future.
                self.running = None;
                return Ok(());
            }
            if !self.woken.0.swap(false, Ordering::Relaxed) {
                return Ok(());
            }
        }
        let why = format!("the flow woke itself {YIELDS_MAX} times without waiting for a call");
        Err(PlanError::Broken(ErrorInfo::new("flow.spins", why)))
    }

    fn end_of(&self, ended: Result<String, Stop>) -> PlanEnd {
        match ended {
            Ok(value) => PlanEnd::Value(value),
            Err(stop) if let Some(time) = lock(&self.ledger).late => {
                let why = format!("its time of {} s is over: {stop}", time.as_secs_f64());
                PlanEnd::Failed(ErrorInfo::new("flow.timed_out", why))
            }
            Err(Stop(Why::CarryOn(input))) => PlanEnd::CarryOn(input),
            Err(_) if lock(&self.ledger).stops => PlanEnd::Stopped,
            Err(stop @ Stop(Why::Step(_) | Why::Failed(_))) => {
                PlanEnd::Failed(ErrorInfo::new("flow.failed", stop.to_string()))
            }
        }
    }

    /// Checks that the code has made all recorded decisions, and that it waits for a call.
    fn check(&self) -> Result<(), PlanError> {
        lock(&self.ledger).check_all_made();
        self.check_divergence()?;
        if lock(&self.ledger).refused >= REFUSED_MAX {
            let why = format!("the flow was told to stop, and made {REFUSED_MAX} more calls");
            return Err(PlanError::Broken(ErrorInfo::new("flow.spins", why)));
        }
        if self.running.is_none() && self.ended.is_none() {
            return Err(PlanError::Broken(ErrorInfo::new(
                "flow.no_input",
                "the transcript holds no input for the flow",
            )));
        }
        if self.running.is_some() && !lock(&self.ledger).waits() {
            return Err(foreign("it waits for something, and no call of it is open"));
        }
        Ok(())
    }

    fn check_divergence(&self) -> Result<(), PlanError> {
        match &lock(&self.ledger).divergence {
            Some(found) => Err(PlanError::Diverged(Box::new(found.clone()))),
            None => Ok(()),
        }
    }
}

fn foreign(why: &str) -> PlanError {
    let why = format!("{why}; a flow may only wait for what its context returns");
    PlanError::Broken(ErrorInfo::new("flow.foreign_future", why))
}
