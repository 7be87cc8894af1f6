//! Plays the events of a random scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdover_core::engine::{Action, Reply};
use holdover_core::error::ErrorInfo;
use holdover_core::ids::CallId;
use holdover_core::mailbox::QueueChange;
use holdover_core::message::{CallSignal, Mentions, MessagePolicy, Said, Settlement, SignalBody};
use holdover_core::mode::Briefing;
use holdover_core::model::{ModelAnswer, ModelError, ModelErrorKind};
use holdover_core::payload::Payload;
use holdover_core::store::{PendingCall, PendingKind, SessionStatus};
use holdover_core::time::Clock;
use holdover_core::tool::{ToolError, ToolOutput, ToolReturn};

use crate::bench::Bench;
use crate::doubts::settle;
use crate::letters::replay;
use crate::run::Run;
use crate::world::{WRONG, calls, overloaded, text};

use super::checks::number_of;
use super::story::{Happens, Return, Thought};

/// The most runs of a whole scenario.
const RUNS_MAX: usize = 300;
/// The most actions, once faults have stopped, until no run is in progress and the session is not due.
const ACTIONS_MAX: usize = 2_000;
/// The most decisions until a session comes to rest once faults have stopped.
const DECISIONS_MAX: usize = 1_000;

/// A session in a world of random events.
pub(super) struct World<'b> {
    pub(super) bench: &'b Bench,
    pub(super) thoughts: std::vec::IntoIter<Thought>,
    run: Option<Run<'b>>,
    /// Replies that the run has not got yet.
    replies: Vec<Reply>,
    /// The number of times that each call ended without having acted.
    pub(super) not_run: BTreeMap<CallId, usize>,
    pub(super) said: Vec<Option<MessagePolicy>>,
    /// Numbers of messages that may have been withdrawn in time.
    pub(super) withdrawn: BTreeSet<usize>,
    runs: usize,
    decisions: usize,
}

impl<'b> World<'b> {
    pub(super) fn new(bench: &'b Bench, heard: usize) -> Self {
        Self {
            bench,
            thoughts: Vec::new().into_iter(),
            run: None,
            replies: Vec::new(),
            not_run: BTreeMap::new(),
            said: vec![None; heard],
            withdrawn: BTreeSet::new(),
            runs: 0,
            decisions: 0,
        }
    }

    pub(super) fn happen(&mut self, what: &Happens) {
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
                // The signal wakes the session, so that it is taken before the session rests for good.
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
            Happens::Compact if self.bench.status() != SessionStatus::Aborted => self.bench.compact(),
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
            Happens::Crash => self.crash(),
            Happens::Crashes { runs } => {
                for _ in 0..*runs {
                    self.running();
                    self.crash();
                }
            }
            Happens::Drain(drain) => {
                if let Some(run) = self.run.as_mut().filter(|run| !run.is_over()) {
                    run.drain(*drain);
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
            | Happens::Compact
            | Happens::RetryByStatus => {}
        }
    }

    /// Returns the run in progress, or starts one if the session is due. None if there is neither.
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
            // In every second run, a model that is stopped had written some text.
            run.said = if self.runs.is_multiple_of(2) { "so far".into() } else { String::new() };
        }
        self.run.as_mut().filter(|run| !run.is_over())
    }

    fn crash(&mut self) {
        if let Some(run) = self.run.take() {
            self.replies.clear();
            self.bench.crash(run);
        }
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
            self.bench.signal(&QueueChange::Replaced {
                of,
                text: format!("{text}, I mean"),
                mentions: Mentions::none(),
            });
        }
    }

    fn decide(&mut self, which: usize, approve: bool, edit: Option<&str>) {
        let pending = self.bench.pending();
        if pending.is_empty() {
            return;
        }
        let asked = &pending[which % pending.len()];
        self.decisions += 1;
        match (&asked.kind, approve, edit) {
            (PendingKind::ClientTool, ..) => self.bench.answer(asked, "42"),
            (PendingKind::Approval, false, _) => self.bench.deny(asked),
            // Where two people must approve, one approval is not enough. Where only one may approve, the approval of
            // the other is ignored.
            (PendingKind::Approval, true, None) => {
                self.bench.approve_as(if self.decisions.is_multiple_of(2) { "ann" } else { "bob" }, asked)
            }
            (PendingKind::Approval, true, Some(arguments)) => self.bench.edit(asked, arguments),
            (PendingKind::Child, ..) => panic!("no child is asked here"),
            // A person who does not approve leaves the letter alone.
            (PendingKind::DeadLetter, false, _) => return,
            (PendingKind::DeadLetter, true, _) => replay(self.bench, asked),
            (PendingKind::InDoubt, true, _) => settle(self.bench, asked, &Settlement::done("a receipt")),
            (PendingKind::InDoubt, false, _) => settle(self.bench, asked, &Settlement::not_done()),
            (PendingKind::Other(name), ..) => panic!("nobody asks for {name}"),
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
                    // The provider counts no tokens, so the engine estimates the size of the view.
                    answer.usage.input = 0;
                }
                // The model reports its calls while it writes. Some reports may arrive late or out of order.
                if let (Ok(answer), true) = (&result, self.bench.agent.early_reads) {
                    self.replies.extend(Run::written_of(id, answer));
                }
                Reply::ModelAnswered { id, result }
            }
            Action::RunEarly { .. } | Action::DropEarly { .. } => return,
            Action::RunCalls { mut calls, stream, own } => {
                let call = calls.remove(0);
                if !calls.is_empty() {
                    run.out.push_back(Action::RunCalls { calls, stream, own });
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
                let (_, _, shorter) = run.summary_of(&action, "");
                Reply::Summarised { id, result: Err(error), shorter }
            }
            Action::Summarise { id, .. } => {
                let (_, made, shorter) = run.summary_of(&action, "what was");
                Reply::Summarised { id, result: Ok(made), shorter }
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

    /// Plays on without faults until the session rests: people answer, and time passes.
    pub(super) fn come_to_rest(&mut self) {
        self.thoughts = Vec::new().into_iter();
        self.decisions = 0;
        loop {
            let goes_on = self.runs < RUNS_MAX && self.decisions < DECISIONS_MAX;
            assert!(goes_on, "no rest: {:?}", self.bench.session());
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
            let (pending, now) = (self.bench.pending(), self.bench.clock.now());
            let in_time = |asked: &PendingCall| asked.deadline.is_none_or(|deadline| deadline > now);
            let owed = pending.iter().position(|asked| asked.answered == 0 && in_time(asked));
            match (owed, self.bench.session().alarm) {
                (Some(which), _) => self.decide(which, true, None),
                (None, Some(alarm)) => self.bench.clock.move_to(alarm),
                (None, None) => return,
            }
        }
    }
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
