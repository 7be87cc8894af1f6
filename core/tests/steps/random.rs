//! Stories that nobody wrote: random models, people, clocks and deaths, in random order.
//!
//! `HOLDOVER_CASES=20000 cargo test -p holdover-core --test steps random` looks for longer.
//!
//! Requirements: A40, A41, A42, B06, B07, B14, B21, B28, B49, C19, C34, C42, C51, C56, C57, D19, D23, H18, U04, U08.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdover_core::agent::{AtMax, Compaction, Fallback, OnTrip};
use holdover_core::custom::StateChange;
use holdover_core::error::ErrorInfo;
use holdover_core::event::Event;
use holdover_core::hook::HookPoint;
use holdover_core::ids::CallId;
use holdover_core::mailbox::{MessagePolicy, QueueChange, WhileAsking};
use holdover_core::message::{CallSignal, Message, Said, SignalBody};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::model::{ModelAnswer, ModelError, ModelErrorKind};
use holdover_core::payload::{Digest, Payload};
use holdover_core::step::{Action, Reply};
use holdover_core::store::{InterruptKind, PendingKind, SessionStatus};
use holdover_core::tool::{EffectClass, ToolError, ToolOutput, ToolReturn};
use proptest::prelude::*;
use serde_json::json;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{WRONG, calls, effect_of, overloaded, state_rules, text};

/// Runs until a session that is left in peace rests.
const RUNS_MAX: usize = 300;
/// Actions of one run that is left in peace.
const ACTIONS_MAX: usize = 2_000;

