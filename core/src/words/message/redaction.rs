//! Messages as watchers are shown them: without values that look like secrets.

use super::{
    AssistantMessage, AssistantPart, CallRequest, Decision, DecisionRecord, Message, Notice, PendingBody,
};
use super::{Rewriting, ToolResult};
use crate::words::custom::{StateChange, Undo};
use crate::words::parameters::redacted_arguments;

impl Message {
    /// Returns the message as watchers are shown it. In arguments of calls and values of the custom state, wherever the
    /// message has them, a value is replaced with `[redacted]` if its name contains `token`, `secret`, `password`, `key` or
    /// `auth`. Texts and results stay as they are.
    #[must_use]
    pub fn redacted(self) -> Self {
        match self {
            Self::Assistant(AssistantMessage { parts, aborted, plan }) => {
                let parts = parts.into_iter().map(part).collect();
                Self::Assistant(AssistantMessage { parts, aborted, plan })
            }
            Self::Tool(result) => {
                let edited_arguments = result.edited_arguments.map(|edited| redacted_arguments(&edited));
                let changes = result.changes.into_iter().map(StateChange::redacted).collect();
                Self::Tool(ToolResult { edited_arguments, changes, ..result })
            }
            Self::Decision(record) => {
                let arguments = record.decision.arguments.map(|edited| redacted_arguments(&edited));
                let only = record.decision.only.redacted();
                let decision = Decision { arguments, only, ..record.decision };
                Self::Decision(DecisionRecord { decision, ..record })
            }
            Self::Notice(notice) => {
                let rewriting = notice.rewriting.map(|Rewriting { call, arguments }| Rewriting {
                    call,
                    arguments: redacted_arguments(&arguments),
                });
                let state = notice.state.into_iter().map(Undo::redacted).collect();
                Self::Notice(Notice { rewriting, state, ..notice })
            }
            said @ (Self::User(_) | Self::Summary(_)) => said,
        }
    }
}

fn part(part: AssistantPart) -> AssistantPart {
    match part {
        AssistantPart::Call(call) => {
            let arguments = redacted_arguments(&call.arguments);
            AssistantPart::Call(CallRequest { arguments, ..call })
        }
        text @ (AssistantPart::Text { .. } | AssistantPart::Reasoning { .. }) => text,
    }
}

impl PendingBody {
    /// Returns the body as watchers are shown it, with [redacted](Message::redacted) arguments. The digest is still that of
    /// the exact arguments.
    #[must_use]
    pub fn redacted(self) -> Self {
        let arguments = redacted_arguments(&self.arguments);
        Self { arguments, ..self }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::words::ids::CallId;

    fn call(arguments: &str) -> Message {
        let call =
            CallRequest { id: CallId::new("c1").unwrap(), tool: "pay".into(), arguments: arguments.into() };
        let parts = vec![AssistantPart::Text { text: "my token is fine".into() }, AssistantPart::Call(call)];
        Message::Assistant(AssistantMessage { parts, aborted: false, plan: None })
    }

    #[test]
    fn secrets_in_arguments_are_replaced_and_all_else_stays() {
        let shown =
            call(r#"{"api_key": "sk-1", "to": [{"Password": "x", "name": "ann"}], "cents": 5}"#).redacted();
        assert_eq!(
            shown,
            call(r#"{"api_key":"[redacted]","to":[{"Password":"[redacted]","name":"ann"}],"cents":5}"#)
        );
    }
}
