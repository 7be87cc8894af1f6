//! Somebody outside is asked: who, about which bytes, until when.

use std::time::Duration;

use super::StepIterator;
use super::telling::in_short;
use crate::error::ErrorInfo;
use crate::event::Event;
use crate::gate::ApprovalTerms;
use crate::ids::{MessageSeq, PendingId, ToolName};
use crate::machine::{Call, CallInput, Input, Panel};
use crate::message::PendingBody;
use crate::payload::{Digest, Payload};
use crate::store::{NewPending, PendingKind};
use crate::time::Timestamp;
use crate::tool::{Bound, ResourceProfile, RunsOn};

/// One asking, as it is opened.
#[derive(Clone)]
pub(super) struct Asking {
    pub(super) pending: PendingId,
    pub(super) deadline: Option<Timestamp>,
    pub(super) why: Option<Why>,
    pub(super) panel: Option<Box<Panel>>,
}

/// Why it is asked, or asked anew.
#[derive(Clone)]
pub(super) struct Why {
    pub(super) word: String,
    /// What is wrong with what was answered before, in words that may repeat it: for whoever is asked alone, who is shown
    /// the arguments too. Events do not tell it.
    pub(super) detail: Option<String>,
}

impl Why {
    /// With what is wrong, in short.
    pub(super) fn with(word: &str, detail: &str) -> Self {
        Self { word: word.to_owned(), detail: Some(in_short(detail)) }
    }

    /// As whoever is asked reads it.
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

impl StepIterator {
    pub(super) fn ask_client(&mut self, call: &Call, profile: ResourceProfile) -> Option<CallInput> {
        let pending = self.next_pending(call)?;
        let own =
            self.agent.as_ref().and_then(|agent| agent.tool(&call.tool)).and_then(|spec| spec.timeout_ms);
        let deadline = self.answer_deadline(own);
        let asking = Asking { pending: pending.clone(), deadline, why: None, panel: None };
        self.open_pending(call, asking);
        Some(CallInput::NeedsClient { pending, deadline, profile })
    }

    /// Asks people about the arguments that stand in this message, on these terms.
    pub(super) fn ask_people(
        &mut self,
        call: &Call,
        arguments: MessageSeq,
        why: Option<Why>,
        terms: ApprovalTerms,
        profile: ResourceProfile,
    ) -> Option<CallInput> {
        let pending = self.next_pending(call)?;
        let deadline = self.answer_deadline(terms.expires_after_ms);
        let digest = Digest::of(self.arguments_of(&call.id).as_bytes());
        let before = call.panel.as_deref().filter(|panel| panel.digest == digest);
        let votes = before.map(|panel| panel.votes.clone()).unwrap_or_default();
        let plain = terms == ApprovalTerms::default();
        let panel = (!plain).then(|| Box::new(Panel::new(terms, digest, self.now, votes)));
        let asking = Asking { pending: pending.clone(), deadline, why, panel: panel.clone() };
        self.open_pending(call, asking);
        Some(CallInput::NeedsUser { pending, deadline, profile, arguments, panel })
    }

    /// Asks once more with the arguments of the model: the edited ones do not fit.
    pub(super) fn ask_again(&mut self, call: &Call, detail: &str) -> Option<CallInput> {
        self.mind.edited.remove(&call.id);
        self.mind.rewritten.remove(&call.id);
        let why = Some(Why::with("the edited arguments do not fit", detail));
        let terms = call.panel.as_deref().map(|panel| panel.terms.clone()).unwrap_or_default();
        self.ask_people(call, self.mind.asked_in, why, terms, call.profile.clone())
    }

    /// Asks again, under a new id, with the same deadline. What was approved of these bytes stands.
    pub(super) fn reopen(&mut self, call: &Call, why: Why) {
        if let Some(pending) = self.next_pending(call) {
            let (deadline, panel) = (call.state.wakes_at(), call.panel.clone());
            self.open_pending(call, Asking { pending: pending.clone(), deadline, why: Some(why), panel });
            self.feed(Input::Call { call: call.id.clone(), input: CallInput::Reopened { pending } });
        }
    }

    pub(super) fn answer_deadline(&self, own: Option<Bound>) -> Option<Timestamp> {
        let agent = self.agent.as_ref()?;
        let wait = own.map_or(agent.limits.answer_timeout_ms, Bound::limit)?;
        Some(self.now.after(Duration::from_millis(wait)))
    }

    /// The id of the next asking of this call. None: the run gives up, as no such id can be formed.
    fn next_pending(&mut self, call: &Call) -> Option<PendingId> {
        match PendingId::of(self.fence.incarnation, &call.id, call.round + 1) {
            Ok(id) => Some(id),
            Err(error) => {
                self.give_up(ErrorInfo::new("engine.pending_id", error.to_string()));
                None
            }
        }
    }

    pub(super) fn open_pending(&mut self, call: &Call, asking: Asking) {
        let Asking { pending: id, deadline, why, panel } = asking;
        let arguments = self.arguments_of(&call.id);
        let tool = match call.tool.parse::<ToolName>() {
            Ok(tool) => tool,
            Err(error) => return self.give_up(ErrorInfo::new("engine.tool_name", error.to_string())),
        };
        let digest = Digest::of(arguments.as_bytes());
        let needed = panel.as_deref().map_or(1, |panel| panel.missing().max(1));
        let (asked, reason) = (tool.to_string(), why.as_ref().map(|why| in_short(&why.word)));
        let prompt = why.as_ref().map(Why::prompt);
        let body = match Payload::json(&PendingBody { tool, arguments, digest, prompt, panel }) {
            Ok(body) => body,
            Err(error) => return self.give_up(ErrorInfo::new("engine.encode", error.to_string())),
        };
        let kind = match call.runs_on {
            RunsOn::Server => PendingKind::Approval,
            RunsOn::Client => PendingKind::ClientTool,
        };
        let (of, pending) = (call.id.clone(), id.clone());
        self.emit(Event::Asked { call: of, tool: asked, kind: kind.clone(), pending, reason });
        self.mind.draft.open.push(NewPending { id, call: call.id.clone(), kind, needed, deadline, body });
    }
}
