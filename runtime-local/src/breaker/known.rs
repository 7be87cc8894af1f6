//! What this process knows of each breaker: what it read last, and what it wrote.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdover_core::breaker::{Breaker, BreakerRules, Failure, Pass};
use holdover_core::model::ModelError;
use tokio::time::Instant;

use super::record::{Change, Missing, Record};
use crate::runtime::Runtime;

/// For how long what was read last is believed: a model call of another process may fail in between.
const BELIEVED: Duration = Duration::from_secs(1);

/// Breakers of so many models are remembered.
const MODELS_KEPT: usize = 256;

type Shared = Arc<tokio::sync::Mutex<Known>>;

/// The breakers of the models that this process asks, by what [`Model::circuit`](holdover_core::model::Model::circuit) says.
#[derive(Default)]
pub(crate) struct Breakers {
    known: Mutex<HashMap<String, Shared>>,
}

/// What is known of one breaker. Who holds it is the one of this process that reads or writes it.
#[derive(Default)]
struct Known {
    read_at: Option<Instant>,
    record: Option<Record>,
}

impl Known {
    fn breaker(&self) -> Option<&Breaker> {
        self.record.as_ref().map(|record| &record.breaker)
    }

    async fn refresh(&mut self, runtime: &Runtime, model: &str) {
        if self.read_at.is_none_or(|at| at.elapsed() >= BELIEVED) {
            self.hear(Record::read(runtime, model).await, model);
        }
    }

    async fn change(&mut self, runtime: &Runtime, model: &str, missing: Missing, change: Change<'_>) {
        self.hear(Record::change(runtime, model, missing, change).await, model);
    }

    /// A store that does not answer says nothing of the model.
    fn hear(&mut self, heard: Result<Option<Record>, String>, model: &str) {
        match heard {
            Ok(record) => *self = Self { read_at: Some(Instant::now()), record },
            Err(why) => {
                tracing::warn!(%why, "the breaker of {model} is not known");
                *self = Self { read_at: Some(Instant::now()), record: None };
            }
        }
    }
}

impl Breakers {
    fn of(&self, model: &str) -> Shared {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MODELS_KEPT && !known.contains_key(model) {
            known.clear();
        }
        Arc::clone(known.entry(model.to_owned()).or_default())
    }

    /// Lets a call of the model through, and says whether it is the probe, or says when to come back.
    pub(super) async fn admit(
        &self,
        runtime: &Runtime,
        rules: &BreakerRules,
        model: &str,
    ) -> Result<bool, ModelError> {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        known.refresh(runtime, model).await;
        let Some(breaker) = known.breaker() else { return Ok(false) };
        match breaker.pass(runtime.now()) {
            Pass::Free => return Ok(false),
            Pass::Held(until) => return Err(breaker.refusal(until, runtime.now())),
            Pass::Probe => {}
        }
        // Of all who would probe, one writes it down first.
        let mut probes = false;
        let take = |before: Option<Breaker>, now| {
            let breaker = before?;
            probes = breaker.pass(now) == Pass::Probe;
            Some(if probes { breaker.probed(rules, now) } else { breaker })
        };
        known.change(runtime, model, Missing::Left, Box::new(take)).await;
        if known.record.is_none() {
            // Who could not write it for all the others has still to heed what they wrote.
            known.hear(Record::read(runtime, model).await, model);
        }
        match known.breaker().map(|breaker| (breaker, breaker.pass(runtime.now()))) {
            Some((breaker, Pass::Held(until))) if !probes => Err(breaker.refusal(until, runtime.now())),
            Some(_) | None => Ok(probes),
        }
    }

    /// Whether a call of the model would be let through, and not as the probe.
    pub(super) async fn is_free(&self, runtime: &Runtime, model: &str) -> bool {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        known.refresh(runtime, model).await;
        known.breaker().is_none_or(|breaker| breaker.pass(runtime.now()) == Pass::Free)
    }

    /// A call failed as one does whose provider fails.
    pub(super) async fn failed(
        &self,
        runtime: &Runtime,
        rules: &BreakerRules,
        model: &str,
        error: &ModelError,
        probe: bool,
    ) {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        let failure = Failure { model, error, probe };
        let is_open = known.breaker().is_some_and(|breaker| breaker.held_until.is_some());
        if probe || !is_open {
            let count = |before, now| Some(Breaker::failed(before, failure, rules, now));
            known.change(runtime, model, Missing::Made, Box::new(count)).await;
        }
    }

    /// A call was answered.
    pub(super) async fn alive(&self, runtime: &Runtime, model: &str, probe: bool) {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        if probe && known.record.is_none() {
            // It was there when the probe began, whatever could not be read since.
            known.hear(Record::read(runtime, model).await, model);
        }
        if let Some(record) = known.record.take() {
            known.hear(record.remove(runtime).await.map(|()| None), model);
        }
    }
}