/// What the model does, one after another; in the end it says that it is done.
#[derive(Debug, Clone)]
enum Thought {
    Calls(Vec<&'static str>),
    Text,
    /// What the hook corrects, if it is asked.
    Wrong,
    Busy(Option<u64>),
    TooLong,
    Fatal,
}

/// How a call comes back.
#[derive(Debug, Clone)]
enum Return {
    Output { stop: bool, changes: Vec<StateChange> },
    After(u64, Vec<StateChange>),
    Failed,
    NotRun,
    Transient(u64),
    Lost,
}

/// What happens next.
#[derive(Debug, Clone)]
enum Happens {
    Say(Option<MessagePolicy>),
    /// A message that wakes nobody.
    Note,
    SayIn(Mode),
    SetMode(Mode),
    /// A message that waits is withdrawn, or says something else.
    Change {
        which: usize,
        withdraw: bool,
    },
    StopCall {
        which: usize,
    },
    Decide {
        which: usize,
        approve: bool,
        edit: Option<&'static str>,
    },
    Garbage {
        which: usize,
    },
    Retry,
    RetryByStatus,
    Stop(InterruptKind),
    /// An action that is out is performed; its answer is on its way.
    Perform {
        which: usize,
        returns: Return,
    },
    /// An answer that is on its way arrives.
    Arrive {
        which: usize,
    },
    /// Both at once, oldest first, so many times.
    GoOn {
        actions: usize,
    },
    WriteFails,
    News,
    Crash,
    WithoutAgent,
    Pass {
        ms: u64,
    },
}

fn thought() -> impl Strategy<Value = Thought> {
    let tools = ["look", "put", "pay", "bill", "peep", "note", "edit", "wipe", "ask", "serial", "fly"];
    let several = r#"edit:{"terms": {"approvers": {"needed": 2}, "at_expiry": "approve"}}"#;
    let some = r#"edit:{"terms": {"approvers": {"names": ["ann"]}, "escalate": [{"after_ms": 1000, "to": ["bob"]}]}}"#;
    let more = ["edit", "note:bad", "pay:forbidden", several, some];
    let hooked = ["put:rewrite", "edit:rewrite", "ask:rewrite", "pay:known", "note:fatal"];
    let all: Vec<&'static str> = tools.into_iter().chain(more).chain(hooked).collect();
    prop_oneof![
        6 => prop::collection::vec(prop::sample::select(all), 1..5).prop_map(Thought::Calls),
        1 => Just(Thought::Text),
        1 => Just(Thought::Wrong),
        1 => prop::option::of(0..3_000_u64).prop_map(Thought::Busy),
        1 => Just(Thought::TooLong),
        1 => Just(Thought::Fatal),
    ]
}

impl Return {
    /// What every call comes back with when nothing is the matter.
    fn calm() -> Self {
        Self::Output { stop: false, changes: Vec::new() }
    }
}

/// Changes of the custom state, of few keys, some of which cannot be taken.
fn changes() -> impl Strategy<Value = Vec<StateChange>> {
    let key = || prop::sample::select(vec!["log", "word", "long"]).prop_map(str::to_owned);
    let value =
        || prop_oneof![Just(json!("a")), Just(json!(1)), Just(json!([])), Just(json!("x".repeat(90)))];
    let change = prop_oneof![
        2 => (key(), value()).prop_map(|(key, value)| StateChange::Set { key, value }),
        2 => (key(), value()).prop_map(|(key, value)| StateChange::Append { key, value }),
        1 => key().prop_map(|key| StateChange::Delete { key }),
    ];
    prop::collection::vec(change, 0..4)
}

fn returns() -> impl Strategy<Value = Return> {
    prop_oneof![
        6 => (prop::bool::weighted(0.1), changes()).prop_map(|(stop, changes)| Return::Output { stop, changes }),
        2 => (0..3_000_u64, changes()).prop_map(|(ms, changes)| Return::After(ms, changes)),
        1 => Just(Return::Failed),
        1 => Just(Return::NotRun),
        1 => (0..3_000_u64).prop_map(Return::Transient),
        1 => Just(Return::Lost),
    ]
}

fn happens() -> impl Strategy<Value = Happens> {
    let edit = prop::option::of(prop::sample::select(vec![
        "{\"place\": \"edited\"}",
        "{\"steps\": 1}",
        "bad",
        "forbidden",
        "rewrite",
    ]));
    let stop = prop_oneof![6 => Just(InterruptKind::Soft), 1 => Just(InterruptKind::Abort)];
    prop_oneof![
        3 => prop::option::of(prop::sample::select(MessagePolicy::ALL.to_vec())).prop_map(Happens::Say),
        1 => Just(Happens::Note),
        1 => (0..4_usize, any::<bool>()).prop_map(|(which, withdraw)| Happens::Change { which, withdraw }),
        1 => (0..4_usize).prop_map(|which| Happens::StopCall { which }),
        1 => prop::sample::select(Mode::ALL.to_vec()).prop_map(Happens::SayIn),
        1 => prop::sample::select(Mode::ALL.to_vec()).prop_map(Happens::SetMode),
        6 => (0..4_usize, prop::bool::weighted(0.8), edit)
            .prop_map(|(which, approve, edit)| Happens::Decide { which, approve, edit }),
        1 => (0..4_usize).prop_map(|which| Happens::Garbage { which }),
        1 => Just(Happens::Retry),
        1 => Just(Happens::RetryByStatus),
        2 => stop.prop_map(Happens::Stop),
        12 => (0..4_usize, returns()).prop_map(|(which, returns)| Happens::Perform { which, returns }),
        12 => (0..4_usize).prop_map(|which| Happens::Arrive { which }),
        8 => (1..12_usize).prop_map(|actions| Happens::GoOn { actions }),
        1 => Just(Happens::WriteFails),
        4 => Just(Happens::News),
        2 => Just(Happens::Crash),
        1 => Just(Happens::WithoutAgent),
        3 => prop_oneof![0..2_000_u64, 2_000..120_000_u64, Just(31 * 60 * 1000)]
            .prop_map(|ms| Happens::Pass { ms }),
    ]
}

/// A session in a world where anything happens.
struct World<'b> {
    bench: &'b Bench,
    thoughts: std::vec::IntoIter<Thought>,
    run: Option<Run<'b>>,
    /// Answers that are on their way.
    replies: Vec<Reply>,
    /// How often each call came back and had not acted.
    not_run: BTreeMap<CallId, usize>,
    said: Vec<Option<MessagePolicy>>,
    /// Words that may have been withdrawn in time.
    withdrawn: BTreeSet<usize>,
    runs: usize,
}

/// The session that begins when this one, which has heard the first word, is handed over with the second.
fn handed_over(source: &Bench, draft: bool) -> Bench {
    let mut world = World::new(source, 0);
    world.happen(&Happens::Say(None));
    world.come_to_rest();
    let bench = source.hand_off("word 2", draft);
    bench.signal(&SignalBody::Resume);
    bench
}

