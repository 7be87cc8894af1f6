//! Decisions of people on calls: by one person, by several, or by nobody before the deadline.

use crate::engine::calls::results::{aborted, denied, rejected, result};
use crate::engine::gate::GateHandler;
use crate::engine::gate::asking::Why;
use crate::engine::mind::Mind;
use crate::machine::{Call, STANDING_APPROVALS_MAX, StandingApproval};
use crate::store::StoredItem;
use crate::time::Timestamp;
use crate::words::agent::OnDenial;
use crate::words::event::Event;
use crate::words::gate::{AtExpiry, DenialRecord, DeniedBy};
use crate::words::history::{CallInput, Input};
use crate::words::ids::{MessageSeq, PendingId};
use crate::words::message::{Decision, DecisionRecord, Message, ResultStatus};
use crate::words::panel::{Panel, Vote};
use crate::words::payload::Digest;

impl GateHandler<'_> {
    pub(crate) fn on_decision(&mut self, call: &Call, pending: PendingId, item: &StoredItem) {
        let decision = match self.cx.mind.decision_in(call, item) {
            Ok(decision) => decision,
            Err(why) => return self.reopen(call, why),
        };
        if decision.approve && self.cx.mind.is_for_more(call) {
            return self.on_more(call, pending, decision, item);
        }
        let shown = self.cx.mind.arguments_of(&call.id);
        let always = decision.approve && decision.always;
        let note = if always { self.cx.mind.not_for_good(call, &decision) } else { None };
        let always = always && note.is_none();
        let record = DecisionRecord { call: call.id.clone(), pending, decision, at: item.at, note };
        let decision = record.decision.clone();
        let seq = self.cx.append(Message::Decision(record));
        if decision.approve {
            self.on_approval(call, decision, seq, item.at, always);
        } else {
            self.on_refusal(call, &decision, &shown);
        }
    }

    fn on_refusal(&mut self, call: &Call, decision: &Decision, shown: &str) {
        let said = decision.reason.as_deref().filter(|said| !said.trim().is_empty());
        let of_agent = self.cx.run.agent.as_ref().map(|agent| agent.on_denial).unwrap_or_default();
        // With a reason the model can go on. Without one only the refusal is known.
        let (status, then) = match said {
            _ if decision.aborts => (ResultStatus::RejectedByUser, of_agent.at_least_for_the_batch()),
            Some(_) => (ResultStatus::Error, OnDenial::GoOn),
            None => (ResultStatus::RejectedByUser, of_agent),
        };
        let content = if decision.aborts { aborted(said) } else { rejected(&call.tool, said) };
        let denial = DenialRecord::new(DeniedBy::User, &call.tool, content.clone(), shown);
        self.cx.mind.keep_result(denied(call, status, content, self.cx.mind.edited(call), denial));
        let input = CallInput::Rejected { then, aborts: decision.aborts };
        self.cx.feed(Input::Call { call: call.id.clone(), input });
    }

    fn on_approval(&mut self, call: &Call, decision: Decision, seq: MessageSeq, at: Timestamp, always: bool) {
        let only = decision.only;
        let panel = call.panel.as_deref().filter(|panel| !panel.terms.is_anyone());
        let vote = decision.by.map(|by| Vote { by, at, decision: seq });
        let arguments = match decision.arguments {
            Some(edited) => {
                self.cx.mind.step.edited.insert(call.id.clone(), edited);
                self.cx.mind.step.rewritten.remove(&call.id);
                seq
            }
            None => call.arguments,
        };
        let digest = Digest::of(self.cx.mind.arguments_of(&call.id).as_bytes());
        let approved = CallInput::Approved { arguments, digest, always, only };
        let input = match (panel, vote) {
            (None, _) => approved,
            (Some(_), vote) if arguments == seq => CallInput::Edited { arguments, digest, vote },
            (Some(panel), Some(vote)) => {
                let last = panel.missing() <= 1;
                let input = CallInput::Voted { vote };
                self.cx.feed(Input::Call { call: call.id.clone(), input });
                if !last {
                    return;
                }
                approved
            }
            // An approval without a name does not count.
            (Some(_), None) => return,
        };
        self.cx.feed(Input::Call { call: call.id.clone(), input });
    }

    /// Handles a call that expired before enough people decided on it.
    pub(crate) fn expire(&mut self, call: &Call, pending: PendingId) -> CallInput {
        let terms = call.panel.as_deref().map(|panel| &panel.terms);
        match terms.map(|terms| terms.at_expiry.clone()).unwrap_or_default() {
            AtExpiry::Deny => {
                let text = "timed out: nobody decided in time, so the call was not run";
                self.cx.mind.keep_result(result(call, ResultStatus::Error, text, self.cx.mind.edited(call)));
                CallInput::Expired { done: false, approved: None }
            }
            AtExpiry::Result(text) => {
                self.cx.mind.keep_result(result(call, ResultStatus::Done, text, self.cx.mind.edited(call)));
                CallInput::Expired { done: true, approved: None }
            }
            AtExpiry::Approve => {
                let saw = Digest::of(self.cx.mind.arguments_of(&call.id).as_bytes());
                let decision = Decision {
                    reason: Some("the policy lets it run when nobody decides in time".to_owned()),
                    ..Decision::new(true, saw)
                };
                let note = Some("nobody decided in time".to_owned());
                let record =
                    DecisionRecord { call: call.id.clone(), pending, decision, at: self.cx.run.now, note };
                self.cx.append(Message::Decision(record));
                CallInput::Expired { done: false, approved: Some(saw) }
            }
        }
    }

    /// Escalates a call that has waited too long: more people may decide on it.
    pub(crate) fn escalate(&mut self, call: &Call) -> bool {
        let panel = call.panel.as_deref();
        let next = panel.and_then(|panel| panel.terms.escalate.get(panel.escalated as usize));
        let (Some(next), Some(pending)) = (next, call.state.pending()) else { return false };
        let (tool, to) = (call.tool.clone(), next.to.iter().cloned().collect());
        self.cx.mind.emit(Event::Escalated { call: call.id.clone(), tool, pending: pending.clone(), to });
        self.cx.mind.draft.decided = true;
        self.cx.feed(Input::Call { call: call.id.clone(), input: CallInput::Escalated })
    }
}

