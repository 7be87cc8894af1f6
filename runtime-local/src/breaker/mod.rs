//! Circuit breakers of models, shared by all processes that share a store (requirement U10). Core's
//! [`breaker`](holdover_core::breaker) decides; this module calls models behind it.

mod known;
mod record;

use std::pin::pin;
use std::sync::Arc;

use futures::future::{Either, select};
use holdover_core::agent::BreakerRules;
use holdover_core::breaker::{Health, health_of};
use holdover_core::model::{Model, ModelAnswer, ModelError};
use tokio::time::sleep;

pub(crate) use known::Breakers;
use known::Probe;
pub use record::{BREAKER_QUEUE, BREAKER_TENANT, TOKEN_QUEUE};

use crate::agent::Agent;
use crate::host::Host;

impl Breakers {
    /// Runs `asking`, which asks `model`, behind the breaker that the agent sets, and returns its result. While the
    /// model is held, `asking` does not begin. If the returned future is dropped, the breaker learns nothing.
    pub(crate) async fn behind(
        &self,
        host: &Host,
        agent: &Agent,
        model: &Arc<dyn Model>,
        asking: impl Future<Output = Result<ModelAnswer, ModelError>>,
    ) -> Result<ModelAnswer, ModelError> {
        let Some(rules) = &agent.spec().breaker else { return asking.await };
        let model = model.circuit();
        let probe = self.admit(host, rules, model).await?;
        let answered = match probe {
            Some(probe) => self.while_probing(host, rules, model, probe, asking).await,
            None => asking.await,
        };
        let probe = probe.is_some();
        match answered.as_ref().map_or_else(health_of, |_| Health::Alive) {
            Health::Alive => self.alive(host, model, probe).await,
            Health::Failing => {
                if let Err(error) = &answered {
                    self.failed(host, rules, model, error, probe).await;
                }
            }
            Health::Unknown => {}
        }
        answered
    }

    /// Returns the result of the probe, and renews its hold while it is in flight. A renewal that has begun is
    /// finished: if it were cancelled, other processes could not write the breaker for a while.
    async fn while_probing<T>(
        &self,
        host: &Host,
        rules: &BreakerRules,
        model: &str,
        probe: Probe,
        asking: impl Future<Output = T>,
    ) -> T {
        let mut asking = pin!(asking);
        loop {
            let renewal = sleep(rules.renewal());
            tokio::select! {
                biased;
                answered = &mut asking => return answered,
                () = renewal => {}
            }
            let renewing = pin!(self.renew(host, rules, model, probe));
            if let Either::Left((answered, renewing)) = select(&mut asking, renewing).await {
                renewing.await;
                return answered;
            }
        }
    }

    /// Returns true if the agent has no breaker, or if the breaker would let a call of `model` through that is not
    /// the probe.
    pub(crate) async fn lets_through(&self, host: &Host, agent: &Agent, model: &dyn Model) -> bool {
        match &agent.spec().breaker {
            Some(rules) => self.is_free(host, rules, model.circuit()).await,
            None => true,
        }
    }
}