impl<'b> World<'b> {
    fn new(bench: &'b Bench, heard: usize) -> Self {
        Self {
            bench,
            thoughts: Vec::new().into_iter(),
            run: None,
            replies: Vec::new(),
            not_run: BTreeMap::new(),
            said: vec![None; heard],
            withdrawn: BTreeSet::new(),
            runs: 0,
        }
    }

    fn happen(&mut self, what: &Happens) {
        match what {
            Happens::Say(policy) if self.bench.status() != SessionStatus::Aborted => {
                self.said.push(*policy);
                let said = Said::new(format!("word {}", self.said.len()));
                self.bench.say_as(Said { policy: *policy, ..said });
            }
            Happens::Note if self.bench.status() != SessionStatus::Aborted => {
                self.said.push(None);
                self.bench.note(&format!("word {}", self.said.len()));
            }
            Happens::Change { which, withdraw } if self.bench.status() != SessionStatus::Aborted => {
                self.change(*which, *withdraw);
            }
            Happens::StopCall { which } if self.bench.status() != SessionStatus::Aborted => {
                let machine = self.bench.machine();
                if let Some(batch) = machine.state.batch() {
                    let call = batch.calls[which % batch.calls.len()].id.clone();
                    self.bench.signal(&CallSignal::StopCall { call });
                }
            }
            Happens::SayIn(mode) if self.bench.status() != SessionStatus::Aborted => {
                self.said.push(None);
                let briefing = Briefing { mode: Some(*mode), system_prompt: Some("Be brief.".into()) };
                self.bench.brief(&format!("word {}", self.said.len()), briefing);
            }
            Happens::SetMode(mode) if self.bench.status() != SessionStatus::Aborted => {
                // Not quietly, so that it is taken before the session rests for good.
                self.bench.signal(&SignalBody::Mode { mode: *mode });
            }
            Happens::Decide { which, approve, edit } => self.decide(*which, *approve, *edit),
            Happens::Garbage { which } => {
                let pending = self.bench.pending();
                if !pending.is_empty() {
                    self.bench.answer_with(&pending[which % pending.len()].id, Payload::new("garbage"));
                }
            }
            Happens::Retry if self.bench.status() != SessionStatus::Aborted => self.bench.retry(),
            Happens::RetryByStatus
                if matches!(self.bench.status(), SessionStatus::Failed | SessionStatus::Interrupted) =>
            {
                self.bench.retry_by_status(true);
            }
            Happens::Stop(kind) => drop(self.bench.interrupt(*kind)),
            Happens::Perform { which, returns } => self.perform(*which, returns),
            Happens::Arrive { which } => self.arrive(*which),
            Happens::GoOn { actions } => {
                for _ in 0..*actions {
                    self.perform(0, &Return::calm());
                    self.arrive(0);
                }
            }
            Happens::WriteFails => self.write_fails(),
            Happens::News => {
                if let Some(receipt) = self.running().and_then(|run| run.try_renew()) {
                    self.replies.push(Reply::News(receipt));
                }
            }
            Happens::Crash => {
                if let Some(run) = self.run.take() {
                    self.replies.clear();
                    self.bench.crash(run);
                }
            }
            Happens::WithoutAgent => self.end_without_agent(),
            Happens::Pass { ms } => {
                self.bench.clock.pass(Duration::from_millis(*ms));
                if let Some(run) = self.running() {
                    run.apply(Reply::TimePassed);
                }
            }
            Happens::Say(_)
            | Happens::Note
            | Happens::Change { .. }
            | Happens::StopCall { .. }
            | Happens::SayIn(_)
            | Happens::SetMode(_)
            | Happens::Retry
            | Happens::RetryByStatus => {}
        }
    }

