//! A session on the memory store, and the people and clients that deal with it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use holdover_core::agent::AgentSpec;
use holdover_core::engine::{CallOut, STATE_FORMAT, StepIterator};
use holdover_core::handoff::Goal;
use holdover_core::ids::{
    CallId, InboxSeq, Incarnation, InterruptId, ItemKey, MessageSeq, OperationId, PendingId, QueueLabel,
    RunId, SessionId, SessionKey, TenantId, WorkerId,
};
use holdover_core::machine::{DoneReason, Facts, Machine};
use holdover_core::message::{
    ClientAnswer, Decision, Message, MessagePolicy, PendingBody, ResultStatus, Said, SignalBody, ToolResult,
};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::payload::Payload;
use holdover_core::signal::{NamedSignal, signal_kind};
use holdover_core::store::{
    CasOutcome, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit, Delivery, ForkOutcome,
    InboxItem, Interrupt, InterruptKind, InterruptOutcome, ItemKind, Labels, MessageRange, NewFork,
    NewSession, PendingCall, PendingQuery, Queues, RunRecord, Session, SessionStatus, Staging, Start,
    StateStore, StateStoreExt, StatusCas, Wake,
};
use holdover_core::time::{Clock, Timestamp};
use holdover_core::{compaction, fork, mailbox};
use holdover_store_memory::{Limits, MemoryStore};

use crate::parsed::Parsed;
use crate::run::Run;
use crate::world::{VirtualClock, agent};

pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// Returns the answer of the memory store, which is always ready at once.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("the memory store answers at once")
}

/// A write that the store applied.
#[derive(Debug, Clone)]
pub(crate) enum Write {
    Commit(Box<Commit>),
    Stage(Staging),
}

/// A session on the memory store, and the people and clients that deal with it.
pub(crate) struct Bench {
    pub(crate) store: MemoryStore,
    pub(crate) clock: VirtualClock,
    pub(crate) key: SessionKey,
    pub(crate) agent: Arc<AgentSpec>,
    /// Every write that was applied, over all runs.
    pub(crate) writes: RefCell<Vec<Write>>,
    /// Every call that was sent, over all runs.
    pub(crate) sends: RefCell<Vec<CallOut>>,
    /// What the store keeps of the session, parsed.
    pub(crate) parsed: Parsed,
    names: Cell<u64>,
}

impl Bench {
    /// Creates a session of the tests' default agent.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// Creates a session of the default agent, changed by `change`.
    pub(crate) fn with(change: impl FnOnce(&mut AgentSpec)) -> Self {
        Self::create(change, |_| {})
    }

    pub(crate) fn create(change: impl FnOnce(&mut AgentSpec), begin: impl FnOnce(&mut NewSession)) -> Self {
        let clock = VirtualClock::default();
        let mut spec = agent();
        change(&mut spec);
        let bench = Self {
            store: MemoryStore::with(clock.clone(), Limits::default()),
            clock,
            key: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
            agent: Arc::new(spec),
            writes: RefCell::default(),
            sends: RefCell::default(),
            parsed: Parsed::default(),
            names: Cell::new(0),
        };
        let mut new = NewSession {
            key: bench.key.clone(),
            incarnation: Incarnation(uuid::Uuid::from_u128(7)),
            operation: OperationId::new("create").unwrap(),
            queue: QueueLabel::new("q").unwrap(),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: STATE_FORMAT,
            items: Vec::new(),
            start: Start::WithItems,
        };
        begin(&mut new);
        now(bench.store.create_session(new)).expect("created");
        bench
    }

