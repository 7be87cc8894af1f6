//! What this process knows of each breaker: what it last read and what it wrote.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdover_core::agent::BreakerRules;
use holdover_core::breaker::{Breaker, Failure, Pass};
use holdover_core::model::ModelError;
use holdover_core::time::Timestamp;
use tokio::time::Instant;

use super::record::{Change, Missing, Record};
use crate::host::Host;

/// The maximum age at which a read breaker is still used, because a call of another process may fail
/// meanwhile.
const BELIEVED: Duration = Duration::from_secs(1);

/// No longer than half of the time after which whoever is held looks again, so that each look has something to learn.
fn believed(rules: &BreakerRules) -> Duration {
    BELIEVED.min(rules.open_for() / 2)
}

/// The maximum number of models whose breakers are remembered.
const MODELS_KEPT: usize = 256;

/// A call that probes, by the instant by which its breaker knows it.
#[derive(Clone, Copy)]
pub(super) struct Probe(Timestamp);

type Shared = Arc<tokio::sync::Mutex<Known>>;

/// The breakers of the models that this process asks, by their
/// [`Model::circuit`](holdover_core::model::Model::circuit).
#[derive(Default)]
pub(crate) struct Breakers {
    known: Mutex<HashMap<String, Shared>>,
}

/// What is known of one breaker. Who holds it is the one of this process that reads or writes it.
#[derive(Default)]
struct Known {
    read: Option<ReadAt>,
    record: Option<Record>,
}

/// When a breaker was read.
#[derive(Clone, Copy)]
struct ReadAt {
    here: Instant,
    by_store: Timestamp,
}

impl Known {
    fn breaker(&self) -> Option<&Breaker> {
        self.record.as_ref().map(|record| &record.breaker)
    }

    async fn refresh(&mut self, host: &Host, rules: &BreakerRules, model: &str) {
        if self.read.is_none_or(|at| at.here.elapsed() >= believed(rules)) {
            self.read(host, model).await;
        }
    }

    async fn read(&mut self, host: &Host, model: &str) {
        let asked = ReadAt { here: Instant::now(), by_store: host.now() };
        self.hear(asked, Record::read(host, model).await, model);
    }

    async fn change(&mut self, host: &Host, model: &str, missing: Missing, change: Change<'_>) {
        let asked = ReadAt { here: Instant::now(), by_store: host.now() };
        self.hear(asked, Record::change(host, model, missing, change).await, model);
    }

    async fn remove(&mut self, host: &Host, model: &str) {
        let asked = ReadAt { here: Instant::now(), by_store: host.now() };
        if let Some(record) = self.record.take() {
            self.hear(asked, record.remove(host).await.map(|()| None), model);
        }
    }

    /// A store that does not answer says nothing of the model.
    fn hear(&mut self, asked: ReadAt, heard: Result<Option<Record>, String>, model: &str) {
        let record = heard.unwrap_or_else(|why| {
            tracing::warn!(%why, "the breaker of {model} is not known");
            None
        });
        *self = Self { read: Some(asked), record };
    }

    /// What whoever is held is told.
    fn refusal(&self, breaker: &Breaker, rules: &BreakerRules, now: Timestamp) -> ModelError {
        breaker.refusal(rules, self.read.map_or(now, |at| at.by_store), now)
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

    /// Lets a call of the model through, and says by what it is known if it is the probe, or says when to look again.
    pub(super) async fn admit(
        &self,
        host: &Host,
        rules: &BreakerRules,
        model: &str,
    ) -> Result<Option<Probe>, ModelError> {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        known.refresh(host, rules, model).await;
        let Some(breaker) = known.breaker() else { return Ok(None) };
        match breaker.pass(host.now()) {
            Pass::Free => return Ok(None),
            Pass::Held(_) => return Err(known.refusal(breaker, rules, host.now())),
            Pass::Probe => {}
        }
        // Of all who would probe, one writes it down first.
        let mut probes = None;
        let take = |before: Option<Breaker>, now| {
            let breaker = before?;
            if breaker.pass(now) != Pass::Probe {
                return Some(breaker);
            }
            let probed = breaker.probed(rules, now);
            probes = probed.probe_until.map(Probe);
            Some(probed)
        };
        known.change(host, model, Missing::Left, Box::new(take)).await;
        if known.record.is_none() {
            // Who could not write it for all the others has still to heed what they wrote.
            known.read(host, model).await;
        }
        match known.breaker().map(|breaker| (breaker, breaker.pass(host.now()))) {
            Some((breaker, Pass::Held(_))) if probes.is_none() => {
                Err(known.refusal(breaker, rules, host.now()))
            }
            Some(_) | None => Ok(probes),
        }
    }

    /// The probe is still out: whoever is held waits for it.
    pub(super) async fn renew(&self, host: &Host, rules: &BreakerRules, model: &str, probe: Probe) {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        let renew = |before: Option<Breaker>, now| before.map(|breaker| breaker.renewed(probe.0, rules, now));
        known.change(host, model, Missing::Left, Box::new(renew)).await;
    }

    /// Whether a call of the model would be let through, and not as the probe.
    pub(super) async fn is_free(&self, host: &Host, rules: &BreakerRules, model: &str) -> bool {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        known.refresh(host, rules, model).await;
        known.breaker().is_none_or(|breaker| breaker.pass(host.now()) == Pass::Free)
    }

    /// A call failed as one does whose provider fails.
    pub(super) async fn failed(
        &self,
        host: &Host,
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
            known.change(host, model, Missing::Made, Box::new(count)).await;
        }
    }

    /// A call was answered.
    pub(super) async fn alive(&self, host: &Host, model: &str, probe: bool) {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        if probe && known.record.is_none() {
            // It was there when the probe began, whatever could not be read since.
            known.read(host, model).await;
        }
        known.remove(host, model).await;
    }
}
