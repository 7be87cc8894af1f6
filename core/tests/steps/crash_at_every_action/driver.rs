//! Drives the scenario action by action, in a fixed order. Each action is performed when it is handed out, and its
//! reply waits in a queue. A reply is applied when no action is left to start.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use holdover_core::compaction;
use holdover_core::engine::{
    Action, CallOut, Drain, Found, Reply, Ruling, RunOutcome, STATE_FORMAT, Shown, StepIterator, Summarised,
};
use holdover_core::event::Event;
use holdover_core::ids::{
    CallId, Incarnation, InterruptId, ItemKey, MessageSeq, OperationId, PendingId, QueueLabel, RunId,
    SessionId, SessionKey, TenantId, WorkerId,
};
use holdover_core::machine::history::rebuild;
use holdover_core::machine::{CallState, Facts, Machine};
use holdover_core::message::{ClientAnswer, Decision, Message, PendingBody, ResultStatus, Said, SignalBody};
use holdover_core::model::{StopReason, TokenUsage};
use holdover_core::payload::Payload;
use holdover_core::store::{
    Claim, ClaimDue, Delivery, InboxItem, Interrupt, InterruptCheck, InterruptKind, ItemKind, Labels,
    LeaseOutcome, MessageRange, NewMessage, NewSession, PendingKind, PendingQuery, Queues, SessionStatus,
    Start, StateStore, StateStoreExt, Wake,
};
use holdover_core::time::Clock;

use super::children::Became;
use super::scenario::{self, CREW, DEEDS, Deed, End, TEAM, TEAM_SIZE, Thought, WAIT, find};
use super::sends::{Send, WorldLog};
use crate::bench::LEASE;
use crate::check;
use crate::run::kind_of;
use crate::world::VirtualClock;

/// A fault that a run suffers after an action.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// The run stops for good.
    Dies,
    /// The run is told to leave its session to another run.
    Drains(Drain),
}

/// The kinds of actions that a run may still begin after it was told to start nothing more.
const STARTS_NOTHING: [&str; 7] =
    ["read", "commit", "stage", "stop_calls", "stop_children", "stop_model", "exit"];

/// An action that was performed, with the facts that the expectations need.
#[derive(Debug, Clone, Default)]
pub(crate) struct Point {
    pub(crate) kind: &'static str,
    /// The calls whose `allow` this write made durable, without a start mark.
    pub(crate) allowed: Vec<CallId>,
    /// The calls whose start mark this write made durable.
    pub(crate) marked: Vec<CallId>,
    /// The calls whose result, or durable wait, this write made durable.
    pub(crate) settled: Vec<CallId>,
    /// The call that was sent, and its tool.
    pub(crate) sent: Option<(CallId, String)>,
}

/// The record of a session from its first message to its last turn.
pub(crate) struct Story {
    pub(crate) points: Vec<Point>,
    pub(crate) end: End,
    pub(crate) sends: Vec<Send>,
    pub(crate) call_states: Vec<&'static str>,
    pub(crate) fault_fired: bool,
    events: Vec<Event>,
    machine: Machine,
    transcript: Vec<Message>,
}

/// The place where the sessions are stored, and the clock of its store.
pub(crate) trait Place {
    type Store: StateStore;

    fn clock(&self) -> &VirtualClock;

    /// Opens the store at the beginning, and again after each crash.
    async fn open(&self) -> Self::Store;
}

pub(super) struct Teller<P: Place> {
    place: P,
    pub(super) store: P::Store,
    clock: VirtualClock,
    pub(super) key: SessionKey,
    fault: Option<(usize, Fault)>,
    points: Vec<Point>,
    world: WorldLog,
    /// The children of each call that began or stopped children.
    pub(super) children: BTreeMap<PendingId, Became>,
    /// The calls in `children` whose children work in the background.
    pub(super) crew: BTreeSet<PendingId>,
    call_states: Vec<&'static str>,
    fault_fired: bool,
    runs: usize,
}

