//! The gate: the questions to it about calls, and the effects of its rulings.

use crate::engine::action::{Action, ActionId};
use crate::engine::calls::results::{denied, result};
use crate::engine::context::Context;
use crate::engine::gate::asking::Why;
use crate::engine::mind::Mind;
use crate::engine::reply::Ruling;
use crate::machine::procedure::named;
use crate::machine::{Call, CallState};
use crate::words::agent::AgentSpec;
use crate::words::error::ErrorInfo;
use crate::words::gate::{ApprovalTerms, DenialRecord, DeniedBy, GateQuestion};
use crate::words::history::{CallInput, Input};
use crate::words::ids::{CallId, ToolName};
use crate::words::message::ResultStatus;
use crate::words::mode::Mode;
use crate::words::output::OutputCheck;
use crate::words::payload::Digest;
use crate::words::tool::{ResourceProfile, RunsOn, ToolSpec};

pub(crate) mod asking;
pub(crate) mod decisions;
pub(crate) mod more;
pub(crate) mod request;
pub(crate) mod rewriting;
pub(crate) mod waiting;

/// Returns true if the model can see this tool in this step.
pub(crate) fn is_told_of(agent: &AgentSpec, tool: &ToolSpec, mode: Mode, withheld: &[String]) -> bool {
    agent.tells_of(tool, mode) && !withheld.iter().any(|withheld| withheld == tool.name.as_str())
}

/// The handler of the gate: decides whether calls may run, and asks the gate and people.
pub(crate) struct GateHandler<'a> {
    pub(crate) cx: &'a mut Context,
}

