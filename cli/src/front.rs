//! The parts that every command works with: the store, the runtime on it, and the output.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::event::Event;
use holdover_core::ids::{
    CallId, MessageSeq, QueueLabel, SessionId, SessionKey, StepNumber, TenantId, ToolName,
};
use holdover_core::message::Message;
use holdover_core::model::TokenUsage;
use holdover_core::store::{MessageRange, Session};
use holdover_core::tool::Progress;
use holdover_runtime_local::{Elsewhere, Provisional, RunObserver, Runtime, RuntimeOptions, StoreOutage};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::agent_file::{absolute_script, current_folder};
use crate::args::{Common, Drive};
use crate::engine::{self, Scheduler};
use crate::exit::Failure;
#[cfg(not(feature = "serve"))]
use crate::left_out::other_programs;
#[cfg(not(feature = "schedules"))]
use crate::left_out::schedules::Timetable;
#[cfg(feature = "serve")]
use crate::other_programs;
use crate::print::{Out, instant, note, took};
#[cfg(feature = "schedules")]
use crate::schedules::Timetable;
use crate::source::{Maker, PROGRAM, StoredAgents};
use crate::store::{IfMissing, KEYS, OpenStore};

/// The time limit to tell the engine of the last writes before the program ends.
const TELL_ENGINE: Duration = Duration::from_secs(5);

/// The parts that every command works with.
pub(crate) struct Front {
    /// The global options.
    pub(crate) common: Common,
    pub(crate) store: OpenStore,
    /// The runtime that drives the sessions.
    pub(crate) runtime: Runtime,
    /// The source of the sessions' agents, which are built from the stored definitions.
    pub(crate) agents: StoredAgents,
    /// The schedules of the store.
    #[cfg(feature = "schedules")]
    pub(crate) schedules: Timetable,
    pub(crate) out: Out,
    /// The engine that decides when sessions run, if there is one.
    pub(crate) engine: Option<Arc<dyn Scheduler>>,
    /// The progress of runs before it is durable, if a person reads the output live.
    pub(crate) live: Option<UnboundedReceiver<(SessionKey, Live)>>,
}

/// The parts that a worker needs besides the store.
#[derive(Default)]
pub(crate) struct WorkerParts {
    pub(crate) observer: Option<Arc<dyn RunObserver>>,
    /// The queues that the worker serves besides that of this program.
    pub(crate) queues: Vec<QueueLabel>,
    /// The client for other programs. `None` means the default one.
    pub(crate) elsewhere: Option<Arc<dyn Elsewhere>>,
}

impl Front {
    /// Opens the store. `drive` holds the options for driving sessions in this process, if the command does that. In
    /// that case, progress is shown live if a person reads the output.
    pub(crate) async fn open(
        common: &Common,
        drive: Option<&Drive>,
        if_missing: IfMissing,
    ) -> Result<Self, Failure> {
        let (said, live) = unbounded_channel();
        let live = (drive.is_some() && Out::new(common).live()).then_some(live);
        let said = live.is_some().then_some(said);
        let observer = drive.is_some().then(|| Arc::new(Listener { said }) as Arc<dyn RunObserver>);
        let front = Self::observed(common, drive, if_missing, observer).await?;
        Ok(Self { live, ..front })
    }

    /// Does the same as [`open`](Self::open) with the given observer, and without live progress.
    pub(crate) async fn observed(
        common: &Common,
        drive: Option<&Drive>,
        if_missing: IfMissing,
        observer: Option<Arc<dyn RunObserver>>,
    ) -> Result<Self, Failure> {
        Self::serving(common, drive, if_missing, WorkerParts { observer, ..WorkerParts::default() }).await
    }

    /// Does the same as [`observed`](Self::observed) with the parts that a worker needs.
    pub(crate) async fn serving(
        common: &Common,
        drive: Option<&Drive>,
        if_missing: IfMissing,
        parts: WorkerParts,
    ) -> Result<Self, Failure> {
        let WorkerParts { observer, queues, elsewhere } = parts;
        let mut agents = StoredAgents { queues, ..StoredAgents::default() };
        let program = Some(PROGRAM.to_owned());
        let elsewhere = elsewhere.or_else(other_programs::wire);
        let engine = common.engine.as_ref().map(engine::prepare).transpose()?;
        let mut options = RuntimeOptions::default().observer(observer).elsewhere(elsewhere).program(program);
        options = options.engine(engine.as_ref().map(|engine| engine.engine())).run_here(engine.is_none());
        if let Some(drive) = drive {
            options.lease = drive.lease;
            agents.base_url.clone_from(&drive.base_url);
            if let Some(model) = &drive.model {
                let folder = current_folder().map_err(Failure::failed)?;
                agents.model = Some(absolute_script(model.clone(), &folder));
            }
        }
        let store = OpenStore::open(&common.store, if_missing).await?;
        let out = Out::new(common);
        let schedules = Timetable::of(store.shared(), options.clone())?;
        agents.schedules = Some(schedules.clone());
        let runtime = Runtime::new(store.shared(), Arc::new(agents.clone()), options);
        Ok(Self {
            common: common.clone(),
            store,
            runtime,
            agents,
            #[cfg(feature = "schedules")]
            schedules,
            out,
            engine,
            live: None,
        })
    }

    pub(crate) fn tenant(&self) -> &TenantId {
        &self.common.tenant
    }

    /// Returns the key of a session of the tenant.
    pub(crate) fn key(&self, session: &SessionId) -> SessionKey {
        SessionKey::new(self.common.tenant.clone(), session.clone())
    }

    /// Returns a session of the tenant. Fails if it does not exist, or cannot be decoded with the keys of this process.
    pub(crate) async fn session(&self, session: &SessionId) -> Result<Session, Failure> {
        let found = self.runtime.session(&self.key(session)).await?;
        let found = found.ok_or_else(|| Failure::unknown(session))?;
        check_decoded(&found)?;
        Ok(found)
    }