impl Story {
    /// Plays the scenario, with a fault after a number of actions if one is given.
    pub(crate) async fn tell<P: Place>(place: P, fault: Option<(usize, Fault)>) -> Self {
        let key = SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap());
        let (store, clock) = (place.open().await, place.clock().clone());
        let mut teller = Teller {
            place,
            store,
            clock,
            key,
            fault,
            points: Vec::new(),
            world: WorldLog::default(),
            children: BTreeMap::new(),
            crew: BTreeSet::new(),
            call_states: Vec::new(),
            fault_fired: false,
            runs: 0,
        };
        teller.create().await;
        teller.live().await;
        teller.finish().await
    }
}

impl<P: Place> Teller<P> {
    async fn create(&self) {
        let new = NewSession {
            key: self.key.clone(),
            incarnation: Incarnation(uuid::Uuid::from_u128(7)),
            operation: OperationId::new("create").unwrap(),
            queue: QueueLabel::new("mixed").unwrap(),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: STATE_FORMAT,
            items: Vec::new(),
            start: Start::WithItems,
        };
        self.store.create_session(new).await.expect("created");
    }

    /// Plays the scenario to its end: people speak and answer, time passes, and workers claim the session.
    async fn live(&mut self) {
        let mut deeds = DEEDS.iter().enumerate();
        loop {
            while let Some(claim) = self.claim().await {
                let outcome = self.run(claim).await;
                if outcome.is_none() {
                    self.store = self.place.open().await;
                }
            }
            if self.answer_pending().await {
                continue;
            }
            let session = self.store.load_session(&self.key).await.unwrap().expect("the session");
            match session.alarm {
                Some(alarm) => self.clock.move_to(alarm),
                None => {
                    let Some((at, deed)) = deeds.next() else { return };
                    assert!(session.status.at_rest(), "at rest before the next deed: {session:?}");
                    self.deliver(at, *deed).await;
                }
            }
        }
    }

    async fn claim(&mut self) -> Option<Claim> {
        self.runs += 1;
        assert!(self.runs < 200, "the session does not come to rest");
        let due = ClaimDue {
            runs: vec![RunId::new(format!("run-{}", self.runs)).unwrap()],
            worker: WorkerId::new("w").unwrap(),
            lease: LEASE,
            queues: Queues::All,
            newest_format: STATE_FORMAT,
            tenant: None,
        };
        let claim = self.store.claim_due(due).await.expect("claimed").pop();
        if let (Some((_, Fault::Drains(_))), Some(claim)) = (self.fault, &claim) {
            assert_ne!(claim.found, SessionStatus::Active, "nobody is taken over");
            assert_eq!(claim.session.attempts, 0);
        }
        claim
    }

    async fn deliver(&self, at: usize, deed: Deed) {
        let (kind, payload) = match deed {
            Deed::Say(text) => (ItemKind::Message { wake: Wake::Now }, Payload::json(&Said::new(text))),
            Deed::Compact => (ItemKind::Signal { wake: Wake::Now }, Payload::json(&SignalBody::Compact)),
        };
        let item = InboxItem {
            key: ItemKey::new(format!("deed-{at}")).unwrap(),
            kind,
            incarnation: None,
            payload: payload.unwrap(),
        };
        assert!(matches!(self.store.deliver(&self.key, item).await.unwrap(), Delivery::Accepted { .. }));
    }

    async fn answer_pending(&mut self) -> bool {
        let query = PendingQuery::all(self.key.tenant.clone());
        let mut answered = self.end_crew().await;
        for pending in self.store.list_pending(&query).await.unwrap().items {
            if pending.answered > 0 {
                continue;
            }
            let body: PendingBody = pending.body.parse().unwrap();
            let payload = match &pending.kind {
                PendingKind::Other(name) => panic!("nobody asks for {name}"),
                PendingKind::InDoubt | PendingKind::DeadLetter => panic!("nobody is asked for this here"),
                PendingKind::Child => {
                    answered |= self.answer_as_children(&pending).await;
                    continue;
                }
                PendingKind::ClientTool => Payload::json(&ClientAnswer::done("42")).unwrap(),
                PendingKind::Approval => {
                    let arguments = scenario::decide(body.tool.as_str(), &body.arguments);
                    let again = body.tool.as_str() == scenario::TRUSTED && pending.call.as_str() != "c3-0";
                    assert!(!again, "asked about again: {pending:?}");
                    let edited = arguments.clone().filter(|arguments| *arguments != body.arguments);
                    Payload::json(&Decision {
                        arguments: edited,
                        always: body.tool.as_str() == scenario::TRUSTED,
                        by: Some("ann".into()),
                        ..Decision::new(arguments.is_some(), body.digest)
                    })
                    .unwrap()
                }
            };
            let item = InboxItem {
                key: ItemKey::new(format!("answer-{}", pending.id)).unwrap(),
                kind: ItemKind::Answer { pending: pending.id.clone(), settles: false },
                incarnation: Some(pending.incarnation),
                payload,
            };
            let delivery = self.store.deliver(&self.key, item).await.unwrap();
            assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
            answered = true;
        }
        answered
    }

