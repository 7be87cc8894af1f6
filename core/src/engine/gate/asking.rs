//! Asks people or clients for answers, and builds their pending calls.

use std::time::Duration;

use crate::engine::context::run::Run;
use crate::engine::context::telling::in_short;
use crate::engine::gate::GateHandler;
use crate::machine::Call;
use crate::store::{NewPending, PendingKind};
use crate::time::Timestamp;
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::gate::ApprovalTerms;
use crate::words::history::{CallInput, Input};
use crate::words::ids::{MessageSeq, PendingId, ToolName};
use crate::words::message::PendingBody;
use crate::words::panel::Panel;
use crate::words::payload::{Digest, Payload};
use crate::words::tool::{Bound, ResourceProfile, RunsOn};

/// A pending call that is to be opened.
#[derive(Clone)]
pub(crate) struct Asking {
    pub(crate) pending: PendingId,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) why: Option<Why>,
    pub(crate) panel: Option<Box<Panel>>,
    /// The number of answers that are needed.
    pub(crate) needed: u32,
    /// The number of children that answer; 0 if a person or client answers.
    pub(crate) children: u32,
}

/// The reason for the question, or for asking again.
#[derive(Clone)]
pub(crate) struct Why {
    pub(crate) word: String,
    /// The fault of an earlier answer. The text may repeat the answer, so it is shown only to those who are asked,
    /// who also see the arguments. It is not in events.
    pub(crate) detail: Option<String>,
}

impl Why {
    /// Creates a reason with a short description of the fault.
    pub(crate) fn with(word: &str, detail: &str) -> Self {
        Self { word: word.to_owned(), detail: Some(in_short(detail)) }
    }

    /// Returns the text for those who are asked.
    fn prompt(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{}: {detail}", self.word),
            None => self.word.clone(),
        }
    }
}

impl From<String> for Why {
    fn from(word: String) -> Self {
        Self { word, detail: None }
    }
}

impl GateHandler<'_> {
    pub(crate) fn ask_client(&mut self, call: &Call, profile: ResourceProfile) -> Option<CallInput> {
        let pending = self.next_pending(call)?;
        let own = self
            .cx
            .run
            .agent
            .as_ref()
            .and_then(|agent| agent.tool(&call.tool))
            .and_then(|spec| spec.timeout_ms);
        let deadline = self.cx.run.answer_deadline(own);
        let asking =
            Asking { pending: pending.clone(), deadline, why: None, panel: None, needed: 1, children: 0 };
        self.open_pending(call, asking);
        Some(CallInput::NeedsClient { pending, deadline, profile })
    }

    /// Asks people on these terms to approve the arguments in this message.
    pub(crate) fn ask_people(
        &mut self,
        call: &Call,
        arguments: MessageSeq,
        why: Option<Why>,
        terms: ApprovalTerms,
        profile: ResourceProfile,
    ) -> Option<CallInput> {
        let pending = self.next_pending(call)?;
        let deadline = self.cx.run.answer_deadline(terms.expires_after_ms);
        let digest = Digest::of(self.cx.mind.arguments_of(&call.id).as_bytes());
        let before = call.panel.as_deref().filter(|panel| panel.digest == digest);
        let votes = before.map(|panel| panel.votes.clone()).unwrap_or_default();
        let plain = terms == ApprovalTerms::default();
        let panel = (!plain).then(|| Box::new(Panel::new(terms, digest, self.cx.run.now, votes)));
        let needed = missing(panel.as_deref());
        let asking =
            Asking { pending: pending.clone(), deadline, why, panel: panel.clone(), needed, children: 0 };
        self.open_pending(call, asking);
        Some(CallInput::NeedsUser { pending, deadline, profile, arguments, panel })
    }

    /// Asks again, with the arguments of the model, because the edited ones do not fit.
    pub(crate) fn ask_again(&mut self, call: &Call, detail: &str) -> Option<CallInput> {
        self.cx.mind.step.edited.remove(&call.id);
        self.cx.mind.step.rewritten.remove(&call.id);
        let why = Some(Why::with("the edited arguments do not fit", detail));
        let terms = call.panel.as_deref().map(|panel| panel.terms.clone()).unwrap_or_default();
        self.ask_people(call, self.cx.mind.step.asked_in, why, terms, call.profile.clone())
    }

    /// Asks again, under a new id, with the same deadline. Earlier approvals of the same arguments remain valid.
    pub(crate) fn reopen(&mut self, call: &Call, why: Why) {
        if let Some(pending) = self.next_pending(call) {
            let (deadline, panel) = (call.state.wakes_at(), call.panel.clone());
            let needed = missing(panel.as_deref());
            let why = Some(why);
            self.open_pending(
                call,
                Asking { pending: pending.clone(), deadline, why, panel, needed, children: 0 },
            );
            self.cx.feed(Input::Call { call: call.id.clone(), input: CallInput::Reopened { pending } });
        }
    }

    /// Returns the id of this call's next pending call. If no such id can be formed, gives up and returns `None`.
    pub(crate) fn next_pending(&mut self, call: &Call) -> Option<PendingId> {
        match PendingId::of(self.cx.run.fence.incarnation, &call.id, call.round + 1) {
            Ok(id) => Some(id),
            Err(error) => {
                self.cx.give_up(ErrorInfo::new("engine.pending_id", error.to_string()));
                None
            }
        }
    }

    pub(crate) fn open_pending(&mut self, call: &Call, asking: Asking) {
        let Asking { pending: id, deadline, why, panel, needed, children } = asking;
        let arguments = self.cx.mind.arguments_of(&call.id);
        let tool = match call.tool.parse::<ToolName>() {
            Ok(tool) => tool,
            Err(error) => return self.cx.give_up(ErrorInfo::new("engine.tool_name", error.to_string())),
        };
        let digest = Digest::of(arguments.as_bytes());
        let (asked, reason) = (tool.to_string(), why.as_ref().map(|why| in_short(&why.word)));
        let prompt = why.as_ref().map(Why::prompt);
        let body = match Payload::json(&PendingBody { tool, arguments, digest, prompt, panel }) {
            Ok(body) => body,
            Err(error) => return self.cx.give_up(ErrorInfo::new("engine.encode", error.to_string())),
        };
        let kind = match call.runs_on {
            RunsOn::Server => PendingKind::Approval,
            RunsOn::Client => PendingKind::ClientTool,
            RunsOn::Child if children > 0 => PendingKind::Child,
            // The approval decides whether the call may begin its children, or hand over.
            RunsOn::Child => PendingKind::Approval,
        };
        let (of, pending) = (call.id.clone(), id.clone());
        self.cx.mind.emit(Event::Asked {
            call: of,
            tool: asked,
            kind: kind.clone(),
            pending,
            reason,
            children,
        });
        self.cx.mind.draft.open.push(NewPending { id, call: call.id.clone(), kind, needed, deadline, body });
    }
}

/// Returns the number of people who must still approve; at least 1.
fn missing(panel: Option<&Panel>) -> u32 {
    panel.map_or(1, |panel| panel.missing().max(1))
}

impl Run {
    pub(crate) fn answer_deadline(&self, own: Option<Bound>) -> Option<Timestamp> {
        let agent = self.agent.as_ref()?;
        let wait = own.map_or(agent.limits.answer_timeout_ms, Bound::limit)?;
        Some(self.now.after(Duration::from_millis(wait)))
    }
}
