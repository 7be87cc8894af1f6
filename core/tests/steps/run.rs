//! One run of a session, performed step by step as a test directs.
//!
//! Reads, writes, questions to the gate, checks of calls that may begin early, and stops of the model are performed as soon
//! as they are asked for, unless the test holds them back. The test answers for the model and the tools, and moves the
//! clock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use holdover_core::compaction;
use holdover_core::engine::{
    Action, ActionId, CallOut, Drain, Found, ModelCall, Reply, Ruling, RunOutcome, Shortened, Shown,
    StepIterator, Summarised,
};
use holdover_core::error::ErrorInfo;
use holdover_core::history::Shorter;
use holdover_core::ids::{CallId, Fence, MessageSeq};
use holdover_core::machine::Facts;
use holdover_core::message::Message;
use holdover_core::model::{AnswerPart, ModelAnswer, ModelError, PartialUse, StopReason, TokenUsage};
use holdover_core::store::{
    Claim, CommitOutcome, InterruptCheck, LeaseOutcome, Receipt, StageOutcome, StateStore, StateStoreExt,
};
use holdover_core::time::{Clock, Timestamp};
use holdover_core::tool::{EffectClass, ToolError, ToolOutput, ToolReturn};

use crate::bench::{Bench, LEASE, Write, now};
use crate::{check, providers, world};

/// The most times in a row that a run may ask to be woken at once without doing anything.
const AWAKENINGS_MAX: usize = 3;

/// The most actions that may follow from one reply.
const ACTIONS_MAX: usize = 1_000;

/// The kinds of actions that a run may still begin after it was told to start nothing more.
const ENDS_OR_SAVES: [&str; 6] = ["read", "commit", "stage", "stop_calls", "stop_model", "drop_early"];

/// A message and its sequence number.
type Placed = (MessageSeq, Arc<Message>);

pub(crate) struct Run<'b> {
    pub(crate) bench: &'b Bench,
    pub(crate) steps: StepIterator,
    /// The actions that were handed out and not performed yet, oldest first.
    pub(crate) out: VecDeque<Action>,
    /// The kinds of actions that wait until the test performs them.
    held: Vec<&'static str>,
    until: Option<Timestamp>,
    exit: Option<RunOutcome>,
    /// The text that a model has written when it is stopped.
    pub(crate) said: String,
    /// The usage that a model reports when it is stopped.
    pub(crate) used: Option<PartialUse>,
    /// The calls that were begun early, and neither sent nor dropped.
    pub(crate) early: BTreeMap<CallId, CallOut>,
    /// The point up to which the run may go on, once it was told to leave its session.
    draining: Option<Drain>,
}

impl<'b> Run<'b> {
    pub(crate) fn new(bench: &'b Bench, steps: StepIterator) -> Self {
        Self::with(bench, steps, Vec::new())
    }

    pub(crate) fn with(bench: &'b Bench, steps: StepIterator, held: Vec<&'static str>) -> Self {
        let (out, said) = (VecDeque::new(), String::new());
        let early = BTreeMap::new();
        let (until, exit, used, draining) = (None, None, None, None);
        let mut run = Self { bench, steps, out, held, until, exit, said, used, early, draining };
        run.settle();
        run
    }

