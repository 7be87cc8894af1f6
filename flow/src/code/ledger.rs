//! The decisions of the code so far, beside those that the transcript records.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;
use std::time::Duration;

use holdover_core::ids::CallId;
use holdover_core::message::{AssistantMessage, ToolResult};
use holdover_core::plan::{Divergence, Drawn, PlanRecord, PlannedCall};
use holdover_core::time::Timestamp;

/// Everything that a flow and its code share.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The calls that the code has made, as far as they wait for a result or were not read yet.
    slots: BTreeMap<u64, Slot>,
    /// The number of calls that the code has made.
    made: u64,
    /// The calls of the present poll, in order. They count once the poll is over: a call that is dropped in the poll in
    /// which it was made was never made.
    fresh: Vec<u64>,
    /// The number of decisions: of calls that outlasted the poll in which they were made.
    decided: u64,
    /// The slots of the calls that are not recorded, by the number of their decision.
    unrecorded: BTreeMap<u64, u64>,
    /// The recorded calls that the code has not made yet.
    foretold: BTreeMap<u64, Foretold>,
    /// The number of recorded decisions, with those that were dropped before they were recorded.
    recorded: u64,
    /// The decisions that were dropped before they were recorded, as far as the code has not come to them.
    skips: BTreeSet<u64>,
    /// The same, as far as the records have not come to them.
    taken_back: BTreeSet<u64>,
    /// The number of calls that were refused at once because the flow was told to stop.
    pub(crate) refused: u32,
    /// The slots of the recorded calls that have not ended.
    by_call: BTreeMap<CallId, u64>,
    /// The facts that the transcript records, and those that this run drew.
    draws: Vec<Drawn>,
    /// The number of facts that the code has drawn.
    drawn: usize,
    /// The number of facts that the transcript records.
    drawn_recorded: usize,
    /// The answers about changes that this run has given without a record.
    pub(crate) unpatched: BTreeSet<String>,
    pub(crate) now: Timestamp,
    /// True if the flow was told to stop.
    pub(crate) stops: bool,
    /// The time of the flow, if it is over and was the reason to stop.
    pub(crate) late: Option<Duration>,
    pub(crate) divergence: Option<Divergence>,
    /// The recorded calls that were dropped and not reported.
    dropped: Vec<CallId>,
    /// The decisions that were taken back and not reported.
    newly_skipped: Vec<u64>,
}

/// How long a call goes on if nobody drops it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoesOn {
    /// Until the flow is told to stop.
    UntilStopped,
    /// Also when the flow was told to stop: it undoes something.
    Stopped,
    /// Also then, and the flow does not wait for it.
    Beside,
}

/// A call of the code.
struct Slot {
    tool: String,
    arguments: String,
    goes_on: GoesOn,
    call: Option<CallId>,
    decision: Option<u64>,
    is: Is,
}

enum Is {
    Open(Option<Waker>),
    /// The result. `None` if the flow was told to stop before the call was recorded.
    Ended(Option<Box<ToolResult>>),
    Dropped,
}

/// A call that the transcript records, and that the code has to make.
struct Foretold {
    call: CallId,
    tool: String,
    arguments: String,
}

impl Ledger {
    /// Makes a call. Returns its slot.
    pub(crate) fn make(&mut self, tool: &str, arguments: String, goes_on: GoesOn) -> u64 {
        self.made += 1;
        let at = self.made;
        let is = Is::Open(None);
        let slot = Slot { tool: tool.to_owned(), arguments, goes_on, call: None, decision: None, is };
        self.slots.insert(at, slot);
        self.fresh.push(at);
        at
    }

    /// Takes the result of a call, or keeps the waker until it comes.
    pub(crate) fn take(&mut self, at: u64, waker: &Waker) -> Option<Option<Box<ToolResult>>> {
        let slot = self.slots.get_mut(&at)?;
        match std::mem::replace(&mut slot.is, Is::Open(Some(waker.clone()))) {
            Is::Ended(result) => {
                self.slots.remove(&at);
                Some(result)
            }
            Is::Open(_) => None,
            Is::Dropped => {
                slot.is = Is::Dropped;
                None
            }
        }
    }

