//! One model call: builds the request and reads the stream to its end.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::AbortHandle;
use holdover_core::delta::Delta;
use holdover_core::engine::{ActionId, ModelCall, Reply};
use holdover_core::hook::ModelAsked;
use holdover_core::ids::SessionKey;
use holdover_core::list::SharedList;
use holdover_core::message::{Message, UserMessage};
use holdover_core::model::{
    Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, timeout, timeout_at};

use super::Driver;
use super::came::Came;
use super::deltas::{Deltas, Heard, Written};
use super::done::Done;
use super::transcript::Unread;
use crate::agent::Agent;
use crate::clock::far;
use crate::guard::{Panicked, guarded};
use crate::observer::{Provisional, RunObserver};

/// The extra time for an adapter that detects silence itself. Its own error is more precise and must come first.
const STALL_GRACE: Duration = Duration::from_secs(5);

impl Driver {
    pub(super) fn call_model(&mut self, id: ActionId, call: ModelCall) {
        let Some(agent) = self.agent.clone() else {
            let error = ModelError::new(ModelErrorKind::Configuration, "the session runs without its agent");
            self.send(async move { Done::ModelAnswered { id, result: Err(error) } });
            return;
        };
        let (cx, key) = (self.cx.clone(), self.fence.key.clone());
        let (transcript, reading) = (self.transcript.clone(), self.reading());
        let options = self.cx.host.options();
        let bounds = Bounds {
            silence: agent
                .model_in(call.mode, call.model)
                .stall_timeout()
                .map_or(options.model_stall, |own| own.saturating_add(STALL_GRACE)),
            whole: options.model_timeout,
        };
        let observer = options.observer.clone();
        let after = call.shown.newest();
        let shown = Written::new(after, self.written.subscribe());
        let (fence, hears, every) = (self.fence.clone(), self.hears.clone(), options.delta_interval);
        let deltas = Deltas::new(Arc::clone(&self.store), fence, hears, shown, call.stream, every);
        let calls = agent.spec().early_reads.then(|| Calls { of: id, run: self.hears.clone() });
        // If a hook could refuse the answer, no text of an unfinished answer is kept, because the hook has not seen
        // it.
        let came = Came::new(!agent.hooks().withholds_answers());
        let told = came.clone();
        let handle = self.send(async move {
            let most = agent.spec().limits.result_chars_shown;
            let read = async {
                let messages = transcript.seen(&call.shown, most, &reading).await?;
                let prompt = transcript.prompt(call.prompt, &call.shown, &reading).await?;
                Ok::<_, Unread>((messages, prompt))
            };
            let (messages, prompt) = match read.await {
                Ok(read) => read,
                Err(Unread::LeaseEnded) => return Done::LeaseLost,
                Err(Unread::Broken(error)) => {
                    let error = ModelError::new(ModelErrorKind::Transcript, error.to_string());
                    return Done::ModelAnswered { id, result: Err(error) };
                }
            };
            let of = Provisional { session: key.clone(), step: call.step, attempt: call.attempt, after };
            let asked = ModelAsked { session: key, step: call.step, attempt: call.attempt, summary: false };
            let request = request(&agent, &asked.session, &call, prompt, messages);
            let request = match agent.hooks().before_model(&asked, request).await {
                Ok(request) => request,
                Err(error) => return Done::ModelAnswered { id, result: Err(error) },
            };
            let model = agent.model_in(call.mode, call.model);
            let mut teller = Teller { observer, of, deltas, came: told.clone(), calls };
            let its = Arc::clone(model);
            let asking = apart(async move { ask(&*its, request, bounds, &mut teller).await });
            let result = cx.breakers.behind(&cx.host, &agent, model, asking).await;
            let result = match result {
                Ok(answer) => agent.hooks().after_model(&asked, &answer).await.map(|()| answer),
                Err(error) => Err(error),
            };
            Done::ModelAnswered { id, result: result.map_err(|error| told.broke_off(error)) }
        });
        self.model = Some(ModelOut { id, handle, came });
    }

    /// Drops the stream, and reports the part of the answer that had come.
    pub(super) fn stop_model(&mut self, of: ActionId) {
        let (said, used) = match self.model.take_if(|out| out.id == of) {
            Some(out) => {
                out.handle.abort();
                out.came.take()
            }
            None => (String::new(), None),
        };
        self.apply(Reply::ModelStopped { of, said, used });
    }
}

/// A model call that is in flight.
pub(super) struct ModelOut {
    pub(super) id: ActionId,
    pub(super) handle: AbortHandle,
    /// The part of the answer that has come.
    pub(super) came: Came,
}

/// Builds the request. The caller's system prompt, if there is one, replaces the agent's completely; the tools
/// stay.
fn request(
    agent: &Agent,
    session: &SessionKey,
    call: &ModelCall,
    prompt: Option<Arc<str>>,
    mut messages: SharedList<Arc<Message>>,
) -> ModelRequest {
    let told = agent.told(call.mode);
    messages.extend(call.note.clone().map(|text| Arc::new(Message::User(UserMessage::new(text)))));
    let tools = if call.withheld.is_empty() {
        Arc::clone(&told.tools)
    } else {
        told.tools.iter().filter(|tool| !call.withheld.contains(&tool.name)).cloned().collect()
    };
    ModelRequest {
        session: session.clone(),
        system: prompt.unwrap_or_else(|| Arc::clone(&told.system)),
        messages,
        tools,
        max_output_tokens: told.max_output_tokens,
        step: call.step.0,
        attempt: call.attempt,
    }
}

