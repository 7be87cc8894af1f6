//! A scripted model: a test sets its response to each request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::message::Message;
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, TokenUsage,
};

/// The response of the model to one request.
pub(crate) enum Say {
    /// Ends the turn with this text.
    Text(&'static str),
    /// Stops with this text for this reason.
    Until(&'static str, StopReason),
    /// Asks for these tool calls, each a name and its arguments.
    Calls(Vec<(&'static str, &'static str)>),
    /// Fails with this error.
    Fail(ModelError),
    /// Fails with this error after this time.
    FailAfter(Duration, ModelError),
    /// Says these pieces, each after `apart`. Unless `whole`, the stream then ends without an end of the answer.
    Slowly { pieces: Vec<String>, apart: Duration, whole: bool },
    /// Says these pieces, each after `apart`, and then asks for this tool.
    SlowlyCall { pieces: Vec<String>, apart: Duration, tool: &'static str },
    /// Says these pieces, each after `apart`, and then asks for these tools.
    SlowlyCalls { pieces: Vec<String>, apart: Duration, calls: Vec<(&'static str, &'static str)> },
    /// Sends a sign of progress after each `apart`, `signs` times, and then asks for this tool. `None`: for ever.
    Writes { apart: Duration, signs: Option<usize>, tool: &'static str },
    /// Says this text and reports this count, and then fails or says nothing more.
    Begins { text: &'static str, counted: TokenUsage, then: Option<ModelError> },
    /// Never says anything.
    Nothing,
    /// Ends the stream in the middle of the answer.
    Cut,
}

type Speech = dyn Fn(&ModelRequest) -> Say + Send + Sync;

/// A model that answers each request as a function says, and remembers the requests.
#[derive(Clone)]
pub(crate) struct Script {
    say: Arc<Speech>,
    asked: Arc<Mutex<Vec<ModelRequest>>>,
    stall_timeout: Option<Duration>,
    circuit: &'static str,
}

impl Script {
    pub(crate) fn new(say: impl Fn(&ModelRequest) -> Say + Send + Sync + 'static) -> Self {
        Self { say: Arc::new(say), asked: Arc::default(), stall_timeout: None, circuit: "test:script" }
    }

    /// Sets the longest silence before a call of the model is given up.
    pub(crate) fn silent_for(mut self, at_most: Duration) -> Self {
        self.stall_timeout = Some(at_most);
        self
    }

    /// Sets the name under which circuit breakers keep this model.
    pub(crate) fn at(mut self, circuit: &'static str) -> Self {
        self.circuit = circuit;
        self
    }

    /// Returns a model that first asks for these tools, and ends the turn once it has their results.
    pub(crate) fn calling(calls: Vec<(&'static str, &'static str)>) -> Self {
        Self::new(move |request| match results(request).is_empty() {
            true => Say::Calls(calls.clone()),
            false => Say::Text("done"),
        })
    }

    pub(crate) fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().unwrap().clone()
    }
}

/// Returns the contents of the tool results in a request.
pub(crate) fn results(request: &ModelRequest) -> Vec<String> {
    let results = request.messages.iter().filter_map(|message| match &**message {
        Message::Tool(result) => Some(result.content.clone()),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    results.collect()
}

#[async_trait]
impl Model for Script {
    fn name(&self) -> &str {
        "test:script"
    }

    fn circuit(&self) -> &str {
        self.circuit
    }

    fn stall_timeout(&self) -> Option<Duration> {
        self.stall_timeout
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let say = (self.say)(&request);
        self.asked.lock().unwrap().push(request);
        let usage = TokenUsage { input: 1, output: 1, ..TokenUsage::default() };
        let finished = |parts, stop| Ok(ModelEvent::Finished(ModelAnswer { parts, stop, usage }));
        let events = match say {
            Say::Text(text) => {
                let whole = finished(vec![AnswerPart::Text(text.into())], StopReason::EndTurn);
                vec![Ok(ModelEvent::Text(text.into())), whole]
            }
            Say::Until(text, stop) => vec![finished(vec![AnswerPart::Text(text.into())], stop)],
            Say::Calls(calls) => {
                vec![finished(calls.into_iter().map(call).collect(), StopReason::ToolUse)]
            }
            Say::Fail(error) => vec![Err(error)],
            Say::FailAfter(wait, error) => {
                tokio::time::sleep(wait).await;
                vec![Err(error)]
            }
            Say::Slowly { pieces, apart, whole } => {
                let end = finished(vec![AnswerPart::Text(pieces.concat())], StopReason::EndTurn);
                return Ok(slowly(pieces, apart, whole.then_some(end)));
            }
            Say::SlowlyCall { pieces, apart, tool } => {
                let parts = spoken(&pieces, vec![(tool, "{}")]);
                return Ok(slowly(pieces, apart, Some(finished(parts, StopReason::ToolUse))));
            }
            Say::SlowlyCalls { pieces, apart, calls } => {
                let parts = spoken(&pieces, calls);
                return Ok(slowly(pieces, apart, Some(finished(parts, StopReason::ToolUse))));
            }
            Say::Writes { apart, signs, tool } => {
                let call = AnswerPart::Call { tool: tool.into(), arguments: "{}".into() };
                let sign = move |_| async move {
                    tokio::time::sleep(apart).await;
                    Ok(ModelEvent::Progress)
                };
                let signs = futures::stream::iter(0..signs.unwrap_or(usize::MAX)).then(sign);
                let end = finished(vec![call], StopReason::ToolUse);
                return Ok(signs.chain(futures::stream::iter([end])).boxed());
            }
            Say::Begins { text, counted, then } => {
                let begun = [Ok(ModelEvent::Text(text.into())), Ok(ModelEvent::Counted(counted))];
                let begun = futures::stream::iter(begun);
                return Ok(match then {
                    Some(error) => begun.chain(futures::stream::iter([Err(error)])).boxed(),
                    None => begun.chain(futures::stream::pending()).boxed(),
                });
            }
            Say::Nothing => return Ok(futures::stream::pending().boxed()),
            Say::Cut => vec![Ok(ModelEvent::Text("so f".into()))],
        };
        Ok(futures::stream::iter(events).boxed())
    }
}

fn call((tool, arguments): (&str, &str)) -> AnswerPart {
    AnswerPart::Call { tool: tool.into(), arguments: arguments.into() }
}

fn spoken(pieces: &[String], calls: Vec<(&str, &str)>) -> Vec<AnswerPart> {
    std::iter::once(AnswerPart::Text(pieces.concat())).chain(calls.into_iter().map(call)).collect()
}

fn slowly(pieces: Vec<String>, apart: Duration, end: Option<Result<ModelEvent, ModelError>>) -> ModelStream {
    let pieces = pieces.into_iter().map(|piece| Ok(ModelEvent::Text(piece)));
    let events: Vec<_> = pieces.chain(end).collect();
    let slowly = futures::stream::iter(events).then(move |event| async move {
        tokio::time::sleep(apart).await;
        event
    });
    slowly.boxed()
}
