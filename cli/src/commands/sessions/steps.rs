//! The newest steps of a flow, for `sessions show`.

use std::collections::BTreeMap;

use holdover_core::machine::Machine;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::phrases;
use serde_json::{Value, json};

use crate::print::{cut, inline};

/// The number of steps shown. `sessions messages` shows all.
const SHOWN: usize = 20;

/// The most characters of an argument or a result that are shown.
const CHARS: usize = 60;

/// A step: a call that code has planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    call: String,
    tool: String,
    /// The arguments, as JSON text. `None` if the message that has them is older than those that were read.
    arguments: Option<String>,
    is: Is,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Is {
    /// The call is in the state with this wire name.
    Open(&'static str),
    Ended(ResultStatus, String),
}

/// Returns the newest steps of a flow, those that have ended first. Returns none for a session that is no flow.
pub(super) fn of<'a>(newest: impl IntoIterator<Item = &'a Message>, machine: Option<&Machine>) -> Vec<Step> {
    let mut planned = BTreeMap::new();
    let mut is_flow = machine.is_some_and(|machine| machine.turn.plan.is_some());
    let mut ended = Vec::new();
    for message in newest {
        match message {
            Message::Assistant(said) if said.plan.is_some() => {
                is_flow = true;
                planned.extend(said.calls().map(|call| (call.id.clone(), call.arguments.clone())));
            }
            Message::Tool(result) => ended.push(Step {
                call: result.call.to_string(),
                tool: result.tool.to_string(),
                arguments: planned.get(&result.call).cloned(),
                is: Is::Ended(result.status, result.content.clone()),
            }),
            Message::Assistant(_)
            | Message::User(_)
            | Message::Notice(_)
            | Message::Decision(_)
            | Message::Summary(_) => {}
        }
    }
    if !is_flow {
        return Vec::new();
    }
    let open = machine.and_then(|machine| machine.state.batch()).into_iter().flat_map(|batch| &batch.calls);
    let open = open.map(|call| Step {
        call: call.id.to_string(),
        tool: call.tool.to_string(),
        arguments: planned.get(&call.id).cloned(),
        is: Is::Open(call.state.name()),
    });
    let mut steps: Vec<Step> = ended.into_iter().chain(open).collect();
    steps.drain(..steps.len().saturating_sub(SHOWN));
    steps
}

impl Step {
    /// Returns the step as one line.
    pub(super) fn line(&self) -> String {
        let arguments = self.arguments.as_deref().map_or("…".to_owned(), |text| cut(text, CHARS));
        let what = format!("{}({})", self.tool, inline(&arguments));
        match &self.is {
            Is::Open(state) => format!("{what} is {}", phrases::call(state)),
            Is::Ended(status, result) => {
                let status = json!(status);
                let status = status.as_str().unwrap_or_default();
                format!("{what} is {}: {}", phrases::call(status), cut(result, CHARS))
            }
        }
    }

    pub(super) fn as_json(&self) -> Value {
        let (state, result) = match &self.is {
            Is::Open(state) => (json!(state), None),
            Is::Ended(status, result) => (json!(status), Some(result)),
        };
        json!({
            "call": self.call,
            "tool": self.tool,
            "arguments": self.arguments,
            "state": state,
            "result": result,
        })
    }
}

#[cfg(test)]
mod tests {
    use holdover_core::ids::CallId;
    use holdover_core::message::{AssistantMessage, CallRequest};
    use holdover_core::plan::PlanRecord;

    use super::*;

    fn planned(call: &str, arguments: &str) -> Message {
        let id = CallId::new(call).unwrap();
        let request = CallRequest { id, tool: "charge".into(), arguments: arguments.into() };
        Message::Assistant(AssistantMessage::planned(vec![request], PlanRecord::default()))
    }

    fn ended(call: &str, status: &str, content: &str) -> Message {
        let result = json!({ "call": call, "tool": "charge", "status": status, "content": content });
        Message::Tool(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn a_flow_shows_its_newest_steps_in_the_order_in_which_they_ended() {
        let told = [
            ended("c0", "done", "\"paid 6\""),
            planned("c1", "7"),
            planned("c2", "[8]"),
            ended("c2", "done", "\"paid\n8\""),
            ended("c1", "in_doubt", "the process died"),
        ];
        let lines: Vec<String> = of(&told, None).iter().map(Step::line).collect();
        let expected = [
            r#"charge(…) is done: "paid 6""#,
            r#"charge([8]) is done: "paid …"#,
            "charge(7) is in doubt: the process died",
        ];
        assert_eq!(lines, expected);
        assert_eq!(of(&told, None)[2].as_json()["arguments"], "7");
        let many: Vec<Message> = (0..50)
            .flat_map(|at| {
                [planned(&format!("c{at}"), &at.to_string()), ended(&format!("c{at}"), "done", "")]
            })
            .collect();
        let shown = of(&many, None);
        assert_eq!((shown.len(), shown[19].call.as_str()), (SHOWN, "c49"));
    }

    #[test]
    fn a_session_of_a_model_has_no_steps() {
        assert_eq!(of(&[ended("c1", "done", "x")], None), Vec::new());
    }
}