    async fn run(&mut self, claim: Claim) -> Option<RunOutcome> {
        let agent = Arc::new(scenario::agent());
        let mut steps = StepIterator::start(claim, agent, self.facts()).expect("a state that reads");
        let mut replies: VecDeque<Reply> = VecDeque::new();
        let mut hanging: Vec<CallOut> = Vec::new();
        let (mut told, mut heard) = (None, false);
        loop {
            self.note_states(&steps);
            let action = steps.next_action();
            let kind = kind_of(&action);
            let leaves = heard && told == Some(Drain::Calls) && !matches!(action, Action::Await { .. });
            assert!(!leaves || STARTS_NOTHING.contains(&kind), "nothing starts any more: {action:?}");
            match action {
                // The run is told to leave only once all actions that it handed out together are in flight.
                Action::Await { .. } if told.is_some() && !heard => {
                    heard = true;
                    steps.apply(told.map_or(Reply::TimePassed, Reply::Drain), self.facts());
                }
                Action::Await { until } => {
                    let reply = match (replies.pop_front(), until) {
                        (Some(reply), _) => reply,
                        (None, Some(until)) => {
                            self.clock.move_to(until);
                            Reply::TimePassed
                        }
                        (None, None) => {
                            panic!("nothing is out and nothing is awaited: {:?}", steps.machine())
                        }
                    };
                    steps.apply(reply, self.facts());
                }
                Action::Exit(outcome) => {
                    return match self.performed(Point { kind, ..Point::default() }) {
                        Some(Fault::Dies) => None,
                        Some(Fault::Drains(_)) | None => Some(outcome),
                    };
                }
                Action::RunCalls { calls, .. } => {
                    for call in calls {
                        self.send(&call, &mut replies, &mut hanging).await;
                        let sent = Some((call.id.clone(), call.tool.to_string()));
                        match self.performed(Point { kind, sent, ..Point::default() }) {
                            Some(Fault::Dies) => return None,
                            Some(Fault::Drains(drain)) => told = Some(drain),
                            None => {}
                        }
                    }
                }
                other => {
                    let mut point = Point { kind, ..Point::default() };
                    self.perform(&mut steps, other, &mut replies, &mut hanging, &mut point).await;
                    match self.performed(point) {
                        Some(Fault::Dies) => return None,
                        Some(Fault::Drains(drain)) => told = Some(drain),
                        None => {}
                    }
                }
            }
        }
    }

    /// Records the action and returns the fault that follows it, if any.
    fn performed(&mut self, point: Point) -> Option<Fault> {
        self.points.push(point);
        let fault = self.fault.filter(|(after, _)| *after == self.points.len()).map(|(_, fault)| fault);
        self.fault_fired |= fault.is_some();
        fault
    }