    /// The run that is under way, or a new one if the session is due.
    fn running(&mut self) -> Option<&mut Run<'b>> {
        if self.run.as_ref().is_some_and(Run::is_over) {
            self.run = None;
            self.replies.clear();
        }
        if self.run.is_none() {
            let claim = self.bench.claim()?;
            self.runs += 1;
            let held = ["read", "commit", "stage", "consult", "stop_model"];
            let run = self.run.insert(Run::holding(self.bench, claim, &held));
            // Of every other answer that is stopped something had come.
            run.said = if self.runs.is_multiple_of(2) { "so far".into() } else { String::new() };
        }
        self.run.as_mut().filter(|run| !run.is_over())
    }

    fn end_without_agent(&mut self) {
        if self.run.as_ref().is_none_or(Run::is_over)
            && self.bench.session().interrupt.is_some()
            && self.bench.is_due()
        {
            self.run = None;
            self.replies.clear();
            let mut run = self.bench.end();
            while run.is_out("tear_down") {
                run.perform("tear_down");
            }
            assert!(run.is_over(), "{:?}", run.steps.machine());
        }
    }

    fn change(&mut self, which: usize, withdraw: bool) {
        let queued = self.bench.queued();
        if queued.is_empty() {
            return;
        }
        let (of, text) = queued[which % queued.len()].clone();
        if withdraw {
            self.withdrawn.insert(number_of(&text));
            self.bench.signal(&QueueChange::Withdrawn { of });
        } else {
            self.bench.signal(&QueueChange::Replaced { of, text: format!("{text}, I mean") });
        }
    }

    fn decide(&mut self, which: usize, approve: bool, edit: Option<&str>) {
        let pending = self.bench.pending();
        if pending.is_empty() {
            return;
        }
        let asked = &pending[which % pending.len()];
        match (asked.kind, approve, edit) {
            (PendingKind::ClientTool, ..) => self.bench.answer(asked, "42"),
            (PendingKind::Approval, false, _) => self.bench.deny(asked),
            // Where two must approve, one does not do it for both.
            (PendingKind::Approval, true, None) => {
                self.bench.approve_as(if self.runs.is_multiple_of(2) { "ann" } else { "bob" }, asked)
            }
            (PendingKind::Approval, true, Some(arguments)) => self.bench.edit(asked, arguments),
        };
    }

    fn perform(&mut self, which: usize, returns: &Return) {
        let Some(run) = self.running() else { return };
        if run.out.is_empty() {
            return;
        }
        let at = which % run.out.len();
        let action = run.out.remove(at).expect("it is out");
        let reply = match action {
            Action::CallModel { id, .. } => {
                let mut result = think(self.thoughts.next());
                if let (Ok(answer), true) = (&mut result, self.bench.agent.compaction.clears_results()) {
                    // A server that counts nothing: what is shown is counted here.
                    answer.usage.input = 0;
                }
                // Its calls are told of while it is written; some of that may come late, or not in order.
                if let (Ok(answer), true) = (&result, self.bench.agent.early_reads) {
                    self.replies.extend(Run::written_of(id, answer));
                }
                Reply::ModelAnswered { id, result }
            }
            Action::RunEarly { .. } | Action::DropEarly { .. } => return,
            Action::RunCalls { mut calls } => {
                let call = calls.remove(0);
                if !calls.is_empty() {
                    run.out.push_back(Action::RunCalls { calls });
                }
                let result = come_back(returns);
                if matches!(result, Err(ToolError::NotRun(_) | ToolError::Transient { .. })) {
                    *self.not_run.entry(call.id.clone()).or_default() += 1;
                }
                Reply::CallEnded { call: call.id, result, duration_ms: 1 }
            }
            Action::StopCalls { .. } => return,
            Action::Summarise { id, .. } if matches!(returns, Return::Failed) => {
                let error = ModelError::new(ModelErrorKind::Provider, "no summary today");
                Reply::Summarised { id, result: Err(error) }
            }
            Action::Summarise { id, .. } => {
                let (_, made) = run.summary_of(&action, "what was");
                Reply::Summarised { id, result: Ok(made) }
            }
            Action::Sleep { id, until } => {
                self.bench.clock.move_to(until);
                Reply::Slept { id }
            }
            Action::Provision { id, .. } if matches!(returns, Return::Failed) => {
                Reply::Provisioned { id, result: Err(ErrorInfo::new("provision.full", "no room")) }
            }
            Action::TearDown { id, .. } if matches!(returns, Return::Failed) => {
                Reply::TornDown { id, result: Err(ErrorInfo::new("provision.stuck", "no way")) }
            }
            other => run.reply_to(other),
        };
        self.replies.push(reply);
    }

    fn arrive(&mut self, which: usize) {
        if self.replies.is_empty() || self.run.as_ref().is_none_or(Run::is_over) {
            return;
        }
        let reply = self.replies.remove(which % self.replies.len());
        if let Some(run) = &mut self.run {
            run.apply(reply);
        }
    }

    fn write_fails(&mut self) {
        if let Some(run) = self.running()
            && (run.is_out("commit") || run.is_out("stage"))
        {
            run.write_fails();
        }
    }

    /// People answer, time passes, nothing fails any more: the session comes to rest.
    fn come_to_rest(&mut self) {
        self.thoughts = Vec::new().into_iter();
        loop {
            assert!(self.runs < RUNS_MAX, "no rest: {:?}", self.bench.session());
            let mut actions = 0;
            while self.running().is_some() {
                actions += 1;
                assert!(actions < ACTIONS_MAX, "no exit: {:?}", self.bench.machine());
                self.perform(0, &Return::calm());
                if self.replies.is_empty()
                    && let Some(run) = self.run.as_mut().filter(|run| !run.is_over() && run.out.is_empty())
                {
                    run.wait();
                }
                self.arrive(0);
            }
            let pending = self.bench.pending();
            let owed = pending.iter().position(|asked| asked.answered == 0);
            match (owed, self.bench.session().alarm) {
                (Some(which), _) => self.decide(which, true, None),
                (None, Some(alarm)) => self.bench.clock.move_to(alarm),
                (None, None) => return,
            }
        }
    }

    fn check(&self) {
        let session = self.bench.session();
        assert!(session.status.at_rest() || session.status == SessionStatus::Aborted, "{session:?}");
        check::at_rest(self.bench);
        let refused =
            |event: &Event| matches!(event, Event::Error { error } if error.code == "engine.refused");
        assert!(!check::events(self.bench).iter().any(refused), "an input had no place where it came");
        let transcript = self.bench.transcript();
        let words: Vec<usize> = transcript
            .iter()
            .filter_map(|message| match message {
                Message::User(said) if said.text.starts_with("[course correction") => None,
                Message::User(said) => Some(number_of(&said.text)),
                _ => None,
            })
            .collect();
        let once: BTreeSet<usize> = words.iter().copied().collect();
        assert_eq!(once.len(), words.len(), "each message is taken once (U08): {words:?}");
        if session.status != SessionStatus::Aborted {
            assert_eq!(session.unread, 0, "what was accepted was consumed (INV-26)");
            let all = 1..=self.said.len();
            let missing: Vec<usize> =
                all.filter(|word| !once.contains(word) && !self.withdrawn.contains(word)).collect();
            assert!(missing.is_empty(), "accepted and never taken (U08): {missing:?} of {words:?}");
        }
        for waits in [true, false] {
            let policy = |word: &usize| self.said[*word - 1].unwrap_or(MessagePolicy::Steer);
            let of_class: Vec<usize> =
                words.iter().copied().filter(|word| policy(word).waits() == waits).collect();
            assert!(of_class.is_sorted(), "first come, first taken (B49): {words:?}");
        }
        self.check_sends(&transcript);
    }

    fn check_sends(&self, transcript: &[Message]) {
        let mut by_key: BTreeMap<String, (String, String)> = BTreeMap::new();
        let mut by_call: BTreeMap<CallId, Vec<String>> = BTreeMap::new();
        for send in self.bench.sends.borrow().iter() {
            let bytes = (send.tool.to_string(), send.arguments.clone());
            let first = by_key.entry(send.idempotency_key.clone()).or_insert_with(|| bytes.clone());
            assert_eq!(*first, bytes, "one key, the same bytes (INV-14)");
            let effect = effect_of(send.tool.as_str());
            if effect != EffectClass::ReadOnly {
                let keys = by_call.entry(send.id.clone()).or_default();
                keys.push(send.idempotency_key.clone());
                assert_eq!(keys.first(), keys.last(), "one call, one key (INV-14)");
                let once = effect == EffectClass::AtMostOnce;
                let again = self.not_run.get(&send.id).copied().unwrap_or(0);
                assert!(!once || keys.len() <= 1 + again, "{} was sent twice (INV-15)", send.id);
            }
            if ["edit", "wipe"].contains(&send.tool.as_str()) {
                let approved = transcript.iter().any(|message| match message {
                    Message::Decision(record) => {
                        let bytes =
                            record.decision.arguments.as_ref().map(|text| Digest::of(text.as_bytes()));
                        record.call == send.id
                            && record.decision.approve
                            && bytes.unwrap_or(record.decision.saw) == Digest::of(send.arguments.as_bytes())
                    }
                    _ => false,
                });
                assert!(approved, "{} ran on bytes that nobody approved (INV-21)", send.id);
            }
        }
    }
}