    /// Creates the session that takes over from this one for a goal, from the newest checkpoint. The new session has
    /// not run yet.
    pub(crate) fn hand_off(&self, goal: &str, draft: bool) -> Self {
        let at = now(self.store.list_checkpoints(&CheckpointQuery::all(self.key.clone())))
            .unwrap()
            .items
            .remove(0);
        let read = |range: &MessageRange| now(self.store.read_all_messages(&self.key, &[*range])).unwrap();
        let messages: Vec<_> = fork::needed_messages(&self.key, &at).unwrap().iter().flat_map(read).collect();
        let (source, staged) = (self.session(), self.session().staged.results);
        let work =
            fork::NewWork { goal: Goal::new(goal).unwrap(), draft, another: false, replies: Vec::new() };
        let plan = fork::plan_handoff(&self.key, &at, &messages, &staged, &work, self.clock.now()).unwrap();
        let handed = Self {
            store: self.store.clone(),
            clock: self.clock.clone(),
            key: SessionKey::new(self.key.tenant.clone(), SessionId::new("handed").unwrap()),
            agent: self.agent.clone(),
            writes: RefCell::default(),
            sends: RefCell::default(),
            parsed: Parsed::default(),
            names: Cell::new(self.names.get() + 1_000),
        };
        let new = NewFork {
            source: source.incarnation,
            key: handed.key.clone(),
            incarnation: Incarnation(uuid::Uuid::from_u128(8)),
            operation: OperationId::new("hand off").unwrap(),
            queue: source.queue,
            labels: source.labels,
            definition: source.definition,
            status: plan.status,
            state: plan.state,
            messages: plan.messages,
            events: plan.events,
        };
        let made = now(self.store.fork_session(&self.key, at.id, new)).unwrap();
        assert!(matches!(made, ForkOutcome::Forked { .. }), "{made:?}");
        crate::check::invariants(&handed);
        handed
    }

    // Runs

