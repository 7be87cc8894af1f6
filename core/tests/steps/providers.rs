//! Rules of the model services for conversations, written from each service's own documentation. They are checked
//! against the view of the model after every commit of every test.
//!
//! Requirements: U04.

use std::collections::BTreeSet;

use holdover_core::message::{AssistantMessage, AssistantPart, Message, UserMessage};

use crate::world::CUT_OFF;

/// The reason why a service would refuse a conversation.
type Refusal = String;

/// The rules of a service. They return an error if the service would refuse the conversation.
type Rules = fn(&[Message]) -> Result<(), Refusal>;

/// The services, with their rules.
pub(crate) const SERVICES: [(&str, Rules); 3] =
    [("OpenAI", openai), ("Anthropic", anthropic), ("Gemini", gemini)];

/// Checks that every service accepts the conversation. With `asked`, also checks that the model may speak next.
#[track_caller]
pub(crate) fn accept(view: &[Message], asked: bool) {
    let sent = as_sent(view, asked);
    for (service, rules) in SERVICES {
        if let Err(refusal) = rules(&sent) {
            panic!("{service} would refuse it: {refusal}: {view:#?}");
        }
        let last_word = matches!(sent.last(), Some(Message::Assistant(_)) | None);
        assert!(!(asked && last_word), "{service}: it is not the model's turn: {view:#?}");
    }
}

/// Returns the conversation as adapters send it. An answer that was cut off is joined with the next one, or with a
/// user's request to go on if the model is asked.
fn as_sent(view: &[Message], asked: bool) -> Vec<Message> {
    let mut sent: Vec<Message> = Vec::new();
    let cut_off = |said: &AssistantMessage| {
        said.calls().next().is_none() && (said.aborted || said.text().ends_with(CUT_OFF))
    };
    for message in view {
        match (sent.last_mut(), message) {
            // A refusal without text is not sent.
            (_, Message::Assistant(said))
                if said.calls().next().is_none() && said.text().trim().is_empty() => {}
            (Some(Message::Assistant(before)), Message::Assistant(more)) if cut_off(before) => {
                before.parts.extend(more.parts.iter().cloned());
            }
            (_, message) => sent.push(message.clone()),
        }
    }
    if asked && matches!(sent.last(), Some(Message::Assistant(said)) if cut_off(said)) {
        sent.push(Message::User(UserMessage::new("[go on]")));
    }
    sent
}

/// A part of a message that all services know.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Call(String),
    Result(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    User,
    Model,
}

/// Returns the side and the parts of a message as a model sees them. None if no model is shown the message.
fn pieces(message: &Message) -> Option<(Side, Vec<Piece>)> {
    match message {
        Message::User(said) => Some((Side::User, vec![Piece::Text(said.text.clone())])),
        Message::Tool(result) => Some((Side::User, vec![Piece::Result(result.call.to_string())])),
        Message::Assistant(said) => {
            let piece = |part: &AssistantPart| match part {
                AssistantPart::Text { text } => Some(Piece::Text(text.clone())),
                AssistantPart::Call(call) => Some(Piece::Call(call.id.to_string())),
                AssistantPart::Reasoning { .. } => None,
            };
            Some((Side::Model, said.parts.iter().filter_map(piece).collect()))
        }
        // The view shows such a message as a user's message, or not at all, so none is left here.
        Message::Summary(_) | Message::Decision(_) | Message::Notice(_) => None,
    }
}

fn says_nothing(pieces: &[Piece]) -> bool {
    pieces.iter().all(|piece| matches!(piece, Piece::Text(text) if text.trim().is_empty()))
}