impl Mind {
    /// Returns the decision on a call in an answer, or the reason why the answer does not count.
    pub(crate) fn decision_in(&self, call: &Call, item: &StoredItem) -> Result<Decision, Why> {
        let unreadable =
            |error: serde_json::Error| Why::with("the decision cannot be read", &error.to_string());
        let decision: Decision = item.payload.parse().map_err(unreadable)?;
        if decision.saw != Digest::of(self.arguments_of(&call.id).as_bytes()) {
            return Err("the decision was taken on other arguments".to_owned().into());
        }
        match call.panel.as_deref().and_then(|panel| not_counted(panel, &decision, item.at)) {
            Some(why) => Err(why.into()),
            None => Ok(decision),
        }
    }

    /// Returns the reason why an approval for the rest of the session applies only to this call, or `None` if it also
    /// applies to later calls.
    fn not_for_good(&self, call: &Call, decision: &Decision) -> Option<String> {
        if call.panel.as_deref().is_some_and(|panel| !panel.terms.is_anyone()) {
            return Some("approved this once: who must approve is laid down for each call".to_owned());
        }
        let shown = self.arguments_of(&call.id);
        let runs = decision.arguments.as_ref().unwrap_or(&shown);
        if !decision.only.let_through(runs) {
            return Some(format!("approved this once: its arguments do not fit {}", decision.only));
        }
        let approval = StandingApproval::of(&call.tool, &decision.only);
        let full = !self.machine.always.have_room_for(&approval);
        full.then(|| format!("approved this once: {STANDING_APPROVALS_MAX} are approved for good already"))
    }
}

/// Returns the reason why a decision does not count, or `None` if it does.
fn not_counted(panel: &Panel, decision: &Decision, at: Timestamp) -> Option<String> {
    let by = decision.by.as_deref();
    if !panel.may_answer(by, at) {
        return Some(match by {
            Some(name) => format!("{name} is none of those who may decide on this call"),
            None => "whoever decides on this call must say who they are".to_owned(),
        });
    }
    let again = by.filter(|name| decision.approve && decision.arguments.is_none() && panel.has_vote_of(name));
    again.map(|name| format!("{name} has approved it before; others must, too"))
}