impl GateHandler<'_> {
    /// Asks the gate about these calls. A call is refused without asking if its tool does not exist, is withheld, is
    /// left out by the mode, or is for people alone.
    pub(crate) fn consult(&mut self, calls: &[CallId]) {
        let Some(agent) = self.cx.run.agent.clone() else { return };
        let mut questions = Vec::new();
        let withheld = self.cx.withheld();
        let is_withheld = |tool: &str| withheld.iter().any(|withheld| withheld == tool);
        for id in calls {
            let Some(call) = self.cx.mind.call(id) else { continue };
            if let Some(output) = agent
                .output
                .as_ref()
                .filter(|output| output.tool.as_str() == call.tool && !is_withheld(&call.tool))
            {
                questions.push(self.question(&call, output.tool.clone()));
                self.cx.feed(Input::Call { call: id.clone(), input: CallInput::Asked });
                continue;
            }
            if agent.is_human_only(&call.tool) {
                let why = format!("{} is for people alone", call.tool);
                let denial = self.cx.mind.denial(&call, DeniedBy::HumanOnly, &why);
                if let Some(input) = self.deny(&call, &format!("denied: {why}"), denial) {
                    self.cx.feed(Input::Call { call: id.clone(), input });
                }
                continue;
            }
            let mode = self.cx.mode();
            let is_told = |tool: &&ToolSpec| is_told_of(&agent, tool, mode, &withheld);
            let Some(spec) = agent.tool(&call.tool).filter(is_told) else {
                let names = agent.tools.iter().filter(is_told).map(|tool| tool.name.as_str());
                let what = match call.tool.as_str() {
                    "" => "the call names no tool; name one".to_owned(),
                    named => format!("there is no tool {named:?} now"),
                };
                let stands = agent.procedure.as_ref().and(self.cx.mind.machine.procedure.as_ref());
                let place = stands.map(|state| format!(" in the state {state} of the procedure"));
                let text = format!("{what}{}; there are: {}", place.unwrap_or_default(), named(names));
                self.cx.mind.keep_result(result(&call, ResultStatus::Error, text, None));
                self.cx.feed(Input::Call { call: id.clone(), input: CallInput::Refused });
                continue;
            };
            questions.push(self.question(&call, spec.name.clone()));
            self.cx.feed(Input::Call { call: id.clone(), input: CallInput::Asked });
        }
        if !questions.is_empty() {
            let id = self.cx.output.next_id();
            let asked = questions.iter().map(|question| question.call.clone()).collect();
            self.cx.mind.consulting.insert(id, asked);
            self.cx.output.push(Action::Consult { id, questions });
        }
    }

    fn question(&self, call: &Call, tool: ToolName) -> GateQuestion {
        let arguments = self.cx.mind.arguments_of(&call.id);
        let digest = Digest::of(arguments.as_bytes());
        GateQuestion {
            session: self.cx.run.fence.key.clone(),
            call: call.id.clone(),
            tool,
            arguments,
            digest,
            effect: call.effect,
            dangerous: call.dangerous,
            approved: call.approved == Some(digest) && !call.is_waived(),
            approved_on: call.panel.as_deref().map(|panel| Box::new(panel.terms.clone())),
        }
    }

    /// Takes the gate's rulings. A call that was asked about and has no ruling is denied.
    pub(crate) fn on_rulings(&mut self, id: ActionId, rulings: Vec<(CallId, Ruling)>) {
        for id in self.cx.mind.consulting.remove(&id).unwrap_or_default() {
            let ruling = rulings.iter().find(|(call, _)| *call == id).map(|(_, ruling)| ruling.clone());
            let ruling =
                ruling.unwrap_or_else(|| Ruling::Unavailable { detail: "it passed over this".into() });
            if let Some(call) = self.cx.mind.call(&id).filter(|call| call.state == CallState::Gating) {
                self.on_ruling(&call, ruling);
                self.cx.mind.draft.decided = true;
            }
        }
    }

    pub(crate) fn on_ruling(&mut self, call: &Call, ruling: Ruling) {
        let digest = Digest::of(self.cx.mind.arguments_of(&call.id).as_bytes());
        let is_output = self.cx.run.agent.as_ref().is_some_and(|agent| agent.is_output(&call.tool));
        let input = match ruling {
            // The value of the turn has no effect outside, so it needs no approval.
            Ruling::Allow { .. } | Ruling::NeedsApproval { .. } if is_output => self.take_output(call),
            Ruling::Invalid { detail } if is_output => {
                let told = format!("the value does not fit: {detail}");
                self.cx.mind.keep_result(result(call, ResultStatus::Error, told, None));
                Some(CallInput::Output { fits: false })
            }
            Ruling::Allow { profile } if call.runs_on == RunsOn::Client => self.ask_client(call, profile),
            Ruling::Allow { profile } => self.let_run(call, profile),
            Ruling::NeedsApproval { .. } if call.runs_on == RunsOn::Client => {
                let why = "a tool that a client runs cannot ask for approval";
                self.deny(call, why, self.cx.mind.denial(call, DeniedBy::Permissions, why))
            }
            Ruling::NeedsApproval { terms, profile, .. }
                if self.cx.mind.is_approved(call, &terms, digest) =>
            {
                self.let_run(call, profile)
            }
            Ruling::NeedsApproval { prompt, terms, profile } => match terms.check() {
                Ok(()) => self.ask_people(call, call.arguments, prompt.map(Why::from), *terms, profile),
                Err(why) => {
                    let detail = format!("it asks for what nobody can give: {why}");
                    self.unavailable(call, &detail)
                }
            },
            // If edited arguments do not fit, people are asked again, with the arguments of the model.
            Ruling::Invalid { detail }
                if call.runs_on != RunsOn::Client && self.cx.mind.edited(call).is_some() =>
            {
                self.ask_again(call, &detail)
            }
            Ruling::Invalid { detail } => {
                self.refuse(call, ResultStatus::Error, &format!("the arguments do not fit: {detail}"))
            }
            Ruling::Deny { reason, rule } => {
                let denial = self.cx.mind.denial(call, DeniedBy::Permissions, &reason).by_rule(rule);
                self.deny(call, &format!("denied: {reason}"), denial)
            }
            Ruling::Rewritten { arguments, by, ruling } => {
                return self.rewrite(call, arguments, &by, *ruling);
            }
            Ruling::Answered { output, ruling } if self.cx.mind.lets_through(call, &ruling, digest) => {
                Some(self.synthesise(call, output))
            }
            Ruling::Answered { ruling, .. } => return self.on_ruling(call, *ruling),
            Ruling::Failed { detail } => {
                self.cx.feed(Input::Failed { error: ErrorInfo::new("hook.before_tool", detail) });
                return;
            }
            Ruling::Unavailable { detail } => self.unavailable(call, &detail),
        };
        if let Some(input) = input {
            self.cx.feed(Input::Call { call: call.id.clone(), input });
        }
    }

    /// Lets a call run: it is sent, its children begin, it waits for background children, or it hands the session over.
    fn let_run(&mut self, call: &Call, profile: ResourceProfile) -> Option<CallInput> {
        match call.runs_on {
            RunsOn::Child => {
                match self.cx.run.agent.as_ref().and_then(|agent| agent.child_tool(&call.tool)) {
                    Some(_) => self.cx.children().wait(call, profile),
                    None if self.cx.run.takes_over(&call.tool) => self.cx.children().hand_over(call),
                    None => self.cx.children().ask(call, profile),
                }
            }
            RunsOn::Server => self.cx.children().let_through(call, profile),
            RunsOn::Client => Some(CallInput::Allowed { profile }),
        }
    }

    fn unavailable(&mut self, call: &Call, detail: &str) -> Option<CallInput> {
        let denial = self.cx.mind.denial(call, DeniedBy::GateUnavailable, detail);
        self.deny(call, &format!("denied: the gate is unavailable: {detail}"), denial)
    }

    /// Takes the value that the turn must return. Only the first valid value of a step counts.
    fn take_output(&mut self, call: &Call) -> Option<CallInput> {
        let given = self.cx.mind.machine.state.batch().and_then(|batch| batch.output);
        if let Some(OutputCheck::Fits(_)) = given {
            return self.refuse(call, ResultStatus::Error, "a value was given in this step already");
        }
        self.cx.mind.keep_result(result(call, ResultStatus::Done, "taken as the final answer", None));
        Some(CallInput::Output { fits: true })
    }

    pub(crate) fn refuse(&mut self, call: &Call, status: ResultStatus, text: &str) -> Option<CallInput> {
        self.cx.mind.keep_result(result(call, status, text, self.cx.mind.edited(call)));
        Some(CallInput::Refused)
    }

    fn deny(&mut self, call: &Call, text: &str, denial: DenialRecord) -> Option<CallInput> {
        let edited = self.cx.mind.edited(call);
        self.cx.mind.keep_result(denied(call, ResultStatus::Denied, text, edited, denial));
        Some(CallInput::Refused)
    }
}