    /// Claims the session, which must be due, and starts a run.
    pub(crate) fn run(&self) -> Run<'_> {
        let claim = self.claim().expect("the session is due");
        self.start(claim)
    }

    pub(crate) fn start(&self, claim: Claim) -> Run<'_> {
        Run::new(self, StepIterator::start(claim, self.agent.clone(), self.facts()).expect("it reads"))
    }

    /// Claims the session, which must be due, and starts a run without its agent.
    pub(crate) fn end(&self) -> Run<'_> {
        let claim = self.claim().expect("the session is due");
        Run::new(self, StepIterator::end(claim, self.facts()).expect("it reads"))
    }

    /// Claims the session as a worker does, if it is due.
    pub(crate) fn claim(&self) -> Option<Claim> {
        let due = ClaimDue {
            runs: vec![RunId::new(self.name("run")).unwrap()],
            worker: WorkerId::new("w").unwrap(),
            lease: LEASE,
            queues: Queues::All,
            newest_format: STATE_FORMAT,
            tenant: None,
        };
        now(self.store.claim_due(due)).unwrap().pop()
    }

    /// Claims the session by name, whether it is due or not.
    pub(crate) fn claim_now(&self) -> Claim {
        let one = self.claim_one(Vec::new());
        match now(self.store.claim_session(&self.key, one)).unwrap() {
            ClaimOutcome::Claimed(claim) => *claim,
            other => panic!("not claimed: {other:?}"),
        }
    }

    pub(crate) fn claim_one(&self, items: Vec<InboxItem>) -> ClaimOne {
        ClaimOne {
            run: RunId::new(self.name("run")).unwrap(),
            worker: WorkerId::new("w").unwrap(),
            lease: LEASE,
            expected_version: None,
            items,
        }
    }

    /// Kills the run: drops it, and lets its lease pass.
    pub(crate) fn crash(&self, run: Run<'_>) {
        drop(run);
        self.clock.pass(LEASE);
    }

    pub(crate) fn facts(&self) -> Facts {
        Facts { now: self.clock.now() }
    }

    // People

    pub(crate) fn say(&self, text: &str) {
        self.say_as(Said::new(text));
    }

    /// Sends a message with a briefing, which sets how the agent works from then on.
    pub(crate) fn brief(&self, text: &str, briefing: Briefing) {
        self.say_as(Said { briefing, ..Said::new(text) });
    }

    /// Sends a message with its own message policy.
    pub(crate) fn say_under(&self, policy: MessagePolicy, text: &str) {
        self.say_as(Said { policy: Some(policy), ..Said::new(text) });
    }

    /// Sends `text` as an edit of the message at `edits`.
    pub(crate) fn say_instead(&self, edits: u64, text: &str) {
        self.say_as(Said { edits: Some(MessageSeq(edits)), ..Said::new(text) });
    }

    pub(crate) fn say_as(&self, said: Said) {
        let delivery = self.deliver(ItemKind::Message { wake: Wake::Now }, None, &said);
        assert!(delivery.is_in(), "{delivery:?}");
    }

    /// Sends a message for later.
    pub(crate) fn say_later(&self, not_before: Timestamp, text: &str) {
        self.say_later_as(not_before, Said::new(text));
    }

    pub(crate) fn say_later_as(&self, not_before: Timestamp, said: Said) {
        let said = Said { not_before: Some(not_before), ..said };
        let delivery = self.deliver(mailbox::later_kind().unwrap(), None, &said);
        assert!(delivery.is_in(), "{delivery:?}");
    }

    /// Delivers a named signal with this body.
    pub(crate) fn signal_named(&self, name: &str, body: &str, wake: Wake) {
        let named = NamedSignal::new(name.parse().unwrap(), body);
        let delivery = self.deliver(signal_kind(wake).unwrap(), None, &named);
        assert!(delivery.is_in(), "{delivery:?}");
    }

    /// Returns the names of the signals that the session holds, oldest first.
    pub(crate) fn held(&self) -> Vec<String> {
        let page = now(self.store.read_inbox(&self.key, InboxSeq(0), 1_000)).unwrap();
        page.items.iter().filter_map(NamedSignal::of).map(|signal| signal.name.to_string()).collect()
    }

    /// Sends a message that does not wake the session.
    pub(crate) fn note(&self, text: &str) {
        let delivery = self.deliver(ItemKind::Message { wake: Wake::Quiet }, None, &Said::new(text));
        assert!(delivery.is_in(), "{delivery:?}");
    }

    /// Sets the mode without waking the session.
    pub(crate) fn set_mode(&self, mode: Mode) {
        let signal = SignalBody::Mode { mode };
        let delivery = self.deliver(ItemKind::Signal { wake: Wake::Quiet }, None, &signal);
        assert!(delivery.is_in(), "{delivery:?}");
    }

    /// Returns the messages that no run has taken yet, with their current text.
    pub(crate) fn queued(&self) -> Vec<(InboxSeq, String)> {
        let page = now(self.store.read_inbox(&self.key, InboxSeq(0), 1_000)).unwrap();
        mailbox::queued(page.items).into_iter().map(|(item, said)| (item.seq, said.text)).collect()
    }

    /// Delivers a signal to the session.
    pub(crate) fn signal(&self, signal: &impl serde::Serialize) {
        let delivery = self.deliver(ItemKind::Signal { wake: Wake::Now }, None, signal);
        assert!(delivery.is_in(), "{delivery:?}");
    }

    pub(crate) fn retry(&self) {
        let delivery = self.deliver(ItemKind::Signal { wake: Wake::Now }, None, &SignalBody::Retry);
        assert!(delivery.is_in(), "{delivery:?}");
    }

    /// Asks for a summary of the old messages.
    pub(crate) fn compact(&self) {
        let delivery = self.deliver(ItemKind::Signal { wake: Wake::Now }, None, &SignalBody::Compact);
        assert!(delivery.is_in(), "{delivery:?}");
    }

    /// Moves the session to suspended, with a retry signal if `items`, as a front end without an agent does.
    pub(crate) fn retry_by_status(&self, items: bool) {
        let item = InboxItem {
            key: ItemKey::new(self.name("item")).unwrap(),
            kind: ItemKind::Signal { wake: Wake::Now },
            incarnation: None,
            payload: Payload::json(&SignalBody::Retry).unwrap(),
        };
        let cas = StatusCas {
            incarnation: None,
            expected_version: self.session().version,
            to: SessionStatus::Suspended,
            items: if items { vec![item] } else { Vec::new() },
        };
        let moved = now(self.store.compare_and_set_status(&self.key, cas)).unwrap();
        assert!(matches!(moved, CasOutcome::Moved { .. }), "{moved:?}");
    }

    /// Returns the pending calls, oldest first.
    pub(crate) fn pending(&self) -> Vec<PendingCall> {
        now(self.store.list_pending(&PendingQuery::all(self.key.tenant.clone()))).unwrap().items
    }

    /// Returns the only pending call.
    pub(crate) fn asked(&self) -> PendingCall {
        let mut pending = self.pending();
        assert_eq!(pending.len(), 1, "{pending:?}");
        pending.pop().unwrap()
    }

    pub(crate) fn approve(&self, pending: &PendingCall) -> Delivery {
        self.decide(pending, |_| {})
    }

    pub(crate) fn deny(&self, pending: &PendingCall) -> Delivery {
        self.decide(pending, |decision| decision.approve = false)
    }

    pub(crate) fn edit(&self, pending: &PendingCall, arguments: &str) -> Delivery {
        self.decide(pending, |decision| decision.arguments = Some(arguments.to_owned()))
    }

    /// Approves this call, and its tool for the rest of the session.
    pub(crate) fn approve_always(&self, pending: &PendingCall) -> Delivery {
        self.decide(pending, |decision| decision.always = true)
    }

    /// Denies a call with `always`, which has no meaning in a denial.
    pub(crate) fn deny_always(&self, pending: &PendingCall) -> Delivery {
        self.decide(pending, |decision| (decision.approve, decision.always) = (false, true))
    }

    /// Delivers a decision by Ann: an approval, unless `change` alters it.
    pub(crate) fn decide(&self, pending: &PendingCall, change: impl FnOnce(&mut Decision)) -> Delivery {
        let body: PendingBody = pending.body.parse().unwrap();
        let mut decision = Decision { by: Some("ann".into()), ..Decision::new(true, body.digest) };
        change(&mut decision);
        let settles = !decision.approve || decision.arguments.is_some();
        let kind = ItemKind::Answer { pending: pending.id.clone(), settles };
        self.deliver_bytes(kind, Some(self.session().incarnation), Payload::json(&decision).unwrap())
    }

    /// Approves a call under this name.
    pub(crate) fn approve_as(&self, name: &str, pending: &PendingCall) -> Delivery {
        self.decide(pending, |decision| decision.by = Some(name.to_owned()))
    }

    /// Answers a call in place of the client.
    pub(crate) fn answer(&self, pending: &PendingCall, content: &str) -> Delivery {
        let answer = ClientAnswer::done(content);
        self.answer_with(&pending.id, Payload::json(&answer).unwrap())
    }

    pub(crate) fn answer_with(&self, pending: &PendingId, payload: Payload) -> Delivery {
        let kind = ItemKind::Answer { pending: pending.clone(), settles: false };
        self.deliver_bytes(kind, Some(self.session().incarnation), payload)
    }

    fn deliver(
        &self,
        kind: ItemKind,
        incarnation: Option<Incarnation>,
        body: &impl serde::Serialize,
    ) -> Delivery {
        self.deliver_bytes(kind, incarnation, Payload::json(body).unwrap())
    }

    pub(crate) fn deliver_bytes(
        &self,
        kind: ItemKind,
        incarnation: Option<Incarnation>,
        payload: Payload,
    ) -> Delivery {
        let key = ItemKey::new(self.name("item")).unwrap();
        now(self.store.deliver(&self.key, InboxItem { key, kind, incarnation, payload })).unwrap()
    }

    pub(crate) fn interrupt(&self, kind: InterruptKind) -> InterruptOutcome {
        let interrupt = Interrupt {
            id: InterruptId::new(self.name("stop")).unwrap(),
            kind,
            reason: "enough".into(),
            at: self.clock.now(),
            incarnation: None,
        };
        now(self.store.request_interrupt(&self.key, interrupt)).unwrap()
    }

    /// Returns the instant that is this many seconds from now.
    pub(crate) fn clock_in(&self, seconds: u64) -> Timestamp {
        self.clock.now().after(Duration::from_secs(seconds))
    }

    fn name(&self, what: &str) -> String {
        self.names.set(self.names.get() + 1);
        format!("{what}-{}", self.names.get())
    }

    // Results

    pub(crate) fn session(&self) -> Session {
        now(self.store.load_session(&self.key)).unwrap().expect("the session")
    }

    pub(crate) fn status(&self) -> SessionStatus {
        self.session().status
    }

    /// Returns true if a worker that looks for work would find the session.
    pub(crate) fn is_due(&self) -> bool {
        self.session().alarm.is_some_and(|alarm| alarm <= self.clock.now())
    }

    /// Returns the time until the session wants a worker.
    pub(crate) fn alarm_in(&self) -> Option<Duration> {
        self.session().alarm.map(|alarm| self.clock.now().until(alarm))
    }

    /// Returns the stored machine.
    pub(crate) fn machine(&self) -> Machine {
        self.parsed.state(self.session().state.as_ref()).as_ref().clone()
    }

    pub(crate) fn transcript(&self) -> Vec<Message> {
        let messages = self.messages_to(self.session().last_message);
        messages.iter().map(|message| message.as_ref().clone()).collect()
    }

    /// Returns all messages up to `last`.
    pub(crate) fn messages_to(&self, last: MessageSeq) -> Vec<Arc<Message>> {
        let placed = self.read(&[MessageRange::new(MessageSeq(1), last)]);
        placed.into_iter().map(|(_, message)| message).collect()
    }

    /// Reads the messages in these ranges.
    pub(crate) fn read(&self, ranges: &[MessageRange]) -> Vec<(MessageSeq, Arc<Message>)> {
        let stored = now(self.store.read_all_messages(&self.key, ranges)).unwrap();
        stored
            .iter()
            .map(|message| (message.seq, self.parsed.message(message.seq, &message.payload)))
            .collect()
    }

    /// Returns the messages up to `last` that the stored state shows to the model.
    pub(crate) fn view(&self, last: MessageSeq) -> Vec<Message> {
        view_of(&self.machine(), &self.messages_to(last))
    }

    pub(crate) fn results(&self) -> Vec<ToolResult> {
        let result = |message| match message {
            Message::Tool(result) => Some(result),
            Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        };
        self.transcript().into_iter().filter_map(result).collect()
    }

    /// Returns the statuses of all results, in the order of the transcript.
    pub(crate) fn statuses(&self) -> Vec<ResultStatus> {
        self.results().into_iter().map(|result| result.status).collect()
    }

    /// Returns the roles of all messages.
    pub(crate) fn roles(&self) -> Vec<&'static str> {
        self.transcript().iter().map(Message::role).collect()
    }

    /// Returns the reason why each turn ended.
    pub(crate) fn dones(&self) -> Vec<DoneReason> {
        crate::check::dones(&crate::check::events(self))
    }

    pub(crate) fn runs(&self) -> Vec<RunRecord> {
        now(self.store.list_runs(&self.key, Default::default())).unwrap().items
    }

    /// Returns the number of times that a call was sent, over all runs.
    pub(crate) fn sent(&self, call: &str) -> usize {
        let call = CallId::new(call).unwrap();
        self.sends.borrow().iter().filter(|send| send.id == call).count()
    }
}

/// Returns those of the first messages of a session that this machine shows to the model.
pub(crate) fn view_of(machine: &Machine, messages: &[Arc<Message>]) -> Vec<Message> {
    let (view, last) = (&machine.view, MessageSeq(messages.len() as u64));
    let ranges = view.ranges(last).into_iter().filter(|range| range.from <= last);
    let seqs = ranges.flat_map(|range| range.from.0..=range.to.min(last).0);
    let at = |seq: u64| (MessageSeq(seq), messages[usize::try_from(seq - 1).unwrap()].clone());
    let placed: Vec<_> = seqs.map(at).collect();
    let cleared = compaction::Cleared::of(&placed, view.cleared).in_part(view.in_part);
    let seen = placed.iter().filter_map(|(seq, message)| compaction::shown(*seq, message, &cleared, 20_000));
    seen.map(|message| message.as_ref().clone()).collect()
}