/// Checks the rules of OpenAI's chat completions. `tool` messages answer the `tool_calls` of the assistant's message
/// just before them, each once, before any other message. An assistant's message has content or calls. Ids are unique.
fn openai(view: &[Message]) -> Result<(), Refusal> {
    let (mut owed, mut known) = (BTreeSet::new(), BTreeSet::new());
    for message in view {
        let Some((side, pieces)) = pieces(message) else {
            return Err(format!("no such role: {}", message.role()));
        };
        if let [Piece::Result(id)] = pieces.as_slice() {
            if !owed.remove(id) {
                return Err(format!(
                    "a tool message answers {id}, which the message before does not ask for"
                ));
            }
            continue;
        }
        if !owed.is_empty() {
            return Err(format!("tool_calls {owed:?} are not followed by tool messages"));
        }
        if side == Side::Model && says_nothing(&pieces) {
            return Err("an assistant message has neither content nor tool_calls".into());
        }
        for piece in &pieces {
            if let Piece::Call(id) = piece {
                if !known.insert(id.clone()) {
                    return Err(format!("two tool_calls have the id {id}"));
                }
                owed.insert(id.clone());
            }
        }
    }
    if owed.is_empty() { Ok(()) } else { Err(format!("tool_calls {owed:?} have no tool message")) }
}

/// Joins consecutive messages of the user's side into turns. Refuses a conversation in which the model speaks twice
/// in a row.
fn turns(view: &[Message]) -> Result<Vec<(Side, Vec<Piece>)>, Refusal> {
    let mut turns: Vec<(Side, Vec<Piece>)> = Vec::new();
    for message in view {
        let Some((side, more)) = pieces(message) else {
            return Err(format!("no such role: {}", message.role()));
        };
        match turns.last_mut() {
            Some((Side::User, said)) if side == Side::User => said.extend(more),
            Some((last, _)) if *last == side => return Err("the model speaks twice in a row".into()),
            Some(_) | None => turns.push((side, more)),
        }
    }
    Ok(turns)
}

/// Returns the ids of the parts that `wanted` selects, such as calls or results.
fn ids(pieces: &[Piece], wanted: fn(&Piece) -> Option<&String>) -> Vec<&String> {
    pieces.iter().filter_map(wanted).collect()
}

fn call(piece: &Piece) -> Option<&String> {
    if let Piece::Call(id) = piece { Some(id) } else { None }
}

fn result(piece: &Piece) -> Option<&String> {
    if let Piece::Result(id) = piece { Some(id) } else { None }
}

/// Checks the rules of Anthropic's messages. Roles alternate, beginning with `user`. The next message begins with a
/// `tool_result` for each `tool_use`, each once. Ids are unique. No message is empty.
fn anthropic(view: &[Message]) -> Result<(), Refusal> {
    let turns = turns(view)?;
    if let Some((Side::Model, _)) = turns.first() {
        return Err("the first message must be the user's".into());
    }
    let mut known = BTreeSet::new();
    let mut asked: Vec<&String> = Vec::new();
    for (_, said) in &turns {
        if says_nothing(said) {
            return Err("a message is empty".into());
        }
        let results = ids(said, result);
        let at_the_beginning = said.iter().take(results.len()).all(|piece| result(piece).is_some());
        if !at_the_beginning {
            return Err("tool_result blocks come first in a message".into());
        }
        let (given, wanted) =
            (results.iter().collect::<BTreeSet<_>>(), asked.iter().collect::<BTreeSet<_>>());
        if given != wanted || results.len() != asked.len() {
            return Err(format!("tool_use {asked:?} is answered by {results:?} in the next message"));
        }
        asked = ids(said, call);
        if let Some(twice) = asked.iter().find(|id| !known.insert(**id)) {
            return Err(format!("two tool_use blocks have the id {twice}"));
        }
    }
    if asked.is_empty() { Ok(()) } else { Err(format!("tool_use {asked:?} without tool_result")) }
}

/// Checks the rules of Gemini's contents. `user` and `model` alternate, beginning with `user`. A turn with function
/// calls follows a user's turn or a turn of function responses. The next turn has exactly one response for each call,
/// in the same order. No turn is empty.
fn gemini(view: &[Message]) -> Result<(), Refusal> {
    let turns = turns(view)?;
    let mut before: Option<&(Side, Vec<Piece>)> = None;
    for turn in &turns {
        let (side, said) = turn;
        if says_nothing(said) {
            return Err("a content must have at least one part".into());
        }
        let responses = ids(said, result);
        let calls = before.map(|(_, said)| ids(said, call)).unwrap_or_default();
        if responses != calls {
            return Err(format!("function calls {calls:?} are followed by function responses {responses:?}"));
        }
        if *side == Side::Model && before.is_none_or(|(side, _)| *side != Side::User) {
            return Err("a model's turn comes after a user's turn or function responses".into());
        }
        before = Some(turn);
    }
    match before.map(|(_, said)| ids(said, call)) {
        Some(calls) if !calls.is_empty() => Err(format!("function calls {calls:?} have no responses")),
        Some(_) | None => Ok(()),
    }
}