    /// Drops a call for whose result nobody waits any more.
    pub(crate) fn drop_call(&mut self, at: u64) {
        if let Some(fresh) = self.fresh.iter().position(|made| *made == at) {
            self.fresh.remove(fresh);
            self.slots.remove(&at);
            return;
        }
        let Some(slot) = self.slots.get_mut(&at) else { return };
        match (&slot.is, &slot.call, slot.decision) {
            (Is::Ended(_), _, _) => {
                self.slots.remove(&at);
            }
            (_, Some(call), _) => {
                self.dropped.push(call.clone());
                slot.is = Is::Dropped;
            }
            (_, None, Some(decision)) => {
                self.slots.remove(&at);
                self.leave_out(decision);
            }
            (_, None, None) => {}
        }
    }

    /// Takes back a decision that is not recorded. It keeps its number.
    fn leave_out(&mut self, decision: u64) {
        if self.unrecorded.remove(&decision).is_some() {
            self.newly_skipped.push(decision);
        }
    }

    /// Ends a poll: the calls that it made count now.
    pub(crate) fn end_poll(&mut self) {
        for at in std::mem::take(&mut self.fresh) {
            self.decided += 1;
            let decision = self.decided;
            let Some(slot) = self.slots.get_mut(&at) else { continue };
            slot.decision = Some(decision);
            if let Some(foretold) = self.foretold.remove(&decision) {
                if (&foretold.tool, &foretold.arguments) != (&slot.tool, &slot.arguments) {
                    let found = described(&slot.tool, &slot.arguments);
                    self.diverge(decision, described(&foretold.tool, &foretold.arguments), found);
                    return;
                }
                slot.call = Some(foretold.call.clone());
                slot.arguments.clear();
                self.by_call.insert(foretold.call, at);
            } else if self.skips.remove(&decision) {
                // The call was made and dropped before it was recorded. Nobody hears of it again.
                slot.is = Is::Open(None);
            } else {
                self.unrecorded.insert(decision, at);
            }
        }
    }

    /// Takes a record of the transcript: decisions of this code in this run, or decisions that it has to make again.
    pub(crate) fn record(&mut self, said: &AssistantMessage) {
        let Some(PlanRecord { drawn, skipped, .. }) = said.plan.as_deref() else { return };
        for fact in drawn {
            if self.drawn_recorded >= self.draws.len() {
                self.draws.push(fact.clone());
            }
            self.drawn_recorded += 1;
        }
        for decision in skipped {
            self.skip(*decision);
            self.taken_back.insert(*decision);
        }
        for request in said.calls() {
            self.recorded += 1;
            while self.taken_back.remove(&self.recorded) {
                self.recorded += 1;
            }
            let decision = self.recorded;
            match self.unrecorded.remove(&decision) {
                Some(at) => {
                    if let Some(slot) = self.slots.get_mut(&at) {
                        slot.call = Some(request.id.clone());
                        slot.arguments.clear();
                    }
                    self.by_call.insert(request.id.clone(), at);
                }
                None => {
                    let foretold = Foretold {
                        call: request.id.clone(),
                        tool: request.tool.clone(),
                        arguments: request.arguments.clone(),
                    };
                    self.foretold.insert(decision, foretold);
                }
            }
        }
    }

    /// Notes that a decision was dropped before it was recorded. This code may have come to it before.
    fn skip(&mut self, decision: u64) {
        if decision > self.decided {
            self.skips.insert(decision);
        }
    }

    /// Takes a result. Returns true if the code waits for it and must be polled.
    pub(crate) fn end(&mut self, result: &ToolResult) -> bool {
        if let Some(at) = self.by_call.remove(&result.call) {
            let Some(slot) = self.slots.get_mut(&at) else { return false };
            return match std::mem::replace(&mut slot.is, Is::Ended(Some(Box::new(result.clone())))) {
                Is::Open(waker) => {
                    waker.into_iter().for_each(Waker::wake);
                    true
                }
                Is::Ended(_) | Is::Dropped => {
                    self.slots.remove(&at);
                    false
                }
            };
        }
        let missed = self.foretold.iter().find(|(_, foretold)| foretold.call == result.call);
        if let Some((decision, foretold)) = missed {
            let expected = described(&foretold.tool, &foretold.arguments);
            self.diverge(*decision, expected, "nothing".to_owned());
        }
        // Otherwise the call belongs to an earlier input of the flow.
        false
    }

