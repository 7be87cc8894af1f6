//! The start of a run. Fresh, resumed and recovered runs all begin here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::engine::children::looking::looks_again;
use crate::engine::compaction::shortening::Shortening;
use crate::engine::context::Context;
use crate::engine::context::end::End;
use crate::engine::context::out::{Out, PlanOut};
use crate::engine::context::output::Output;
use crate::engine::context::past::Past;
use crate::engine::context::run::{Doom, FoundAs, Look, Run};
use crate::engine::mind::{Draft, Ended, Inbox, Mind, StepMemory, Transcript, Unawaited};
use crate::engine::reply::Reply;
use crate::engine::writes::Writes;
use crate::engine::{ATTEMPTS_MAX, RunKind, STATE_FORMAT, StartError, StepIterator};
use crate::machine::table::TableErrors;
use crate::machine::{AgentState, Facts, Machine, SteeringFrom, table};
use crate::store::{Claim, MessageRange, SessionStatus};
use crate::words::agent::AgentSpec;
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::history::Input;
use crate::words::hook::HookPoint;
use crate::words::ids::{CallId, MessageSeq};
use crate::words::list::SharedList;
use crate::words::message::Message;

pub(super) mod aside;

/// The purpose of a run.
enum Purpose {
    /// Do all work that is due.
    Run,
    /// Do all work that is due, because a caller asked the session to go on.
    Resume,
    /// End a turn whose run could not go on.
    Fail(ErrorInfo),
}

impl StepIterator {
    /// Begins the run that `claim` started. Fresh, resumed and recovered runs all begin here.
    ///
    /// # Errors
    /// The state was written by a newer version, the state or a staged result cannot be read, or the machine's table
    /// is faulty.
    pub fn start(claim: Claim, agent: Arc<AgentSpec>, facts: Facts) -> Result<Self, StartError> {
        Self::open(claim, Some(agent), facts, Purpose::Run)
    }

