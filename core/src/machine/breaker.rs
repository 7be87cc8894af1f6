//! The circuit breaker of a model. It decides whether the model may be asked, from the results of earlier calls
//! (requirement U10).
//!
//! All callers of a model share one breaker. After a number of failures in a row the breaker opens, and the model
//! is not asked for a while. Then one caller tries it, the *probe*. If the probe is answered, the breaker closes;
//! otherwise it stays open for longer. This module decides; the runtime keeps the [`Breaker`] where all callers can
//! read it.
//!
//! **Bound:** a held caller sleeps at most [`BreakerRules::open_ms`] longer after the breaker has closed or the probe
//! has died. Two rules ensure this. A held caller looks again after that time at the latest. A probe holds the others
//! only for that time, unless it renews its hold. All looks within one hold count as one attempt of the step
//! ([`ModelError::held_for`]). A caller whose own call failed is not held: it backs off as the
//! [`Retries`](crate::words::agent::Retries) of its agent say.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::agent::BreakerRules;
use crate::words::model::{ModelError, ModelErrorKind};

/// The breaker of a model: the record of its failures. A model without a record is healthy, and its breaker is
/// closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// The model, as [`Model::circuit`](crate::words::model::Model::circuit) names it.
    pub model: String,
    /// The number of failures in a row.
    pub failures: u32,
    /// The instant of the newest failure.
    pub failed_at: Timestamp,
    /// The newest failure, in one line.
    pub error: String,
    /// The number of times that the breaker has opened since it was last closed.
    #[serde(default)]
    pub opened: u32,
    /// The instant before which the model is not asked. `None`: the breaker is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// The instant until which the running probe may renew its hold. It identifies the probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_until: Option<Timestamp>,
}

/// The permission to ask a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The model may be asked.
    Free,
    /// One caller may ask, as the probe. It must first record that it probes.
    Probe,
    /// The model may not be asked before this instant.
    Held(Timestamp),
}

/// The health of a provider, as the result of a call shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// The provider answers, even if it refuses.
    Alive,
    /// The provider fails.
    Failing,
    /// The result does not show the health of the provider.
    Unknown,
}

/// A model call that failed.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// The model, as [`Model::circuit`](crate::words::model::Model::circuit) names it.
    pub model: &'a str,
    /// The error.
    pub error: &'a ModelError,
    /// True if the call was the probe.
    pub probe: bool,
}

/// Returns the health of the provider that this error shows.
pub fn health_of(error: &ModelError) -> Health {
    match error.kind {
        ModelErrorKind::RateLimited
        | ModelErrorKind::Unavailable
        | ModelErrorKind::Provider
        | ModelErrorKind::Network
        | ModelErrorKind::Incomplete
        | ModelErrorKind::Stalled => Health::Failing,
        ModelErrorKind::Malformed
        | ModelErrorKind::CutOff
        | ModelErrorKind::Declined
        | ModelErrorKind::Auth
        | ModelErrorKind::Quota
        | ModelErrorKind::ContextLimit
        | ModelErrorKind::Refused => Health::Alive,
        ModelErrorKind::Configuration
        | ModelErrorKind::Transcript
        | ModelErrorKind::Held
        | ModelErrorKind::Denied
        | ModelErrorKind::CircuitOpen => Health::Unknown,
    }
}

impl Breaker {
    /// Returns the permission to ask the model now.
    pub fn pass(&self, now: Timestamp) -> Pass {
        match self.held_until {
            None => Pass::Free,
            Some(until) if now < until => Pass::Held(until),
            Some(_) => Pass::Probe,
        }
    }

    /// Returns the breaker after a caller began to probe. Other callers are held until the call of the probe ends or
    /// the probe fails to renew its hold in time, but at most for [`BreakerRules::probe_ms`].
    #[must_use]
    pub fn probed(self, rules: &BreakerRules, now: Timestamp) -> Self {
        let until = now.after(Duration::from_millis(rules.probe_ms));
        Self { probe_until: Some(until), ..self }.held_by_probe(rules, now)
    }

    /// Returns the breaker after the probe that `probe` identifies renewed its hold. Changes nothing if another
    /// probe has followed it.
    #[must_use]
    pub fn renewed(self, probe: Timestamp, rules: &BreakerRules, now: Timestamp) -> Self {
        if self.probe_until == Some(probe) { self.held_by_probe(rules, now) } else { self }
    }

    fn held_by_probe(self, rules: &BreakerRules, now: Timestamp) -> Self {
        let until = now.after(rules.open_for());
        Self { held_until: Some(self.probe_until.map_or(until, |end| end.min(until))), ..self }
    }

    /// Returns the breaker after another failure. A failure changes nothing if its call began before the breaker
    /// opened. While the breaker is closed, the count of failures starts again if the failure before it is older than
    /// [`BreakerRules::open_ms_max`].
    #[must_use]
    pub fn failed(before: Option<Self>, failure: Failure<'_>, rules: &BreakerRules, now: Timestamp) -> Self {
        let counted = |failures: u32| Self {
            model: failure.model.to_owned(),
            failures,
            failed_at: now,
            error: failure.error.to_string(),
            opened: 0,
            held_until: None,
            probe_until: None,
        };
        match before {
            Some(open) if open.held_until.is_some() && !failure.probe => open,
            Some(open) if open.held_until.is_some() => {
                let opened = open.opened;
                Self { opened, ..counted(open.failures.saturating_add(1)) }.open(rules, now)
            }
            Some(closed) if closed.failed_at.until(now) <= Duration::from_millis(rules.open_ms_max) => {
                counted(closed.failures.saturating_add(1)).open_at(rules, now)
            }
            Some(_) | None => counted(1).open_at(rules, now),
        }
    }

    fn open_at(self, rules: &BreakerRules, now: Timestamp) -> Self {
        if self.failures >= rules.failures { self.open(rules, now) } else { self }
    }

    fn open(self, rules: &BreakerRules, now: Timestamp) -> Self {
        let wait = rules.open_after(self.opened);
        Self { opened: self.opened.saturating_add(1), held_until: Some(now.after(wait)), ..self }
    }

    /// Returns the error for a caller that is held at `now`, from a breaker that was read at `read_at`. It says why
    /// the model is not asked, when to look again, and how long the hold may last. The next look is at most
    /// [`BreakerRules::open_ms`] after `read_at`, so that a breaker that closes early is noticed in time.
    pub fn refusal(&self, rules: &BreakerRules, read_at: Timestamp, now: Timestamp) -> ModelError {
        let at_least = |wait: Duration| wait.max(Duration::from_millis(1));
        let held_until = self.held_until.unwrap_or(now);
        let look_at = held_until.min(read_at.after(rules.open_for()));
        let held_for = at_least(now.until(self.probe_until.unwrap_or(held_until)));
        let Self { model, failures, error, .. } = self;
        let detail = format!(
            "{model} failed {failures} times in a row, at last: {error}; it is not asked for {} ms",
            held_for.as_millis()
        );
        ModelError {
            retry_after: Some(at_least(now.until(look_at))),
            held_for: Some(held_for),
            ..ModelError::new(ModelErrorKind::CircuitOpen, detail)
        }
    }
}

#[cfg(test)]
mod tests;