    /// Tells the code to stop. Its calls are cancelled, except those that undo something.
    pub(crate) fn stop(&mut self) {
        self.stops = true;
        let mut left_out = Vec::new();
        for slot in self.slots.values_mut().filter(|slot| slot.goes_on == GoesOn::UntilStopped) {
            let Is::Open(waker) = &mut slot.is else { continue };
            match (&slot.call, slot.decision) {
                (Some(call), _) => self.dropped.push(call.clone()),
                (None, Some(decision)) => {
                    left_out.push(decision);
                    let waker = waker.take();
                    slot.is = Is::Ended(None);
                    waker.into_iter().for_each(Waker::wake);
                }
                (None, None) => {}
            }
        }
        left_out.into_iter().for_each(|decision| self.leave_out(decision));
    }

    /// Tells the code to stop because its time is over. A flow that was told to stop before has its reason already.
    pub(crate) fn run_late(&mut self, time: Duration) {
        if !self.stops {
            self.late = Some(time);
            self.stop();
        }
    }

    /// Draws a fact: the recorded one, or else the one that `fresh` returns.
    pub(crate) fn draw(&mut self, fresh: impl FnOnce() -> Drawn) -> Drawn {
        if let Some(known) = self.draws.get(self.drawn) {
            self.drawn += 1;
            return known.clone();
        }
        let fact = fresh();
        self.draws.push(fact.clone());
        self.drawn += 1;
        fact
    }

    /// Notes that the transcript records another fact than the one that the code draws.
    pub(crate) fn drew(&mut self, recorded: &Drawn, found: &str) {
        self.diverge(self.decided, format!("{recorded:?}"), found.to_owned());
    }

    /// Returns the next recorded fact, if there is one that the code has not drawn.
    pub(crate) fn next_drawn(&self) -> Option<&Drawn> {
        self.draws.get(self.drawn)
    }

    /// Returns true if the transcript records decisions that the code has not made.
    pub(crate) fn repeats(&self) -> bool {
        self.drawn < self.draws.len() || !self.foretold.is_empty()
    }

    /// Notes the first difference between the code and the transcript.
    pub(crate) fn diverge(&mut self, at: u64, expected: String, found: String) {
        self.divergence.get_or_insert(Divergence { at, expected, found });
    }

    /// Returns true if a result may still come for a call that the code waits for.
    pub(crate) fn waits(&self) -> bool {
        self.slots.values().any(|slot| matches!(slot.is, Is::Open(_)) && slot.goes_on != GoesOn::Beside)
    }

    /// Notes a difference if the transcript records a call that the code has not made although it has been told of
    /// everything.
    pub(crate) fn check_all_made(&mut self) {
        if let Some((decision, foretold)) = self.foretold.iter().next() {
            let (decision, expected) = (*decision, described(&foretold.tool, &foretold.arguments));
            self.diverge(decision, expected, "nothing".to_owned());
        } else if let Some(drawn) = self.next_drawn() {
            let expected = format!("{drawn:?}");
            self.diverge(self.decided, expected, "nothing".to_owned());
        }
    }

    /// Returns the first calls that are not recorded, at most `room`.
    pub(crate) fn new_calls(&self, room: usize) -> Vec<PlannedCall> {
        let made = self.unrecorded.values().filter_map(|at| self.slots.get(at));
        made.take(room)
            .map(|slot| PlannedCall { tool: slot.tool.clone(), arguments: slot.arguments.clone() })
            .collect()
    }

    /// Returns the calls that were dropped since the last time.
    pub(crate) fn take_dropped(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.dropped)
    }

    /// Returns what a new run must see again, as far as it is not recorded. It is recorded with this.
    pub(crate) fn new_record(&mut self) -> PlanRecord {
        let drawn = self.draws.get(self.drawn_recorded..).unwrap_or_default().to_vec();
        PlanRecord { drawn, skipped: std::mem::take(&mut self.newly_skipped), carries_on: None }
    }
}

/// Returns a call in short, for people.
fn described(tool: &str, arguments: &str) -> String {
    const SHOWN: usize = 120;
    let shown: String = arguments.chars().take(SHOWN).collect();
    let more = if shown.len() < arguments.len() { "…" } else { "" };
    format!("{tool}({shown}{more})")
}