    /// Begins a run of a session that a caller asked to go on. The record of the run says so.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn resume(claim: Claim, agent: Arc<AgentSpec>, facts: Facts) -> Result<Self, StartError> {
        Self::open(claim, Some(agent), facts, Purpose::Resume)
    }

    /// Ends the turn of a session whose run could not go on, with `error`. The turn ends as after the death of that
    /// run, and nothing else is done.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn fail(
        claim: Claim,
        agent: Arc<AgentSpec>,
        error: ErrorInfo,
        facts: Facts,
    ) -> Result<Self, StartError> {
        Self::open(claim, Some(agent), facts, Purpose::Fail(error))
    }

    /// Ends a session for which an interrupt waits, without its agent. Gives the claim back if there is no interrupt.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn end(claim: Claim, facts: Facts) -> Result<Self, StartError> {
        Self::open(claim, None, facts, Purpose::Run)
    }

    fn open(
        claim: Claim,
        agent: Option<Arc<AgentSpec>>,
        facts: Facts,
        purpose: Purpose,
    ) -> Result<Self, StartError> {
        Self::open_under(table::validate(), claim, agent, facts, purpose)
    }

    /// Begins a run, unless the check of the machine's table has failed.
    fn open_under(
        checked: Result<(), TableErrors>,
        claim: Claim,
        agent: Option<Arc<AgentSpec>>,
        facts: Facts,
        purpose: Purpose,
    ) -> Result<Self, StartError> {
        checked.map_err(|broken| StartError {
            key: claim.fence.key.clone(),
            what: "machine",
            detail: broken.to_string(),
        })?;
        let by_name = matches!(purpose, Purpose::Resume);
        let stands_in = matches!(purpose, Purpose::Fail(_));
        let failing = match purpose {
            Purpose::Run | Purpose::Resume => None,
            Purpose::Fail(error) => Some(error),
        };
        let machine = read_state(&claim)?;
        let ended = read_staged(&claim)?;
        let more_inbox = claim.more_inbox_after();
        let inbox_seen = claim.inbox.last().map_or(claim.session.inbox_seen, |item| item.seq);
        let now = facts.now.max(claim.now);
        let unawaited = Unawaited::of(&claim.pending);
        let is_aside = machine.turn.open && (claim.found.at_rest() || unawaited.is_aside());
        let takes_over = claim.found == SessionStatus::Active || is_aside;
        let parked = unawaited.was_parked();
        let looks =
            takes_over || looks_again(&claim.fence, machine.state.batch(), machine.turn.claimed_at, now);
        let mind = Mind {
            draft: Draft::default(),
            inbox: Inbox {
                seen: inbox_seen.max(claim.session.inbox_seen),
                items: claim.inbox,
                interrupt: claim.session.interrupt.clone(),
                interrupt_told: false,
            },
            step: StepMemory {
                asked_in: machine.state.batch().map_or(MessageSeq(0), |batch| batch.message),
                ended,
                ..StepMemory::default()
            },
            transcript: Transcript { last: claim.session.last_message, added: SharedList::new(), grown: 0 },
            open: claim.pending.iter().map(|pending| pending.id.clone()).collect(),
            unawaited,
            consulting: BTreeMap::new(),
            shortening: Shortening::default(),
            provision_due: false,
            teardown_due: false,
            moved: false,
            machine,
        };
        let run = Run {
            agent,
            fence: claim.fence,
            found: FoundAs { status: claim.found, midway: takes_over, parked, format: claim.session.format },
            kind: RunKind::begun(claim.found, takes_over, mind.machine.turn.open, by_name),
            now,
            usage_before: mind.machine.usage,
            claimed: mind.transcript.last,
            marks: claim.session.staged.starts,
            begun: false,
            look: if looks { Look::Due } else { Look::NotDue },
            stands_in,
            doom: failing.map(Doom::of).or_else(|| poisoned(claim.session.attempts)),
        };
        let mut run = Self {
            writes: Writes::new(claim.session.version, mind.clone()),
            cx: Context {
                run,
                mind,
                out: Out::default(),
                code: PlanOut::default(),
                past: Past::default(),
                output: Output::default(),
                end: End::default(),
            },
            replies: VecDeque::new(),
        };
        let messages = run.needed_messages();
        if messages.is_empty() && more_inbox.is_none() {
            run.begin();
            run.settle();
        } else {
            let after = more_inbox.unwrap_or(run.cx.mind.inbox.seen);
            let id = run.cx.read(messages, after, false);
            run.cx.out.news.read_by(id, true);
        }
        run.go_on();
        Ok(run)
    }

    /// Returns the messages that the run must read before it begins. If a step has calls, these are the messages that
    /// hold the arguments of its calls. Otherwise, they are the messages that hooks receive after a step. A run
    /// without the agent reads arguments only if the arguments of a call were edited, because results contain edited
    /// arguments, or if a call in doubt can be settled, because its pending call shows them.
    fn needed_messages(&self) -> Vec<MessageRange> {
        let Some(batch) = self.cx.mind.machine.state.batch() else { return self.messages_of_step() };
        let edited = batch.calls.iter().any(|call| call.arguments != batch.message);
        let asks_in_doubt = self.cx.mind.machine.turn.asks_in_doubt;
        if self.cx.run.agent.is_none() && !edited && !asks_in_doubt {
            return Vec::new();
        }
        let mut places: BTreeSet<MessageSeq> = BTreeSet::from([batch.message]);
        places.extend(batch.calls.iter().map(|call| call.arguments));
        places.into_iter().map(|place| MessageRange::new(place, place)).collect()
    }

    pub(super) fn on_loaded(&mut self, reply: Reply) {
        let Reply::Read { id, result } = reply else { return };
        if self.cx.run.begun {
            return self.cx.inbox().on_read(id, result);
        }
        if !self.cx.out.news.came(id) {
            return;
        }
        let kept = result.and_then(|found| {
            self.cx.mind.keep_rest(found.items);
            self.cx.mind.keep_arguments(&found.messages)?;
            self.cx.mind.recall_step(&found.messages)
        });
        self.begin();
        if let Err(error) = kept
            && self.cx.end.leaving.is_none()
            && !self.cx.end.given_up
        {
            // The transcript cannot be read, so no part of it is sent.
            self.cx.give_up(error);
        }
        self.settle();
    }

    /// Gives the claim to the machine, once everything that it needs has been read.
    fn begin(&mut self) {
        self.cx.run.begun = true;
        if self.cx.run.agent.is_none() && self.cx.mind.inbox.interrupt.is_none() {
            return self.cx.turn().pass_on();
        }
        self.cx.mind.emit(Event::RunStarted {
            run: self.cx.run.fence.epoch,
            found: self.cx.run.found.status,
            kind: self.cx.run.told_kind(),
        });
        let machine = &self.cx.mind.machine;
        if !machine.turn.open {
            // A message that was aborted before its turn began may still have to be answered.
            self.cx.mind.teardown_due = matches!(machine.state, AgentState::TearingDown { .. });
            return;
        }
        self.cx.calls().take_marks();
        self.cx.calls().take_staged();
        // A takeover alone is no progress and is not committed. If the run dies before any other commit, it counts
        // towards `ATTEMPTS_MAX`.
        let FoundAs { status, midway, parked, format: _ } = self.cx.run.found;
        let takeover = status == SessionStatus::Active || (midway && !parked);
        self.cx.feed(Input::Claimed { takeover });
        self.cx.turn().fail_if_doomed();
    }

    /// Returns the places of the messages that hooks receive after a step. A run that takes over at this point must
    /// read them.
    pub(super) fn messages_of_step(&self) -> Vec<MessageRange> {
        let AgentState::Steering { from } = self.cx.mind.machine.state else { return Vec::new() };
        if !self.cx.run.is_hooked(HookPoint::AfterStep) || from == SteeringFrom::Resumed {
            return Vec::new();
        }
        let answer = self.cx.mind.machine.turn.spent.answer;
        let known = answer > MessageSeq::default();
        known.then(|| MessageRange::new(answer, self.cx.mind.transcript.last)).into_iter().collect()
    }
}