/// Which word a text is, also after it was changed.
fn number_of(text: &str) -> usize {
    let number = text.strip_prefix("word ").and_then(|rest| rest.split(',').next());
    number.and_then(|number| number.parse().ok()).expect("one of ours")
}

fn think(thought: Option<Thought>) -> Result<ModelAnswer, ModelError> {
    match thought {
        Some(Thought::Calls(tools)) => Ok(calls(&tools)),
        Some(Thought::Text) | None => Ok(text("done")),
        Some(Thought::Wrong) => Ok(text(WRONG)),
        Some(Thought::Busy(after)) => Err(overloaded(after.map(Duration::from_millis))),
        Some(Thought::TooLong) => Err(ModelError::new(ModelErrorKind::ContextLimit, "it is too long")),
        Some(Thought::Fatal) => Err(ModelError::new(ModelErrorKind::Auth, "the key is wrong")),
    }
}

fn come_back(returns: &Return) -> Result<ToolReturn, ToolError> {
    match returns {
        Return::Output { stop, changes } => {
            Ok(ToolOutput { stop: *stop, changes: changes.clone(), ..ToolOutput::text("done") }.into())
        }
        Return::After(ms, changes) => {
            let output = ToolOutput { changes: changes.clone(), ..ToolOutput::text("later") };
            Ok(ToolReturn::After { delay: Duration::from_millis(*ms), output })
        }
        Return::Failed => Err(ToolError::Failed("closed on Sundays".into())),
        Return::NotRun => Err(ToolError::NotRun("no such host".into())),
        Return::Transient(ms) => {
            Err(ToolError::Transient { detail: "busy".into(), wait: Some(Duration::from_millis(*ms)) })
        }
        Return::Lost => Err(ToolError::Lost("connection reset".into())),
    }
}

