//! The gate: what it is asked about a call, and what its word means.

use super::results::{denied, result};
use super::{Action, ActionId, Ruling, StepIterator};
use crate::error::ErrorInfo;
use crate::gate::{ApprovalTerms, DenialRecord, DeniedBy, GateQuestion};
use crate::ids::CallId;
use crate::machine::{Call, CallInput, CallState, Input};
use crate::message::ResultStatus;
use crate::payload::Digest;
use crate::tool::{RunsOn, ToolSpec};

impl StepIterator {
    /// Asks the gate; a tool that does not exist, or is withheld from the model, needs no gate.
    pub(super) fn consult(&mut self, calls: &[CallId]) {
        let Some(agent) = self.agent.clone() else { return };
        let mut questions = Vec::new();
        for id in calls {
            let Some(call) = self.call(id) else { continue };
            if agent.is_human_only(&call.tool) {
                let why = format!("{} is for people alone", call.tool);
                let denial = self.denial(&call, DeniedBy::HumanOnly, &why);
                if let Some(input) = self.deny(&call, &format!("denied: {why}"), denial) {
                    self.feed(Input::Call { call: id.clone(), input });
                }
                continue;
            }
            let withheld = self.withheld();
            let mode = self.mode();
            let is_told = |tool: &&ToolSpec| {
                agent.tells_of(tool, mode) && !withheld.iter().any(|withheld| withheld == tool.name.as_str())
            };
            let Some(spec) = agent.tool(&call.tool).filter(is_told) else {
                let names = agent.tools.iter().filter(is_told).map(|tool| tool.name.as_str());
                let names: Vec<&str> = names.collect();
                let what = match call.tool.as_str() {
                    "" => "the call names no tool; name one".to_owned(),
                    named => format!("there is no tool {named:?} now"),
                };
                let text = format!("{what}; there are: {}", names.join(", "));
                self.keep_result(result(&call, ResultStatus::Error, text, None));
                self.feed(Input::Call { call: id.clone(), input: CallInput::Refused });
                continue;
            };
            let arguments = self.arguments_of(id);
            let digest = Digest::of(arguments.as_bytes());
            questions.push(GateQuestion {
                session: self.fence.key.clone(),
                call: id.clone(),
                tool: spec.name.clone(),
                arguments,
                digest,
                effect: call.effect,
                dangerous: call.dangerous,
                approved: call.approved == Some(digest),
                approved_on: call.panel.as_deref().map(|panel| Box::new(panel.terms.clone())),
            });
            self.feed(Input::Call { call: id.clone(), input: CallInput::Asked });
        }
        if !questions.is_empty() {
            let id = self.next_id();
            let asked = questions.iter().map(|question| question.call.clone()).collect();
            self.mind.consulting.insert(id, asked);
            self.actions.push_back(Action::Consult { id, questions });
        }
    }

    /// Takes the gate's word on the calls that it was asked about. A call that it passes over is denied.
    pub(super) fn on_rulings(&mut self, id: ActionId, rulings: Vec<(CallId, Ruling)>) {
        for id in self.mind.consulting.remove(&id).unwrap_or_default() {
            let ruling = rulings.iter().find(|(call, _)| *call == id).map(|(_, ruling)| ruling.clone());
            let ruling =
                ruling.unwrap_or_else(|| Ruling::Unavailable { detail: "it passed over this".into() });
            if let Some(call) = self.call(&id).filter(|call| call.state == CallState::Gating) {
                self.on_ruling(&call, ruling);
                self.mind.draft.decided = true;
            }
        }
    }

    pub(super) fn on_ruling(&mut self, call: &Call, ruling: Ruling) {
        let digest = Digest::of(self.arguments_of(&call.id).as_bytes());
        let input = match ruling {
            Ruling::Allow { profile } if call.runs_on == RunsOn::Client => self.ask_client(call, profile),
            Ruling::Allow { profile } => Some(CallInput::Allowed { profile }),
            Ruling::NeedsApproval { .. } if call.runs_on == RunsOn::Client => {
                let why = "a tool that a client runs cannot ask for approval";
                self.deny(call, why, self.denial(call, DeniedBy::Permissions, why))
            }
            Ruling::NeedsApproval { terms, profile, .. } if self.is_approved(call, &terms, digest) => {
                Some(CallInput::Allowed { profile })
            }
            Ruling::NeedsApproval { prompt, terms, profile } => match terms.check() {
                Ok(()) => self.ask_people(call, call.arguments, prompt, *terms, profile),
                Err(why) => {
                    let detail = format!("it asks for what nobody can give: {why}");
                    self.unavailable(call, &detail)
                }
            },
            // An edit that must be refused asks again, with the arguments of the model.
            Ruling::Invalid { detail } if self.edited(call).is_some() => self.ask_again(call, &detail),
            Ruling::Invalid { detail } => {
                self.refuse(call, ResultStatus::Error, &format!("the arguments do not fit: {detail}"))
            }
            Ruling::Deny { reason, rule } => {
                let denial = self.denial(call, DeniedBy::Permissions, &reason).by_rule(rule);
                self.deny(call, &format!("denied: {reason}"), denial)
            }
            Ruling::Rewritten { arguments, by, ruling } => {
                return self.rewrite(call, arguments, &by, *ruling);
            }
            Ruling::Answered { output } => Some(self.synthesise(call, output)),
            Ruling::Failed { detail } => {
                self.feed(Input::Failed { error: ErrorInfo::new("hook.before_tool", detail) });
                return;
            }
            Ruling::Unavailable { detail } => self.unavailable(call, &detail),
        };
        if let Some(input) = input {
            self.feed(Input::Call { call: call.id.clone(), input });
        }
    }

    /// Whether people have approved these bytes on these terms. What was approved for the rest of the session is one
    /// approval of somebody: where more is asked, it is not enough.
    fn is_approved(&self, call: &Call, terms: &ApprovalTerms, digest: Digest) -> bool {
        if terms.is_anyone() {
            let standing = || self.mind.machine.always.cover(&call.tool, &self.arguments_of(&call.id));
            return call.approved == Some(digest) || standing();
        }
        call.panel.as_deref().is_some_and(|panel| panel.satisfies(terms, digest))
    }

    fn unavailable(&mut self, call: &Call, detail: &str) -> Option<CallInput> {
        let denial = self.denial(call, DeniedBy::GateUnavailable, detail);
        self.deny(call, &format!("denied: the gate is unavailable: {detail}"), denial)
    }

    fn refuse(&mut self, call: &Call, status: ResultStatus, text: &str) -> Option<CallInput> {
        self.keep_result(result(call, status, text, self.edited(call)));
        Some(CallInput::Refused)
    }

    fn denial(&self, call: &Call, by: DeniedBy, reason: &str) -> DenialRecord {
        DenialRecord::new(by, &call.tool, reason, &self.arguments_of(&call.id))
    }

    fn deny(&mut self, call: &Call, text: &str, denial: DenialRecord) -> Option<CallInput> {
        let edited = self.edited(call);
        self.keep_result(denied(call, ResultStatus::Denied, text, edited, denial));
        Some(CallInput::Refused)
    }
}
