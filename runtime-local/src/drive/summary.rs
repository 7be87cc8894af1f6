//! Summaries. Core decides where to cut and what to ask for; the agent's model writes the summary.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use holdover_core::compaction;
use holdover_core::engine::{ActionId, Reply, Shown, Summarised};
use holdover_core::hook::ModelAsked;
use holdover_core::ids::{MessageSeq, StepNumber};
use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest,
};
use tokio::time::timeout;

use super::Driver;
use super::came::Came;
use super::context::RunContext;
use super::done::Done;
use super::model::{ModelOut, apart};
use super::transcript::Unread;
use crate::agent::Agent;

/// The parameters of a summary.
pub(super) struct Asking {
    pub(super) step: StepNumber,
    /// The number of the agent's model that makes the summary.
    pub(super) model: u32,
    /// True if a caller asked for the summary.
    pub(super) asked: bool,
    /// The number of times that a provider has refused the step as too long.
    pub(super) refused: u32,
    /// For a handoff, the place where the old conversation ends.
    pub(super) handoff: Option<MessageSeq>,
    /// The number of the attempt, from 0.
    pub(super) attempt: u32,
}

impl Driver {
    pub(super) fn summarise(&mut self, id: ActionId, asking: Asking, shown: Shown) {
        let Asking { step, model, asked, refused, handoff, attempt } = asking;
        let reply = move |result, shorter| Done::Reply(Reply::Summarised { id, result, shorter });
        let Some(agent) = self.agent.clone() else {
            let error = ModelError::new(ModelErrorKind::Configuration, "the session runs without its agent");
            self.send(async move { reply(Err(error), None) });
            return;
        };
        let (cx, key) = (self.cx.clone(), self.fence.key.clone());
        let (transcript, reading) = (self.transcript.clone(), self.reading());
        let came = Came::new(false);
        let heard = came.clone();
        let handle = self.send(async move {
            let messages = match transcript.of(&shown, &reading).await {
                Ok(messages) => messages,
                Err(Unread::LeaseEnded) => return Done::LeaseLost,
                Err(Unread::Broken(error)) => {
                    let error = ModelError::new(ModelErrorKind::Transcript, error.to_string());
                    return reply(Err(error), None);
                }
            };
            let rules = &agent.spec().compaction;
            let before = match handoff {
                None => compaction::cut(&messages, rules, asked, refused),
                Some(after) => compaction::cut_for_handoff(&messages, after),
            };
            let shorter = compaction::shorter(&messages, &shown);
            let Some(before) = before else { return reply(Ok(None), shorter) };
            let at = messages.iter().position(|(seq, _)| *seq == before).unwrap_or(0);
            let (old, new) = messages.split_at(at);
            let old_tokens = old.iter().map(|(_, message)| compaction::tokens_of(message)).sum();
            let asked = ModelAsked { session: key, step, attempt, summary: true };
            let request = |refused| match handoff {
                None => compaction::request(&asked.session, old, rules, step.0, refused),
                Some(_) => {
                    compaction::request_for_handoff(&asked.session, old, new, rules, step.0, attempt, refused)
                }
            };
            let bound = Duration::from_millis(rules.timeout_ms);
            // A timeout drops the call, so a model that needs too long for a summary does not count as failing.
            let made = timeout(bound, async {
                let mut refused = 0;
                loop {
                    let made = ask(&cx, &agent, model, &asked, request(refused), &heard).await;
                    refused += 1;
                    if refused == compaction::SUMMARY_TRIES || !made.as_ref().is_err_and(is_too_long) {
                        return made;
                    }
                }
            });
            let made = made.await.unwrap_or_else(|_| Err(too_slow(bound)));
            let made = made.map_err(|error| heard.broke_off(error));
            let made = made.map(|answer| {
                let (text, stop, usage) = (text_of(&answer), answer.stop, answer.usage);
                Some(Summarised { text, before, old_tokens, stop, usage })
            });
            reply(made, shorter)
        });
        self.model = Some(ModelOut { id, handle, came });
    }
}

/// Asks the model for a summary. Hooks see the request and the answer, because content that a hook keeps from
/// the model must not reach it in a request for a summary.
async fn ask(
    cx: &RunContext,
    agent: &Agent,
    model: u32,
    asked: &ModelAsked,
    request: ModelRequest,
    came: &Came,
) -> Result<ModelAnswer, ModelError> {
    let request = agent.hooks().before_model(asked, request).await?;
    let model = agent.model(model);
    let (its, listens) = (Arc::clone(model), came.clone());
    let asking = apart(async move { answer(&*its, request, &listens).await });
    let answer = cx.breakers.behind(&cx.host, agent, model, asking).await?;
    agent.hooks().after_model(asked, &answer).await?;
    Ok(answer)
}

fn is_too_long(error: &ModelError) -> bool {
    error.kind == ModelErrorKind::ContextLimit
}

/// Returns the whole answer. No part of it is shown while it comes.
pub(super) async fn answer(
    model: &dyn Model,
    request: ModelRequest,
    came: &Came,
) -> Result<ModelAnswer, ModelError> {
    came.asked();
    let mut stream = model.stream(request).await?;
    while let Some(event) = stream.next().await {
        let event = event?;
        came.hear(&event);
        if let ModelEvent::Finished(answer) = event {
            return Ok(answer);
        }
    }
    let detail = "the stream ended before the summary was finished";
    Err(ModelError::new(ModelErrorKind::Incomplete, detail))
}

fn too_slow(bound: Duration) -> ModelError {
    ModelError::new(ModelErrorKind::Stalled, format!("no summary within {} ms", bound.as_millis()))
}

pub(super) fn text_of(answer: &ModelAnswer) -> String {
    let texts = answer.parts.iter().filter_map(|part| match part {
        AnswerPart::Text(text) => Some(text.as_str()),
        AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
    });
    texts.collect()
}
