//! Random transcripts with unusual model output.

use holdover_core::ids::CallId;
use holdover_core::message::{AssistantMessage, AssistantPart, CallRequest, Message, Notice};
use holdover_core::model::{AnswerPart, ModelAnswer};
use proptest::prelude::*;

use super::{assistant, result, user};

/// Names of tools as models write them.
const TOOLS: [&str; 7] = [
    "read",
    "functions.read_file",
    "",
    "lesen!",
    "läs",
    "two words",
    "a_name_of_more_than_sixty_four_letters_which_is_more_than_any_server_takes",
];
/// Arguments as models write them.
const ARGUMENTS: [&str; 4] = ["{}", "{broken", "", "[1]"];

/// Checks that servers accept `name` as the name of a tool.
#[track_caller]
pub(crate) fn check_name(name: &str) {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    assert!((1..=64).contains(&name.len()) && name.chars().all(fits), "{name:?}");
}

/// Returns the assistant message `said` with `parts` before its own parts.
pub(crate) fn with_reasoning(mut parts: Vec<AssistantPart>, said: Message) -> Message {
    let Message::Assistant(said) = said else { panic!("an assistant message") };
    parts.extend(said.parts);
    Message::Assistant(AssistantMessage::new(parts))
}

pub(crate) fn thought(text: &str, signature: Option<&str>) -> AssistantPart {
    AssistantPart::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

/// Returns an answer as a message of the transcript. Its calls get the ids `c1`, `c2` and so on.
pub(crate) fn as_message(answer: &ModelAnswer) -> Message {
    let mut calls = 0;
    let parts = answer.parts.iter().cloned().map(|part| match part {
        AnswerPart::Text(text) => AssistantPart::Text { text },
        AnswerPart::Reasoning { text, signature } => AssistantPart::Reasoning { text, signature },
        AnswerPart::Call { tool, arguments } => {
            calls += 1;
            let id = CallId::new(format!("c{calls}")).unwrap();
            AssistantPart::Call(CallRequest { id, tool, arguments })
        }
    });
    Message::Assistant(AssistantMessage::new(parts.collect()))
}

/// One random entry of a transcript: a message of the user, a message of the assistant, or a notice. The assistant's
/// message has text, reasoning (signed or not) and the tools that it calls.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    User(&'static str),
    Assistant { text: &'static str, signature: Option<&'static str>, calls: Vec<&'static str> },
    Notice,
}

/// Returns a strategy for one random entry.
pub(crate) fn said() -> impl Strategy<Value = Said> {
    let text = || prop::sample::select(vec!["", " ", "text"]);
    prop_oneof![
        text().prop_map(Said::User),
        (
            text(),
            prop::sample::select(vec![None, Some("c2ln"), Some("redacted:EmwK")]),
            prop::collection::vec(prop::sample::select(TOOLS.to_vec()), 0..4)
        )
            .prop_map(|(text, signature, calls)| Said::Assistant { text, signature, calls }),
        Just(Said::Notice),
    ]
}

/// Returns the entries as a transcript, with a result for each call.
pub(crate) fn transcript(all: &[Said]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (at, said) in all.iter().enumerate() {
        match said {
            Said::User(text) => messages.push(user(text)),
            Said::Notice => messages.push(Message::Notice(Notice::new("a word"))),
            Said::Assistant { text, signature, calls } => {
                let ids: Vec<_> = (0..calls.len()).map(|call| format!("c{at}.{call}")).collect();
                let arguments = |call: usize| ARGUMENTS[call % ARGUMENTS.len()];
                let asked: Vec<_> = ids
                    .iter()
                    .zip(calls)
                    .enumerate()
                    .map(|(call, (id, tool))| (id.as_str(), *tool, arguments(call)))
                    .collect();
                messages.push(with_reasoning(vec![thought("hm", *signature)], assistant(text, &asked)));
                messages.extend(ids.iter().rev().map(|id| result(id, "read", id)));
            }
        }
    }
    messages
}