fn cases() -> u32 {
    std::env::var("HOLDOVER_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_happens_every_session_comes_to_rest_and_its_transcript_is_whole(
        provisions: bool,
        hooked: bool,
        sync: bool,
        falls_back: bool,
        observes: bool,
        context in prop::option::of(60..300_u64),
        thoughts in prop::collection::vec(thought(), 0..8),
        denies: bool,
        few: bool,
        schema: bool,
        (early, handed) in any::<(bool, Option<bool>)>(),
        story in prop::collection::vec(happens(), 0..120),
    ) {
        let fresh = Bench::with(|agent| {
            agent.provisions = provisions;
            if few {
                agent.limits.max_steps = 2;
                agent.at_max = AtMax::Ask;
            }
            if schema {
                let log = json!({ "type": "array", "maxItems": 3 });
                agent.state = state_rules(json!({ "properties": { "log": log } }));
            }
            agent.state.bytes_max = 250;
            agent.early_reads = early;
            if hooked {
                agent.hooks = [HookPoint::AfterStep, HookPoint::AgentEnd, HookPoint::Transition].into();
            }
            if falls_back {
                agent.fallback = vec![Fallback { model: "other".into(), prices: None }];
            }
            if observes {
                agent.retries.on_trip = OnTrip::Observe;
            }
            if denies {
                agent.on_message_while_asking = WhileAsking::Deny;
            }
            if sync {
                agent.durability = holdover_core::agent::Durability::Sync;
            }
            // A model that reads little: what is old is summarised and cleared, again and again.
            if let Some(context_tokens) = context {
                agent.compaction = Compaction {
                    context_tokens,
                    kept_turns: 1,
                    clear_results_over: 3,
                    kept_results: 1,
                    summarise_results: true,
                    ..Compaction::default()
                };
            }
        });
        // The session is new, or one that another was handed over to: then it has heard two words already.
        let (bench, heard) = match handed {
            None => (fresh, 0),
            Some(draft) => (handed_over(&fresh, draft), 2),
        };
        let mut world = World::new(&bench, heard);
        world.thoughts = thoughts.into_iter();
        world.happen(&Happens::Say(None));
        for what in &story {
            world.happen(what);
        }
        world.come_to_rest();
        if bench.session().unread > 0 {
            // Notes wake nobody: they are taken with what comes next.
            world.happen(&Happens::Say(None));
            world.come_to_rest();
        }
        world.check();
    }
}