    async fn perform(
        &mut self,
        steps: &mut StepIterator,
        action: Action,
        replies: &mut VecDeque<Reply>,
        hanging: &mut Vec<CallOut>,
        point: &mut Point,
    ) {
        let fence = steps.fence().clone();
        let reply = match action {
            Action::Read { id, messages, inbox_after, interrupt } => {
                let found = Found {
                    messages: self.store.read_all_messages(&self.key, &messages).await.unwrap(),
                    items: self.store.read_whole_inbox(&self.key, inbox_after).await.unwrap(),
                    interrupt: match interrupt {
                        true => match self.store.take_interrupt(&fence).await.unwrap() {
                            InterruptCheck::Waiting(interrupt) => Some(interrupt),
                            InterruptCheck::Clear | InterruptCheck::StaleFence => None,
                        },
                        false => None,
                    },
                };
                Reply::Read { id, result: Ok(found) }
            }
            Action::RunHooks { id, .. } => Reply::HooksRan { id, stop: None, corrections: Vec::new() },
            Action::Provision { id, .. } => Reply::Provisioned { id, result: Ok(Vec::new()) },
            Action::StartChildren { id, plan } => {
                assert!(self.may_begin(&plan).await, "children that begin have a durable call: {plan:?}");
                if plan.background.is_some() {
                    self.crew.insert(plan.pending.clone());
                }
                assert_eq!(plan.tasks.len(), TEAM_SIZE as usize);
                self.children.entry(plan.pending).or_insert(Became::Working);
                Reply::ChildrenStarted { id }
            }
            Action::StopChildren { id, children } => {
                self.stop_children(&[children]);
                Reply::ChildrenStopped { id }
            }
            Action::FindChildren { id, .. } => Reply::ChildrenFound { id, successors_rest: true },
            Action::TellOthers { id, children, .. } => {
                self.stop_children(&children);
                Reply::OthersTold { id }
            }
            Action::TearDown { id, .. } => Reply::TornDown { id, result: Ok(()) },
            Action::Sleep { id, until } => {
                self.clock.move_to(until);
                Reply::Slept { id }
            }
            Action::Plan { .. } => panic!("no code plans here"),
            Action::CallModel { id, call } => {
                let shown = self.shown(&call.shown).await;
                let transcript: Vec<_> = shown.into_iter().map(|(_, message)| (*message).clone()).collect();
                check::transcript_is_whole(&transcript);
                match scenario::think(&transcript, call.attempt) {
                    Thought::Answers(answer) => Reply::ModelAnswered { id, result: Ok(answer) },
                    Thought::Fails(error) => Reply::ModelAnswered { id, result: Err(error) },
                    Thought::Hangs => self.ask_to_stop(&fence).await,
                }
            }
            Action::Summarise { id, asked, refused, shown, .. } => {
                let shown = self.shown(&shown).await;
                let before = compaction::cut(&shown, &scenario::agent().compaction, asked, refused);
                let summary = before.map(|before| Summarised {
                    text: "it went well".into(),
                    before,
                    old_tokens: 100,
                    stop: StopReason::EndTurn,
                    usage: TokenUsage { input: 20, output: 5, ..TokenUsage::default() },
                });
                assert!(summary.is_some(), "something is old: {shown:?}");
                Reply::Summarised { id, result: Ok(summary), shorter: None }
            }
            Action::Shorten { id, .. } => Reply::Shortened { id, made: Vec::new(), in_vain: Vec::new() },
            Action::StopModel { of } => Reply::ModelStopped { of, said: String::new(), used: None },
            Action::Consult { id, questions } => {
                let ruling = |question: &holdover_core::gate::GateQuestion| {
                    let tool = find(question.tool.as_str());
                    let profile = tool.profile();
                    if tool.asks && !question.approved {
                        Ruling::NeedsApproval { prompt: None, terms: Default::default(), profile }
                    } else {
                        Ruling::Allow { profile }
                    }
                };
                let rulings =
                    questions.iter().map(|question| (question.call.clone(), ruling(question))).collect();
                Reply::Consulted { id, rulings }
            }
            Action::StopCalls { calls, .. } => {
                for call in hanging.extract_if(.., |call| calls.contains(&call.id)) {
                    let result = Err(find(call.tool.as_str()).stops_with());
                    replies.push_back(Reply::CallEnded { call: call.id, result, duration_ms: 1 });
                }
                return;
            }
            Action::StageResult { id, staging } => {
                point.marked = staging.starts.clone();
                point.settled = staging.results.iter().map(|result| result.call.clone()).collect();
                let outcome = self.store.stage_result(&fence, staging).await.expect("staged");
                Reply::Staged { id, outcome: Ok(outcome) }
            }
            Action::Commit { id, commit } => {
                note_commit(point, &commit);
                let outcome = self.store.commit(&fence, *commit).await.expect("committed");
                Reply::Committed { id, outcome: Ok(outcome) }
            }
            // This agent begins no calls early.
            Action::Foresee { .. } | Action::RunEarly { .. } | Action::DropEarly { .. } => return,
            Action::RunCalls { .. } | Action::Await { .. } | Action::Exit(_) => return,
        };
        replies.push_back(reply);
    }