/// Returns the error that ends a turn if this number of runs in a row have died.
fn poisoned(attempts: u32) -> Option<Doom> {
    (attempts >= ATTEMPTS_MAX).then(|| {
        let detail = format!("its run died {attempts} times in a row without any progress");
        Doom { error: ErrorInfo::new("engine.poisoned", detail), died: attempts }
    })
}

fn read_state(claim: &Claim) -> Result<Machine, StartError> {
    let refuse = |what, detail: String| StartError { key: claim.fence.key.clone(), what, detail };
    if claim.session.format > STATE_FORMAT {
        let detail = format!("expected at most {STATE_FORMAT}, found {}", claim.session.format);
        return Err(refuse("state format", detail));
    }
    let Some(state) = &claim.session.state else { return Ok(Machine::default()) };
    state.parse().map_err(|error: serde_json::Error| refuse(aside::STATE, error.to_string()))
}

fn read_staged(claim: &Claim) -> Result<BTreeMap<CallId, Ended>, StartError> {
    let mut ended = BTreeMap::new();
    for staged in &claim.session.staged.results {
        let refuse = |detail: String| StartError {
            key: claim.fence.key.clone(),
            what: aside::STAGED,
            detail: format!("call {}: {detail}", staged.call),
        };
        match staged.payload.parse() {
            Ok(Message::Tool(result)) => {
                let payload = staged.payload.clone();
                ended.insert(staged.call.clone(), Ended { result, payload, staged: true });
            }
            Ok(other) => return Err(refuse(format!("expected a tool result, found role {}", other.role()))),
            Err(error) => return Err(refuse(error.to_string())),
        }
    }
    Ok(ended)
}

#[cfg(test)]
mod tests;
