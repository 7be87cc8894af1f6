//! The breakers as this process knows them: what it last read and what it wrote.

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

/// The maximum age at which a breaker that was read is still used. It is short, because a call of another process
/// may fail meanwhile.
const BELIEVED: Duration = Duration::from_secs(1);

/// Returns the maximum age under these rules. It is at most half of the time after which a held caller looks again,
/// so that the caller sees a newer breaker then.
fn believed(rules: &BreakerRules) -> Duration {
    BELIEVED.min(rules.open_for() / 2)
}

/// The maximum number of models whose breakers are remembered.
const MODELS_KEPT: usize = 256;

/// A call that probes. It is identified by the `probe_until` that its breaker got when it began.
#[derive(Clone, Copy)]
pub(super) struct Probe(Timestamp);

type Shared = Arc<tokio::sync::Mutex<Known>>;

/// The breakers of the models that this process asks, by their
/// [`Model::circuit`](holdover_core::model::Model::circuit).
#[derive(Default)]
pub(crate) struct Breakers {
    known: Mutex<HashMap<String, Shared>>,
}

/// The last known state of one breaker. The task that holds its lock reads or writes the breaker for this process.
#[derive(Default)]
struct Known {
    read: Option<ReadAt>,
    record: Option<Record>,
}

/// The time at which a breaker was read, by the clocks of this process and of the store.
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

    /// Takes the result of a read or a write. After an error, no record is known, so calls of the model are let
    /// through.
    fn hear(&mut self, asked: ReadAt, heard: Result<Option<Record>, String>, model: &str) {
        let record = heard.unwrap_or_else(|why| {
            tracing::warn!(%why, "the breaker of {model} is not known");
            None
        });
        *self = Self { read: Some(asked), record };
    }

    /// Returns the error for a caller that is held.
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

    /// Lets a call of the model through, or fails with an error that says when to look again. Returns the probe if
    /// the call is one.
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
        // Of all callers that would probe, the one that writes first is the probe.
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
            // The write failed. What another caller may have written still counts.
            known.read(host, model).await;
        }
        match known.breaker().map(|breaker| (breaker, breaker.pass(host.now()))) {
            Some((breaker, Pass::Held(_))) if probes.is_none() => {
                Err(known.refusal(breaker, rules, host.now()))
            }
            Some(_) | None => Ok(probes),
        }
    }

    /// Renews the hold of a probe that is still out, so that the others keep waiting for it.
    pub(super) async fn renew(&self, host: &Host, rules: &BreakerRules, model: &str, probe: Probe) {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        let renew = |before: Option<Breaker>, now| before.map(|breaker| breaker.renewed(probe.0, rules, now));
        known.change(host, model, Missing::Left, Box::new(renew)).await;
    }

    /// Returns true if a call of the model would be let through now, and not as the probe.
    pub(super) async fn is_free(&self, host: &Host, rules: &BreakerRules, model: &str) -> bool {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        known.refresh(host, rules, model).await;
        known.breaker().is_none_or(|breaker| breaker.pass(host.now()) == Pass::Free)
    }

    /// Counts a call that failed because of its provider. Does nothing if the breaker is known to be open, unless the
    /// call is the probe.
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

    /// Removes the breaker, because a call was answered.
    pub(super) async fn alive(&self, host: &Host, model: &str, probe: bool) {
        let shared = self.of(model);
        let mut known = shared.lock().await;
        if probe && known.record.is_none() {
            // The record existed when the probe began, even if a later read failed.
            known.read(host, model).await;
        }
        known.remove(host, model).await;
    }
}