    async fn send(&self, call: &CallOut, replies: &mut VecDeque<Reply>, hanging: &mut Vec<CallOut>) {
        let tool = find(call.tool.as_str());
        self.world.note(Send {
            call: call.id.clone(),
            tool: call.tool.to_string(),
            effect: tool.effect,
            key: call.idempotency_key.clone(),
            arguments: call.arguments.clone(),
            intent_was_durable: self.intent_is_durable(&call.id).await,
        });
        if tool.name == "slow" {
            let session = self.store.load_session(&self.key).await.unwrap().unwrap();
            let fence = holdover_core::ids::Fence {
                key: self.key.clone(),
                incarnation: session.incarnation,
                epoch: session.epoch,
            };
            replies.push_back(self.ask_to_stop(&fence).await);
        }
        match tool.returns() {
            Some(result) => {
                let call = call.id.clone();
                replies.push_back(Reply::CallEnded { call, result, duration_ms: 1 });
            }
            None => hanging.push(call.clone()),
        }
    }

    /// Returns true if the store records that this call may be sent, as the next run would see it.
    async fn intent_is_durable(&self, call: &CallId) -> bool {
        let session = self.store.load_session(&self.key).await.unwrap().unwrap();
        if session.staged.starts.contains(call) {
            return true;
        }
        let Some(state) = session.state else { return false };
        let machine: Machine = state.parse().unwrap();
        machine
            .state
            .batch()
            .and_then(|batch| batch.call(call).map(|call| call.state.clone()))
            .is_some_and(|state| state == CallState::Preparing)
    }

    async fn ask_to_stop(&self, fence: &holdover_core::ids::Fence) -> Reply {
        let interrupt = Interrupt {
            id: InterruptId::new(format!("stop-{}", fence.epoch)).unwrap(),
            kind: InterruptKind::Soft,
            reason: "enough".into(),
            at: self.clock.now(),
            incarnation: None,
        };
        self.store.request_interrupt(&self.key, interrupt).await.unwrap();
        match self.store.renew_lease(fence, LEASE).await.unwrap() {
            LeaseOutcome::Renewed(receipt) => Reply::News(receipt),
            LeaseOutcome::StaleFence => Reply::LeaseLost,
        }
    }

    fn note_states(&mut self, steps: &StepIterator) {
        if let Some(batch) = steps.machine().state.batch() {
            self.call_states.extend(batch.calls.iter().map(|call| call.state.name()));
        }
    }

    fn facts(&self) -> Facts {
        Facts { now: self.clock.now() }
    }

    async fn shown(&self, shown: &Shown) -> Vec<(MessageSeq, Arc<Message>)> {
        let stored = self.store.read_all_messages(&self.key, &shown.to_read()).await.unwrap();
        let read =
            stored.iter().map(|stored| (stored.seq, Arc::new(stored.payload.parse().expect("a message"))));
        shown.messages(&read.collect::<Vec<_>>()).cloned().collect()
    }

    async fn read_transcript(&self, ranges: &[MessageRange]) -> Vec<Message> {
        let stored = self.store.read_all_messages(&self.key, ranges).await.unwrap();
        stored.iter().map(|message| message.payload.parse().expect("a message")).collect()
    }