impl Mind {
    /// Returns true if this ruling and the approvals so far let the call run.
    fn lets_through(&self, call: &Call, ruling: &Ruling, digest: Digest) -> bool {
        match ruling {
            Ruling::Allow { .. } => true,
            Ruling::NeedsApproval { terms, .. } => {
                call.runs_on != RunsOn::Client && self.is_approved(call, terms, digest)
            }
            Ruling::Invalid { .. }
            | Ruling::Deny { .. }
            | Ruling::Rewritten { .. }
            | Ruling::Answered { .. }
            | Ruling::Failed { .. }
            | Ruling::Unavailable { .. } => false,
        }
    }

    /// Returns true if people have approved these arguments on these terms. A standing approval counts as one
    /// approval by anyone, so it is not enough if the terms ask for more.
    fn is_approved(&self, call: &Call, terms: &ApprovalTerms, digest: Digest) -> bool {
        let by_panel = || call.panel.as_deref().is_some_and(|panel| panel.satisfies(terms, digest));
        if !terms.is_anyone() {
            return by_panel();
        }
        let approved = call.approved == Some(digest) && (!call.is_waived() || by_panel());
        approved || self.machine.always.cover(&call.tool, &self.arguments_of(&call.id))
    }

    fn denial(&self, call: &Call, by: DeniedBy, reason: &str) -> DenialRecord {
        DenialRecord::new(by, &call.tool, reason, &self.arguments_of(&call.id))
    }
}