mod tests {
    use holdover_core::ids::CallId;
    use holdover_core::image::Images;
    use holdover_core::message::{CallRequest, ResultStatus, ToolResult};

    use super::*;

    fn user(text: &str) -> Message {
        Message::User(UserMessage::new(text))
    }

    fn model(text: &str, calls: &[&str]) -> Message {
        let call = |id: &&str| {
            let id = CallId::new(*id).unwrap();
            AssistantPart::Call(CallRequest { id, tool: "look".into(), arguments: "{}".into() })
        };
        let said = (!text.is_empty()).then(|| AssistantPart::Text { text: text.into() });
        Message::Assistant(AssistantMessage::new(said.into_iter().chain(calls.iter().map(call)).collect()))
    }

    fn told(call: &str) -> Message {
        Message::Tool(ToolResult {
            call: CallId::new(call).unwrap(),
            tool: "look".into(),
            status: ResultStatus::Done,
            content: "seen".into(),
            edited_arguments: None,
            duration_ms: None,
            stop: false,
            broken: false,
            sent: None,
            denial: None,
            changes: Vec::new(),
            instead_of: Vec::new(),
            images: Images::none(),
        })
    }

    #[test]
    fn u04_a_conversation_that_is_whole_is_taken_by_every_service() {
        let whole = [
            user("go"),
            user("and hurry"),
            model("let me see", &["a", "b"]),
            told("a"),
            told("b"),
            user("well?"),
            model("", &["c"]),
            told("c"),
            model("done", &[]),
            user("more"),
        ];
        accept(&whole, true);
        accept(&[], false);
    }

    /// Shows that each rule finds its violation, since a validator that accepts everything proves nothing.
    #[test]
    fn u04_what_a_service_refuses_is_found() {
        let all = ["OpenAI", "Anthropic", "Gemini"];
        let strict = ["Anthropic", "Gemini"];
        let broken: [(&str, Vec<Message>, &[&str]); 11] = [
            (
                "a call without a result",
                vec![user("go"), model("", &["a", "b"]), told("a"), model("x", &[])],
                &all,
            ),
            ("at the end", vec![user("go"), model("", &["a"])], &all),
            ("a result too many", vec![user("go"), model("", &["a"]), told("a"), told("a")], &all),
            ("a result of nothing", vec![user("go"), told("a")], &all),
            ("a result of another step", vec![user("go"), model("", &["a"]), told("b")], &all),
            (
                "somebody speaks in between",
                vec![user("go"), model("", &["a"]), user("well?"), told("a")],
                &["OpenAI", "Anthropic"],
            ),
            (
                "an id twice",
                vec![user("go"), model("", &["a"]), told("a"), model("", &["a"]), told("a")],
                &["OpenAI", "Anthropic"],
            ),
            ("the model begins", vec![model("hello", &[])], &strict),
            ("the model speaks twice", vec![user("go"), model("one", &[]), model("two", &[])], &strict),
            ("the model says nothing", vec![user("go"), model("", &[]), user("well?")], &all),
            (
                "results out of order",
                vec![user("go"), model("", &["a", "b"]), told("b"), told("a")],
                &["Gemini"],
            ),
        ];
        for (what, view, refused_by) in broken {
            for (service, rules) in SERVICES {
                assert_eq!(rules(&view).is_err(), refused_by.contains(&service), "{what}: {service}");
            }
        }
        let record = Message::Notice(holdover_core::message::Notice::new("the limit"));
        assert!(SERVICES.iter().all(|(_, rules)| rules(&[user("go"), record.clone()]).is_err()));
    }
}
