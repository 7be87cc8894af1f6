//! Circuit breakers of models, shared by all processes that share a store (requirement U10). Core's
//! [`breaker`](holdover_core::breaker) decides; here a model is asked behind it.

mod known;
mod record;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::unfold;
use holdover_core::breaker::{BreakerRules, Health, health_of};
use holdover_core::model::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream};

pub(crate) use known::Breakers;
pub use record::BREAKER_TENANT;

use crate::agent::Agent;
use crate::runtime::Runtime;

impl Runtime {
    /// `model`, behind the breaker that the agent sets.
    pub(crate) fn behind_breaker(&self, agent: &Agent, model: &Arc<dyn Model>) -> Arc<dyn Model> {
        match &agent.spec().breaker {
            Some(rules) => {
                let (runtime, rules, model) = (self.clone(), rules.clone(), Arc::clone(model));
                Arc::new(BehindBreaker { runtime, rules, model })
            }
            None => Arc::clone(model),
        }
    }
}

/// A model that is asked only while its breaker lets it, and whose breaker hears how it answers.
struct BehindBreaker {
    runtime: Runtime,
    rules: BreakerRules,
    model: Arc<dyn Model>,
}

#[async_trait]
impl Model for BehindBreaker {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn stall_timeout(&self) -> Option<Duration> {
        self.model.stall_timeout()
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let breakers = self.runtime.breakers();
        let probe = breakers.admit(&self.runtime, &self.rules, self.model.name()).await?;
        let teller = Teller {
            runtime: self.runtime.clone(),
            rules: self.rules.clone(),
            model: self.model.name().to_owned(),
            probe,
        };
        match self.model.stream(request).await {
            Ok(stream) => Ok(told(stream, teller)),
            Err(error) => {
                teller.tell(&Err(error.clone())).await;
                Err(error)
            }
        }
    }
}

/// The same stream; its end is told first.
fn told(stream: ModelStream, teller: Teller) -> ModelStream {
    let events = unfold((stream, Some(teller)), |(mut stream, mut teller)| async move {
        let event = stream.next().await;
        let end = match &event {
            Some(Ok(ModelEvent::Finished(_))) => Some(Ok(())),
            Some(Err(error)) => Some(Err(error.clone())),
            None => Some(Err(ModelError::new(ModelErrorKind::Incomplete, "the stream ended early"))),
            Some(Ok(
                ModelEvent::Text(_)
                | ModelEvent::Reasoning(_)
                | ModelEvent::CallStarted { .. }
                | ModelEvent::CallWritten { .. }
                | ModelEvent::Progress,
            )) => None,
        };
        if let Some(end) = end
            && let Some(teller) = teller.take()
        {
            teller.tell(&end).await;
        }
        event.map(|event| (event, (stream, teller)))
    });
    events.boxed()
}

/// Tells how one call of a model ended.
struct Teller {
    runtime: Runtime,
    rules: BreakerRules,
    model: String,
    probe: bool,
}

impl Teller {
    async fn tell(&self, end: &Result<(), ModelError>) {
        let breakers = self.runtime.breakers();
        match end {
            Ok(()) => breakers.alive(&self.runtime, &self.model).await,
            Err(error) => match health_of(error) {
                Health::Alive => breakers.alive(&self.runtime, &self.model).await,
                Health::Failing => {
                    breakers.failed(&self.runtime, &self.rules, &self.model, error, self.probe).await;
                }
                Health::Unknown => {}
            },
        }
    }
}
