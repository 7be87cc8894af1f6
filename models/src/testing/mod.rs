//! Shared helpers for the tests of this crate.

pub(crate) mod faults;
pub(crate) mod refusals;
pub(crate) mod reuse;
pub(crate) mod server;
pub(crate) mod transcript;

use std::sync::Arc;

use futures::StreamExt;
use holdover_core::ids::{CallId, SessionId, SessionKey, TenantId};
use holdover_core::image::{Image, Images};
use holdover_core::message::{
    AssistantMessage, AssistantPart, CallRequest, Mention, Mentions, Message, NotRead, ResultStatus,
    ToolResult, UserMessage,
};
use holdover_core::model::{Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use holdover_core::payload::Digest;

use self::server::{Reply, Seen, serve};
use crate::wire::ServerSettings;

/// Returns a request with this transcript.
pub(crate) fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        session: SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap()),
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::from([]),
        max_output_tokens: 100,
        step: 1,
        attempt: 0,
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message::User(UserMessage::new(text))
}

/// Returns an assistant message with `text` and then `calls`, each given by its id, tool and arguments.
pub(crate) fn assistant(text: &str, calls: &[(&str, &str, &str)]) -> Message {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(AssistantPart::Text { text: text.to_owned() });
    }
    parts.extend(calls.iter().map(|(id, tool, arguments)| {
        AssistantPart::Call(CallRequest {
            id: CallId::new(id).unwrap(),
            tool: (*tool).to_owned(),
            arguments: (*arguments).to_owned(),
        })
    }));
    Message::Assistant(AssistantMessage::new(parts))
}

pub(crate) fn result(call: &str, tool: &str, content: &str) -> Message {
    Message::Tool(ToolResult {
        call: CallId::new(call).unwrap(),
        tool: tool.to_owned(),
        status: ResultStatus::Done,
        content: content.to_owned(),
        edited_arguments: None,
        duration_ms: None,
        stop: false,
        broken: false,
        sent: None,
        denial: None,
        changes: Vec::new(),
        images: Images::none(),
        instead_of: Vec::new(),
    })
}

/// Returns the user's message or the tool's result with a picture of eight bytes. Returns other messages unchanged.
pub(crate) fn shows(message: Message) -> Message {
    let images = Images::of([Image::new(b"\x89PNG\r\n\x1a\n").unwrap()]).unwrap();
    match message {
        Message::User(said) => Message::User(UserMessage { images, ..said }),
        Message::Tool(result) => Message::Tool(ToolResult { images, ..result }),
        Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => message,
    }
}

/// Returns the user's message with a mention of a file and one of a folder. Returns other messages unchanged.
pub(crate) fn mentions(message: Message) -> Message {
    let file = Mention::file("src/main.rs", Digest::of(b"fn main() {}"), 12).unwrap();
    let folder = Mention::not_read("docs", NotRead::Folder).unwrap();
    let mentions = Mentions::of([file, folder]).unwrap();
    match message {
        Message::User(said) => Message::User(UserMessage { mentions, ..said }),
        Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => message,
    }
}

/// Returns the event for a completely written call.
pub(crate) fn written(index: usize, tool: &str, arguments: &str) -> ModelEvent {
    ModelEvent::CallWritten { index, tool: tool.to_owned(), arguments: arguments.to_owned() }
}

/// Returns the events up to the end of the stream or its error, without those that only report progress or counts.
pub(crate) async fn ask(model: &dyn Model, request: ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
    let shown = |event: &Result<ModelEvent, ModelError>| {
        !matches!(event, Ok(ModelEvent::Progress | ModelEvent::Wrote(_) | ModelEvent::Counted(_)))
    };
    match model.stream(request).await {
        Ok(stream) => stream.filter(|event| std::future::ready(shown(event))).collect().await,
        Err(error) => vec![Err(error)],
    }
}

/// A function that makes the adapter under test.
pub(crate) type Open = fn(ServerSettings) -> Arc<dyn Model>;

/// Returns settings for a model `test-model` at `base_url`.
pub(crate) fn settings(base_url: &str) -> ServerSettings {
    let mut settings = ServerSettings::openai("test-model");
    settings.base_url = base_url.to_owned();
    settings
}

/// Returns the events that `reply` to a plain question causes, and the request that the server received.
pub(crate) async fn exchange(open: Open, reply: Reply) -> (Vec<Result<ModelEvent, ModelError>>, Seen) {
    let (base_url, serving) = serve(reply).await;
    let events = ask(&*open(settings(&base_url)), request(vec![user("Hello")])).await;
    (events, serving.await.unwrap())
}

/// Returns the answer that `reply` must give.
pub(crate) async fn answer(open: Open, reply: Reply) -> ModelAnswer {
    let (mut events, _) = exchange(open, reply).await;
    match events.pop() {
        Some(Ok(ModelEvent::Finished(answer))) => answer,
        other => panic!("an answer, not {other:?}"),
    }
}

/// Checks that `reply` causes these events, and then one error of `kind` in one line. Returns the error.
pub(crate) async fn check_fails(
    open: Open,
    reply: Reply,
    before: &[ModelEvent],
    kind: ModelErrorKind,
) -> ModelError {
    let (events, _) = exchange(open, reply).await;
    one_error(events, before, kind)
}

pub(crate) fn one_error(
    mut events: Vec<Result<ModelEvent, ModelError>>,
    before: &[ModelEvent],
    kind: ModelErrorKind,
) -> ModelError {
    let error = events.pop().expect("something comes").expect_err("an error ends it");
    let events: Vec<_> = events.into_iter().map(|event| event.expect("one error only")).collect();
    assert_eq!(events, before);
    assert_eq!(error.kind, kind, "{error}");
    assert!(!error.detail.contains('\n'), "{error}");
    error
}