/// A writer that shows an answer to the observer and in deltas while it comes.
struct Teller {
    observer: Option<Arc<dyn RunObserver>>,
    of: Provisional,
    deltas: Deltas,
    came: Came,
    /// `None` if no call begins early.
    calls: Option<Calls>,
}

/// The channel that tells the run which calls of the answer are complete.
struct Calls {
    of: ActionId,
    run: UnboundedSender<Heard>,
}

impl Teller {
    fn begins(&self) {
        if let Some(observer) = &self.observer {
            observer.on_model_call(&self.of);
        }
    }

    fn ends(&self, answer: &ModelAnswer) {
        if let Some(observer) = &self.observer {
            observer.on_model_answered(&self.of, answer.usage);
        }
    }

    fn written(&self, index: usize, tool: String, arguments: String) {
        if let Some(Calls { of, run }) = &self.calls {
            // The run may be over.
            let _ = run.send(Heard::Call(Reply::CallWritten { of: *of, index, tool, arguments }));
        }
    }

    fn tell(&mut self, delta: Delta) {
        if let Some(observer) = &self.observer {
            match &delta {
                Delta::Text { text } => observer.on_text(&self.of, text),
                Delta::Reasoning { text } => observer.on_reasoning(&self.of, text),
                Delta::CallStarted { tool } => observer.on_call_started(&self.of, tool),
                // A model does not send these deltas.
                Delta::CallRunning { .. } | Delta::CallProgress { .. } => {}
                // All deltas of this version are named above. The lint finds missing ones.
                _ => {}
            }
        }
        self.deltas.push(delta);
    }
}

/// Runs `asking` in a task of its own, and returns its result. A panic counts as a failure.
pub(super) async fn apart(
    asking: impl Future<Output = Result<ModelAnswer, ModelError>> + Send + 'static,
) -> Result<ModelAnswer, ModelError> {
    let panicked = |panicked: Panicked| {
        Err(ModelError::new(ModelErrorKind::Provider, format!("it panicked: {}", panicked.0)))
    };
    guarded(asking).await.unwrap_or_else(panicked)
}

/// The time limits of one model call.
#[derive(Clone, Copy)]
struct Bounds {
    /// The maximum time between two events, and before the first event.
    silence: Duration,
    /// The maximum time of the whole call.
    whole: Duration,
}

/// Asks the model and reads its stream to the end. Fails if a time limit is exceeded.
async fn ask(
    model: &dyn Model,
    request: ModelRequest,
    bounds: Bounds,
    teller: &mut Teller,
) -> Result<ModelAnswer, ModelError> {
    teller.begins();
    let asked = async {
        teller.came.asked();
        let stream = timeout(bounds.silence, model.stream(request)).await;
        read(stream.map_err(|_| silent(bounds.silence))??, bounds.silence, teller).await
    };
    timeout(bounds.whole, asked).await.unwrap_or_else(|_| Err(endless(bounds.whole)))
}

async fn read(
    mut stream: ModelStream,
    silence: Duration,
    teller: &mut Teller,
) -> Result<ModelAnswer, ModelError> {
    let mut until = far(Instant::now(), silence);
    loop {
        let next = timeout_at(until, stream.next());
        let event = tokio::select! {
            biased;
            event = next => event,
            begun = teller.came.begins() => {
                begun.into_iter().for_each(|begun| teller.deltas.push(begun));
                continue;
            }
            () = teller.deltas.write() => continue,
        };
        let event = match event {
            Err(_) => return Err(silent(silence)),
            Ok(None) => {
                let detail = "the stream ended before the answer was finished";
                return Err(ModelError::new(ModelErrorKind::Incomplete, detail));
            }
            Ok(Some(event)) => event?,
        };
        teller.came.hear(&event);
        until = far(Instant::now(), silence);
        match event {
            ModelEvent::Finished(answer) => {
                teller.ends(&answer);
                return Ok(answer);
            }
            ModelEvent::Text(text) => teller.tell(Delta::Text { text }),
            ModelEvent::Reasoning(text) => teller.tell(Delta::Reasoning { text }),
            ModelEvent::CallStarted { tool, .. } => teller.tell(Delta::CallStarted { tool }),
            ModelEvent::CallWritten { index, tool, arguments } => teller.written(index, tool, arguments),
            ModelEvent::Progress | ModelEvent::Wrote(_) | ModelEvent::Counted(_) => {}
        }
    }
}

fn silent(bound: Duration) -> ModelError {
    ModelError::new(ModelErrorKind::Stalled, format!("no data for {} s", bound.as_secs()))
}

fn endless(bound: Duration) -> ModelError {
    ModelError::new(ModelErrorKind::Stalled, format!("no end of the answer within {} s", bound.as_secs()))
}
