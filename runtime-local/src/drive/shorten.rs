//! Summarises old results in the background, with the program's own summariser, a model for summaries, or the agent's
//! model.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use holdover_core::compaction::{self, ResultSummariser};
use holdover_core::engine::{ActionId, Reply, Shortened, ShortenedInVain, Shown};
use holdover_core::hook::ModelAsked;
use holdover_core::ids::{MessageSeq, SessionKey, StepNumber};
use holdover_core::message::{Message, ToolResult};
use holdover_core::model::{Model, PartialUse, StopReason, TokenUsage};
use tokio::time::timeout;

use super::Driver;
use super::came::Came;
use super::done::Done;
use super::model::apart;
use super::summary::{answer, text_of};
use super::transcript::Unread;
use crate::agent::{Agent, Summariser};
use crate::guard::{Panicked, guarded};

/// The time limit for the summary of one result.
const BOUND: Duration = Duration::from_millis(compaction::IN_SHORT_MS_MAX);

impl Driver {
    pub(super) fn shorten(
        &mut self,
        id: ActionId,
        step: StepNumber,
        model: u32,
        places: Vec<MessageSeq>,
        shown: Shown,
    ) {
        let reply = move |made, in_vain| Done::Reply(Reply::Shortened { id, made, in_vain });
        let Some(agent) = self.agent.clone() else {
            self.send(async move { reply(Vec::new(), Vec::new()) });
            return;
        };
        let (cx, key) = (self.cx.clone(), self.fence.key.clone());
        let (model, summariser) = match agent.summariser().cloned() {
            Some(Summariser::Own(own)) => (Arc::clone(agent.model(model)), Some(own)),
            Some(Summariser::Model(model)) => (model, None),
            None => (Arc::clone(agent.model(model)), None),
        };
        let (transcript, reading) = (self.transcript.clone(), self.reading());
        self.send(async move {
            // A summary is given up soon, which says nothing about the model. So the call must not be the probe of
            // a breaker.
            if summariser.is_none() && !cx.breakers.lets_through(&cx.host, &agent, &*model).await {
                return reply(Vec::new(), Vec::new());
            }
            let messages = match transcript.of(&shown, &reading).await {
                Ok(messages) => messages,
                Err(Unread::LeaseEnded) => return Done::LeaseLost,
                Err(Unread::Broken(_)) => return reply(Vec::new(), Vec::new()),
            };
            let asking = compaction::to_summarise(&messages, &places).into_iter().map(|(of, result)| {
                let (agent, key, model) = (Arc::clone(&agent), key.clone(), Arc::clone(&model));
                let summariser = summariser.clone();
                async move {
                    let (tool, came) = (result.tool.clone(), Came::new(false));
                    let shown = compaction::tokens_of(&Message::Tool(result.clone()));
                    let made = async {
                        match summariser {
                            Some(own) => by_own(own, key, result).await,
                            None => by_model(agent, key, step, model, result, came.clone()).await,
                        }
                    };
                    let made = timeout(BOUND, made).await;
                    let made = made.unwrap_or_else(|_| Err(InVain::too_slow(&came)));
                    made.map(|(text, stop, usage)| Shortened { of, text, stop, usage }).map_err(|in_vain| {
                        let InVain { why, used } = in_vain;
                        tracing::debug!(tool, message = %of, why, "no summary of an old result");
                        used.map(|used| ShortenedInVain { used, shown })
                    })
                }
            });
            let asked = futures::stream::iter(asking).buffered(compaction::IN_SHORT_AT_ONCE);
            let (mut made, mut in_vain) = (Vec::new(), Vec::new());
            for short in asked.collect::<Vec<_>>().await {
                match short {
                    Ok(short) => made.push(short),
                    Err(used) => in_vain.extend(used),
                }
            }
            reply(made, in_vain)
        });
    }
}

/// The reason why there is no summary, and the usage of the model call, if the model was asked.
struct InVain {
    why: String,
    used: Option<PartialUse>,
}

impl InVain {
    fn unasked(why: impl ToString) -> Self {
        Self { why: why.to_string(), used: None }
    }

    /// Creates the reason for a summary that took too long. The usage counts, because the model has read the request.
    fn too_slow(came: &Came) -> Self {
        Self { why: format!("none within {} ms", BOUND.as_millis()), used: came.take().1 }
    }
}

/// The text of a summary, the reason why its author stopped, and the tokens that it used.
type Made = (String, StopReason, TokenUsage);

async fn by_own(
    summariser: Arc<dyn ResultSummariser>,
    key: SessionKey,
    result: ToolResult,
) -> Result<Made, InVain> {
    let asked = guarded(async move { summariser.summarise(&key, &result).await });
    let panicked = |panicked: Panicked| InVain::unasked(format!("it panicked: {}", panicked.0));
    let text = asked.await.map_err(panicked)?.map_err(InVain::unasked)?;
    Ok((text, StopReason::EndTurn, TokenUsage::default()))
}

async fn by_model(
    agent: Arc<Agent>,
    key: SessionKey,
    step: StepNumber,
    model: Arc<dyn Model>,
    result: ToolResult,
    came: Came,
) -> Result<Made, InVain> {
    let tool = result.tool.clone();
    let asked = ModelAsked { session: key, step, attempt: 0, summary: true };
    let request = compaction::request_for(&asked.session, &result, &agent.spec().compaction, step.0);
    // Content that a hook keeps from the model must not reach it here either.
    let request = agent.hooks().before_model(&asked, request).await.map_err(InVain::unasked)?;
    let listens = came.clone();
    let made = apart(async move { answer(&*model, request, &listens).await }).await.map_err(|error| {
        let error = came.broke_off(error);
        InVain { why: error.to_string(), used: error.used }
    })?;
    let seen = agent.hooks().after_model(&asked, &made).await;
    seen.map_err(|error| InVain { why: error.to_string(), used: came.take().1 })?;
    if !made.stop.is_whole() {
        tracing::debug!(tool, stop = ?made.stop, "the summary of an old result is refused or cut off");
    }
    Ok((text_of(&made), made.stop, made.usage))
}