    /// Starts the run of this claim, and holds back actions of these kinds from the beginning.
    pub(crate) fn holding(bench: &'b Bench, claim: Claim, kinds: &[&'static str]) -> Self {
        let steps = StepIterator::start(claim, bench.agent.clone(), bench.facts()).expect("it reads");
        Self::with(bench, steps, kinds.to_vec())
    }

    // Control of the run

    /// Holds back actions of this kind until the test performs them.
    pub(crate) fn hold(&mut self, kind: &'static str) {
        self.held.push(kind);
    }

    /// Performs the held actions of this kind, and stops holding the kind back.
    pub(crate) fn let_go(&mut self, kind: &'static str) {
        self.held.retain(|held| *held != kind);
        while self.is_out(kind) {
            self.perform(kind);
        }
    }

    /// Performs the oldest action of this kind and gives the run the reply.
    pub(crate) fn perform(&mut self, kind: &'static str) {
        let reply = self.perform_silently(kind);
        self.apply(reply);
    }

    /// Performs the oldest action of this kind and returns the reply, which the run does not get yet.
    pub(crate) fn perform_silently(&mut self, kind: &'static str) -> Reply {
        let action = self.take(kind);
        self.reply_to(action)
    }

    pub(crate) fn is_out(&self, kind: &str) -> bool {
        self.out.iter().any(|action| kind_of(action) == kind)
    }

    /// Takes the oldest action of this kind without performing it.
    pub(crate) fn take(&mut self, kind: &str) -> Action {
        let at = self.out.iter().position(|action| kind_of(action) == kind);
        let at = at.unwrap_or_else(|| panic!("no {kind} is out: {:?}, {:?}", self.out, self.steps.machine()));
        self.out.remove(at).unwrap()
    }

    pub(crate) fn apply(&mut self, reply: Reply) {
        self.steps.apply(reply, self.facts());
        self.settle();
    }

    fn facts(&self) -> Facts {
        self.bench.facts()
    }

    /// Performs all actions that the test does not perform itself, until the run waits or exits.
    fn settle(&mut self) {
        let mut awakenings = 0;
        for _ in 0..ACTIONS_MAX {
            match self.steps.next_action() {
                Action::Exit(outcome) => {
                    self.exit = Some(outcome);
                    return;
                }
                Action::Await { until } => {
                    self.until = until;
                    if until.is_none_or(|until| until > self.bench.clock.now()) {
                        return;
                    }
                    awakenings += 1;
                    assert!(awakenings <= AWAKENINGS_MAX, "a busy loop in {:?}", self.steps.machine());
                    self.steps.apply(Reply::TimePassed, self.facts());
                }
                action => {
                    awakenings = 0;
                    self.note(&action);
                    let kind = kind_of(&action);
                    let by_itself = ["read", "commit", "stage", "consult", "foresee"].contains(&kind);
                    if kind == "stop_model" && !self.held.contains(&kind) {
                        // The action stays in `out`, so that a test can see that it was asked for.
                        let reply = self.reply_to(action.clone());
                        self.out.push_back(action);
                        self.steps.apply(reply, self.facts());
                    } else if by_itself && !self.held.contains(&kind) {
                        let reply = self.reply_to(action);
                        self.steps.apply(reply, self.facts());
                    } else {
                        self.out.push_back(action);
                    }
                }
            }
        }
        panic!("actions without end in {:?}", self.steps.machine());
    }

    fn note(&mut self, action: &Action) {
        let starts = !ENDS_OR_SAVES.contains(&kind_of(action));
        assert!(!starts || self.draining != Some(Drain::Calls), "nothing starts any more: {action:?}");
        match action {
            Action::RunCalls { calls, .. } => {
                for call in calls {
                    check::intent_is_durable(self.bench, call);
                    if let Some(begun) = self.early.remove(&call.id) {
                        assert_eq!(begun, *call, "what is taken is what was begun");
                    }
                }
                self.bench.sends.borrow_mut().extend(calls.iter().cloned());
            }
            Action::RunEarly { call } => {
                assert_eq!(world::effect_of(call.tool.as_str()), EffectClass::ReadOnly, "{call:?}");
                self.bench.sends.borrow_mut().push(call.clone());
                let before = self.early.insert(call.id.clone(), call.clone());
                assert_eq!(before, None, "it was begun before");
            }
            Action::DropEarly { calls, .. } => {
                for call in calls {
                    assert!(self.early.remove(call).is_some(), "{call} was begun");
                }
            }
            Action::TearDown { .. } => {
                assert!(self.early.is_empty(), "{:?} may use what is freed", self.early);
            }
            Action::CallModel { call, .. } => {
                assert!(self.early.is_empty(), "{:?} is of another answer", self.early);
                let seen = self.seen_by_model(call);
                check::transcript_is_whole(&seen);
                providers::accept(&seen, true);
            }
            _ => {}
        }
    }

    fn seen_by_model(&self, call: &ModelCall) -> Vec<Message> {
        let placed = self.placed(&call.shown);
        let cleared = compaction::Cleared::of(&placed, call.shown.cleared).in_part(call.shown.in_part);
        let seen =
            placed.iter().filter_map(|(seq, message)| compaction::shown(*seq, message, &cleared, 20_000));
        seen.map(|message| message.as_ref().clone()).collect()
    }

    /// Returns the messages of the transcript that are shown, as stored, each with its sequence number.
    fn placed(&self, shown: &Shown) -> Vec<(MessageSeq, Arc<Message>)> {
        let read = self.bench.read(&shown.to_read());
        let placed: Vec<_> = shown.messages(&read).cloned().collect();
        let named: u64 = shown.ranges.iter().map(|range| range.to.0 + 1 - range.from.0).sum();
        assert_eq!(placed.len() as u64, named, "each message that is shown is there, once");
        placed
    }

    /// Returns the messages that are shown to the model, and the call of the model.
    pub(crate) fn model_sees(&self) -> (Vec<Message>, ModelCall) {
        let asked = self.out.iter().find_map(|action| match action {
            Action::CallModel { call, .. } => Some(call.clone()),
            _ => None,
        });
        let call = asked.expect("the model is asked");
        (self.seen_by_model(&call), call)
    }

    /// Completes the requested summary with this text. Returns the summarised messages, or `None` if none was old
    /// enough.
    pub(crate) fn summarise(&mut self, text: &str) -> Option<Vec<Message>> {
        self.summarise_until(text, StopReason::EndTurn)
    }

    /// Completes the requested summary as [`summarise`](Self::summarise) does, with this stop reason.
    pub(crate) fn summarise_until(&mut self, text: &str, stop: StopReason) -> Option<Vec<Message>> {
        let asked = self.take("summarise");
        let (old, made, shorter) = self.summary_of(&asked, text);
        let made = made.map(|made| Summarised { stop, ..made });
        let Action::Summarise { id, .. } = asked else { unreachable!() };
        let found = made.is_some();
        self.apply(Reply::Summarised { id, result: Ok(made), shorter });
        found.then(|| old.into_iter().map(|(_, message)| message.as_ref().clone()).collect())
    }

    /// Returns the old messages among those shown for a summary, their summary with this text, and the next way to
    /// show results shorter. The summary is `None` if no message is old enough.
    pub(crate) fn summary_of(
        &self,
        asked: &Action,
        text: &str,
    ) -> (Vec<Placed>, Option<Summarised>, Option<Shorter>) {
        let Action::Summarise { asked, refused, handoff, shown, .. } = asked else { panic!("{asked:?}") };
        let placed = self.placed(shown);
        let before = match handoff {
            None => compaction::cut(&placed, &self.bench.agent.compaction, *asked, *refused),
            Some(after) => compaction::cut_for_handoff(&placed, *after),
        };
        let shorter = compaction::shorter(&placed, shown);
        let old: Vec<_> = placed.into_iter().take_while(|(seq, _)| Some(*seq) != before).collect();
        let made = before.map(|before| Summarised {
            text: text.to_owned(),
            before,
            old_tokens: old.iter().map(|(_, message)| compaction::tokens_of(message)).sum(),
            stop: StopReason::EndTurn,
            usage: TokenUsage { input: 10, output: 5, ..TokenUsage::default() },
        });
        (old, made, shorter)
    }

    pub(crate) fn no_summary(&mut self, error: ModelError) {
        let Action::Summarise { id, shown, .. } = self.take("summarise") else { unreachable!() };
        let shorter = compaction::shorter(&self.placed(&shown), &shown);
        self.apply(Reply::Summarised { id, result: Err(error), shorter });
    }

    pub(crate) fn reply_to(&self, action: Action) -> Reply {
        let (bench, fence) = (self.bench, self.steps.fence());
        match action {
            read @ Action::Read { .. } => Self::reads(bench, fence, read),
            Action::Commit { id, commit } => {
                let copy = commit.clone();
                let outcome = now(bench.store.commit(fence, *commit)).unwrap();
                if let CommitOutcome::Committed(_) = outcome {
                    bench.writes.borrow_mut().push(Write::Commit(copy));
                }
                check::invariants(bench);
                Reply::Committed { id, outcome: Ok(outcome) }
            }
            Action::StageResult { id, staging } => {
                let copy = staging.clone();
                let outcome = now(bench.store.stage_result(fence, staging)).unwrap();
                if let StageOutcome::Staged(_) = outcome {
                    bench.writes.borrow_mut().push(Write::Stage(copy));
                }
                Reply::Staged { id, outcome: Ok(outcome) }
            }
            Action::Consult { id, questions } => {
                let rulings = questions.iter().map(|asked| (asked.call.clone(), world::ruling(asked)));
                Reply::Consulted { id, rulings: rulings.collect() }
            }
            Action::Foresee { id, question } => {
                let profile = match world::ruling(&question) {
                    Ruling::Allow { profile } => Some(profile),
                    _ => None,
                };
                Reply::Foreseen { id, profile }
            }
            Action::Shorten { id, results, .. } => {
                let usage = TokenUsage { input: 7, output: 1, ..TokenUsage::default() };
                let made = results.into_iter().map(|of| {
                    let text = format!("what {of} said");
                    Shortened { of, text, stop: StopReason::EndTurn, usage }
                });
                Reply::Shortened { id, made: made.collect(), in_vain: Vec::new() }
            }
            Action::StopModel { of } => Reply::ModelStopped { of, said: self.said.clone(), used: self.used },
            Action::RunHooks { id, step } => {
                let corrections = world::corrections(&step);
                Reply::HooksRan { id, stop: world::after_step(&step), corrections }
            }
            Action::Provision { id, .. } => Reply::Provisioned { id, result: Ok(Vec::new()) },
            Action::TearDown { id, .. } => Reply::TornDown { id, result: Ok(()) },
            Action::StartChildren { id, .. } => Reply::ChildrenStarted { id },
            Action::StopChildren { id, .. } => Reply::ChildrenStopped { id },
            Action::FindChildren { id, .. } => Reply::ChildrenFound { id, successors_rest: true },
            Action::TellOthers { id, .. } => Reply::OthersTold { id },
            Action::Sleep { id, until } => {
                bench.clock.move_to(until);
                Reply::Slept { id }
            }
            other => panic!("the story must say what becomes of {other:?}"),
        }
    }

    /// Performs a read against the store and returns the reply.
    pub(crate) fn reads(bench: &Bench, fence: &Fence, read: Action) -> Reply {
        let Action::Read { id, messages, inbox_after, interrupt } = read else { panic!("{read:?}") };
        let waits = || match now(bench.store.take_interrupt(fence)).unwrap() {
            InterruptCheck::Waiting(interrupt) => Some(interrupt),
            InterruptCheck::Clear | InterruptCheck::StaleFence => None,
        };
        let found = Found {
            messages: now(bench.store.read_all_messages(&bench.key, &messages)).unwrap(),
            items: now(bench.store.read_whole_inbox(&bench.key, inbox_after)).unwrap(),
            interrupt: interrupt.then(waits).flatten(),
        };
        Reply::Read { id, result: Ok(found) }
    }

    // The model

    /// Gives this answer in place of the model.
    pub(crate) fn model(&mut self, answer: ModelAnswer) {
        let id = self.take_model();
        self.apply(Reply::ModelAnswered { id, result: Ok(answer) });
    }

    pub(crate) fn model_fails(&mut self, error: ModelError) {
        let id = self.take_model();
        self.apply(Reply::ModelAnswered { id, result: Err(error) });
    }

    /// Reports that the model has written these calls at the beginning of an answer that it has not finished.
    pub(crate) fn model_writes(&mut self, tools: &[&str]) {
        for told in self.written(&world::calls(tools)) {
            self.apply(told);
        }
    }

    /// Returns a report of each call in this answer, as they are made while the model still writes.
    pub(crate) fn written(&self, answer: &ModelAnswer) -> Vec<Reply> {
        let asked = self.out.iter().find_map(|action| match action {
            Action::CallModel { id, .. } => Some(*id),
            _ => None,
        });
        Self::written_of(asked.expect("the model is asked"), answer)
    }

    /// Returns a report of each call in this answer, for the model call `of`.
    pub(crate) fn written_of(of: ActionId, answer: &ModelAnswer) -> Vec<Reply> {
        let calls = answer.parts.iter().filter_map(|part| match part {
            AnswerPart::Call { tool, arguments } => Some((tool.clone(), arguments.clone())),
            AnswerPart::Text(_) | AnswerPart::Reasoning { .. } => None,
        });
        let told = |(index, (tool, arguments))| Reply::CallWritten { of, index, tool, arguments };
        calls.enumerate().map(told).collect()
    }

    /// Returns the calls that were begun early, and neither sent nor dropped.
    pub(crate) fn begun(&self) -> Vec<String> {
        self.early.keys().map(ToString::to_string).collect()
    }

    fn take_model(&mut self) -> ActionId {
        match self.take("call_model") {
            Action::CallModel { id, .. } => id,
            other => unreachable!("{other:?}"),
        }
    }

    // Tools

    /// Returns the calls that are in flight.
    pub(crate) fn calls_out(&self) -> Vec<String> {
        let ids = self.out.iter().filter_map(|action| match action {
            Action::RunCalls { calls, .. } => Some(calls.iter().map(|call| call.id.to_string())),
            _ => None,
        });
        ids.flatten().collect()
    }

    /// Ends a call with this text.
    pub(crate) fn returns(&mut self, call: &str, text: &str) {
        self.comes_back(call, Ok(ToolOutput::text(text).into()));
    }

    /// Ends a call with this text, and reports that it took `ms` milliseconds.
    pub(crate) fn returns_after(&mut self, call: &str, text: &str, ms: u64) {
        let reply = match self.come_back(call, Ok(ToolOutput::text(text).into())) {
            Reply::CallEnded { call, result, .. } => Reply::CallEnded { call, result, duration_ms: ms },
            other => unreachable!("{other:?}"),
        };
        self.apply(reply);
    }

    pub(crate) fn comes_back(&mut self, call: &str, result: Result<ToolReturn, ToolError>) {
        let reply = self.come_back(call, result);
        self.apply(reply);
    }

    /// Ends a call and returns the reply, which the run does not get yet.
    pub(crate) fn come_back(&mut self, call: &str, result: Result<ToolReturn, ToolError>) -> Reply {
        assert!(self.calls_out().contains(&call.to_owned()), "{call} is not out: {:?}", self.calls_out());
        let call = CallId::new(call).unwrap();
        for action in &mut self.out {
            if let Action::RunCalls { calls, .. } = action {
                calls.retain(|out| out.id != call);
            }
        }
        Reply::CallEnded { call, result, duration_ms: 1 }
    }

    /// Reports that a call was not sent after all.
    pub(crate) fn come_back_unsent(&mut self, call: &str) {
        let Reply::CallEnded { call, .. } = self.come_back(call, Err(ToolError::NotRun(String::new())))
        else {
            unreachable!()
        };
        self.apply(Reply::CallUnsent { call });
    }

    // Other events

    /// Tells the run to leave its session to another run.
    pub(crate) fn drain(&mut self, drain: Drain) {
        self.draining = Some(self.draining.map_or(drain, |before| before.min(drain)));
        self.apply(Reply::Drain(drain));
    }

    /// Renews the lease and gives the run the news that the renewal brings.
    pub(crate) fn news(&mut self) {
        let receipt = self.renew();
        self.apply(Reply::News(receipt));
    }

    pub(crate) fn renew(&self) -> Receipt {
        self.try_renew().expect("the run owns the session")
    }

    /// Renews the lease. Returns `None` if the run no longer owns the session.
    pub(crate) fn try_renew(&self) -> Option<Receipt> {
        match now(self.bench.store.renew_lease(self.steps.fence(), LEASE)).unwrap() {
            LeaseOutcome::Renewed(receipt) => Some(receipt),
            LeaseOutcome::StaleFence => None,
        }
    }

    /// Moves the clock to the instant at which the run wants to be woken, and wakes it.
    pub(crate) fn wait(&mut self) {
        let until = self.until.expect("the run waits for an instant");
        self.bench.clock.move_to(until);
        self.apply(Reply::TimePassed);
    }

    pub(crate) fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// Answers the oldest commit with an error or, if there is none, the oldest staging.
    pub(crate) fn write_fails(&mut self) {
        let error = ErrorInfo::new("store.broken", "the disk is full");
        let commit = self.is_out("commit");
        match self.take(if commit { "commit" } else { "stage" }) {
            Action::Commit { id, .. } => self.apply(Reply::Committed { id, outcome: Err(error) }),
            Action::StageResult { id, .. } => self.apply(Reply::Staged { id, outcome: Err(error) }),
            other => unreachable!("{other:?}"),
        }
    }

    // The end

    pub(crate) fn is_over(&self) -> bool {
        self.exit.is_some()
    }

    pub(crate) fn outcome(&self) -> &RunOutcome {
        self.exit.as_ref().unwrap_or_else(|| panic!("the run goes on: {:?}", self.steps.machine()))
    }
}

pub(crate) fn kind_of(action: &Action) -> &'static str {
    match action {
        Action::Read { .. } => "read",
        Action::Provision { .. } => "provision",
        Action::CallModel { .. } => "call_model",
        Action::Plan { .. } => "plan",
        Action::Summarise { .. } => "summarise",
        Action::Shorten { .. } => "shorten",
        Action::StopModel { .. } => "stop_model",
        Action::Consult { .. } => "consult",
        Action::Foresee { .. } => "foresee",
        Action::RunEarly { .. } => "run_early",
        Action::DropEarly { .. } => "drop_early",
        Action::RunHooks { .. } => "run_hooks",
        Action::RunCalls { .. } => "run_calls",
        Action::StopCalls { .. } => "stop_calls",
        Action::StageResult { .. } => "stage",
        Action::Commit { .. } => "commit",
        Action::Sleep { .. } => "sleep",
        Action::StartChildren { .. } => "start_children",
        Action::StopChildren { .. } => "stop_children",
        Action::FindChildren { .. } => "find_children",
        Action::TellOthers { .. } => "tell_others",
        Action::TearDown { .. } => "tear_down",
        Action::Await { .. } => "await",
        Action::Exit(_) => "exit",
    }
}