    async fn finish(mut self) -> Story {
        let session = self.store.load_session(&self.key).await.unwrap().unwrap();
        let whole = [MessageRange::new(MessageSeq(1), session.last_message)];
        let transcript = self.read_transcript(&whole).await;
        let results: Vec<_> = transcript
            .iter()
            .filter_map(|message| match message {
                Message::Tool(result) => Some((find(&result.tool).name, result.status)),
                Message::User(_)
                | Message::Assistant(_)
                | Message::Decision(_)
                | Message::Notice(_)
                | Message::Summary(_) => None,
            })
            .collect();
        let events = check::events_in(&self.store, &self.key).await;
        let turns = check::dones(&events);
        let rows = check::rows_of(&events);
        for upto in 0..rows.len() {
            let machine = rebuild(&rows[..upto]).expect("a whole history");
            if let Some(batch) = machine.state.batch() {
                self.call_states.extend(batch.calls.iter().map(|call| call.state.name()));
            }
        }
        for event in &events {
            if let Event::Call { is, .. } = event {
                self.call_states.extend(CallState::NAMES.iter().filter(|name| *name == is));
            }
        }
        assert_eq!(session.unread, 0, "every accepted item was consumed (INV-26)");
        let ended = self.children.values().all(|became| *became != Became::Working);
        assert!(ended, "no child is left at work (INV-30): {:?}", self.children);
        assert!(session.staged.results.is_empty(), "nothing is left staged: {:?}", session.staged);
        assert!(
            self.store
                .list_pending(&PendingQuery::all(self.key.tenant.clone()))
                .await
                .unwrap()
                .items
                .is_empty()
        );
        Story {
            end: End { turns, results, status: session.status },
            sends: self.world.all(),
            points: self.points,
            call_states: self.call_states,
            fault_fired: self.fault_fired,
            machine: session.state.expect("a state").parse().expect("a machine"),
            events,
            transcript,
        }
    }
}

impl Story {
    /// Checks what must hold whatever action the run was stopped at.
    pub(crate) fn check_invariants(&self) {
        // INV-08: each call has exactly one result.
        check::transcript_is_whole(&self.transcript);
        // INV-10: the rows alone rebuild the stored machine.
        let rows = check::rows_of(&self.events);
        assert_eq!(rebuild(&rows).expect("a whole history"), self.machine, "history and state agree");
        // INV-12: each turn has one `init`, one `agent_end` and one `done`, in this order.
        let ends: Vec<(&str, u64)> = self
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Init { turn, .. } => Some(("init", turn.0)),
                Event::Done { turn, .. } => Some(("done", turn.0)),
                Event::AgentEnd { turn, .. } => Some(("agent_end", turn.0)),
                _ => None,
            })
            .collect();
        let expected: Vec<(&str, u64)> =
            (1..=3).flat_map(|turn| [("init", turn), ("agent_end", turn), ("done", turn)]).collect();
        assert_eq!(ends, expected);
        // The old messages were summarised exactly once, no matter which run made the summary.
        let summaries =
            self.transcript.iter().filter(|message| matches!(message, Message::Summary(_))).count();
        let compactions =
            self.events.iter().filter(|event| matches!(event, Event::CompactionEnded { .. })).count();
        assert_eq!((summaries, compactions), (1, 1));
        // H18: the changes of the calls that were done are applied once, in call order.
        let done: Vec<&str> = self
            .transcript
            .iter()
            .filter_map(|message| match message {
                Message::Tool(result) if result.status == ResultStatus::Done => Some(result.tool.as_str()),
                _ => None,
            })
            .filter(|tool| !["ask", TEAM, CREW, WAIT].contains(tool))
            .collect();
        assert_eq!(self.machine.custom.get("did"), Some(&serde_json::json!(done)));
        // INV-13, INV-20: nothing with an effect was sent before its intent was durable.
        for send in &self.sends {
            let free = send.effect == holdover_core::tool::EffectClass::ReadOnly;
            assert!(free || send.intent_was_durable, "sent without a durable intent: {send:?}");
        }
        // INV-14: all sends of a call carry one key and the same bytes.
        for send in &self.sends {
            for other in self.sends.iter().filter(|other| other.call == send.call) {
                assert_eq!((&send.key, &send.arguments), (&other.key, &other.arguments));
            }
        }
    }
}

fn note_commit(point: &mut Point, commit: &holdover_core::store::Commit) {
    if let Some(state) = &commit.state {
        let machine: Machine = state.payload.parse().expect("a machine");
        if let Some(batch) = machine.state.batch() {
            for call in &batch.calls {
                match call.state {
                    CallState::Approved => point.allowed.push(call.id.clone()),
                    CallState::Preparing => point.marked.push(call.id.clone()),
                    CallState::Waiting { .. } => point.settled.push(call.id.clone()),
                    _ => {}
                }
            }
        }
    }
    point.settled.extend(commit.stage.iter().map(|result| result.call.clone()));
    for message in &commit.messages {
        if let NewMessage::Inline(payload) = message
            && let Ok(Message::Tool(result)) = payload.parse()
        {
            point.settled.push(result.call);
        }
    }
}