    /// Returns the message that `event` announces, if any.
    pub(crate) async fn message_of_event(
        &self,
        key: &SessionKey,
        event: &Event,
    ) -> Result<Option<Message>, Failure> {
        let Event::Message { seq, .. } = event else { return Ok(None) };
        let page = self.store.read_messages(key, &[MessageRange::new(*seq, *seq)]).await?;
        let read = page.messages.first().map(|stored| stored.payload.parse()).transpose();
        read.map_err(|error| Failure::failed(format!("session {}: message {seq}: {error}", key.id)))
    }

    /// Fails if the session's agent cannot be built here, unless an engine runs the session elsewhere. `done` says what
    /// was done before, and the error repeats it.
    pub(crate) fn can_run(&self, session: &Session, done: &str) -> Result<(), Failure> {
        if self.engine.is_some() {
            return Ok(());
        }
        let id = &session.key.id;
        if let Some(place) = Maker::of(session).elsewhere() {
            return Err(Failure::failed(format!(
                "session {id}: {done}: its agent lives {place}, which runs it"
            )));
        }
        self.agents.rebuild(&session.definition).map(drop).map_err(|why| {
            Failure::failed(format!("session {id}: {done}, but its agent cannot run here: {why}"))
        })
    }

    /// Fails if options replace parts of the agent, and it cannot be built with them. Called before anything is done.
    pub(crate) fn can_run_with(&self, drive: &Drive, session: &Session) -> Result<(), Failure> {
        if drive.model.is_none() && drive.base_url.is_none() {
            return Ok(());
        }
        self.takes_effect(drive, session)?;
        self.agents
            .rebuild(&session.definition)
            .map(drop)
            .map_err(|why| Failure::wrong_use(format!("session {}: nothing was done: {why}", session.key.id)))
    }

    /// Fails if options replace parts of the agent of an existing session, and the session does not run in this process.
    pub(crate) fn takes_effect(&self, drive: &Drive, session: &Session) -> Result<(), Failure> {
        if self.engine.is_none() || (drive.model.is_none() && drive.base_url.is_none()) {
            return Ok(());
        }
        let why =
            "--model and --base-url are for runs in this process; with --engine, a worker runs the session";
        Err(Failure::wrong_use(format!("session {}: nothing was done: {why}", session.key.id)))
    }

    /// Tells the engine of everything that was written, and closes the store cleanly.
    pub(crate) async fn close(self) {
        if let Some(engine) = &self.common.engine
            && !self.runtime.tell_engine(TELL_ENGINE).await
        {
            let net = "a worker finds the session when it looks at the store";
            note(&format!("engine {engine}: it does not answer; {net}"));
        }
        self.store.close().await;
    }
}

/// Fails for a session that cannot be decoded here: without the keys, a message to it would be written as plain text.
pub(crate) fn check_decoded(session: &Session) -> Result<(), Failure> {
    match session.definition.encoding() {
        Some(encoding) => Err(Failure::failed(format!(
            "session {}: {encoding} ({KEYS} names a file of keys)",
            session.key.id
        ))),
        None => Ok(()),
    }
}

/// Progress that is not durable yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Live {
    /// The model is called with all messages up to `after`.
    Asked {
        /// The newest message that the model gets.
        after: MessageSeq,
        step: StepNumber,
        /// The attempt at the step, counted from 0.
        attempt: u32,
    },
    /// The model has produced more text.
    Text(String),
    /// The model has answered.
    Answered,
    /// A tool call has started.
    Sent {
        /// The id of the call.
        call: CallId,
        /// The tool of the call.
        tool: ToolName,
    },
    /// A tool call has reported progress.
    Progress(CallId, Progress),
    /// A tool call has returned.
    Back(CallId),
}

/// Reports provisional items to the followers, and outages of the store to the user.
struct Listener {
    said: Option<UnboundedSender<(SessionKey, Live)>>,
}

impl Listener {
    fn tell(&self, of: &SessionKey, live: Live) {
        if let Some(said) = &self.said {
            // This fails if no reader is left.
            let _ = said.send((of.clone(), live));
        }
    }
}

impl RunObserver for Listener {
    fn on_model_call(&self, of: &Provisional) {
        self.tell(&of.session, Live::Asked { after: of.after, step: of.step, attempt: of.attempt });
    }

    fn on_text(&self, of: &Provisional, text: &str) {
        self.tell(&of.session, Live::Text(text.to_owned()));
    }

    fn on_model_answered(&self, of: &Provisional, _used: TokenUsage) {
        self.tell(&of.session, Live::Answered);
    }

    fn on_call_sent(&self, session: &SessionKey, call: &CallId, tool: &ToolName) {
        self.tell(session, Live::Sent { call: call.clone(), tool: tool.clone() });
    }

    fn on_call_progress(&self, session: &SessionKey, call: &CallId, progress: &Progress) {
        self.tell(session, Live::Progress(call.clone(), progress.clone()));
    }

    fn on_call_over(&self, session: &SessionKey, call: &CallId) {
        self.tell(session, Live::Back(call.clone()));
    }

    fn on_store_outage(&self, outage: &StoreOutage) {
        let StoreOutage { run, error, since, lasts, .. } = outage;
        let (session, since, lasts) = (&run.key.id, instant(*since), took(*lasts));
        note(&format!("session {session}: waiting for the store since {since} ({lasts}): {error}"));
    }

    fn on_store_outage_over(&self, outage: &StoreOutage) {
        let StoreOutage { run, lasts, .. } = outage;
        note(&format!("session {}: the store answers again, after {}", run.key.id, took(*lasts)));
    }
}
