//! The circuit breaker of a model: whether it is asked at all, decided from what befell all who asked it before
//! (requirement U10).
//!
//! Whoever asks a model and finds that its provider fails tells the others: after so many failures in a row the breaker
//! opens, and nobody asks for a while. Then one of them tries, the *probe*. If it is answered the breaker is closed, else
//! it stays open for longer. Here is what is decided; the runtime keeps the [`Breaker`] where all can see it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::machine::retry::WAIT_MAX;
use crate::model::{ModelError, ModelErrorKind};
use crate::time::Timestamp;

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerRules {
    /// So many failures in a row open it. Each comes before [`open_ms_max`](Self::open_ms_max) after the one before, else
    /// the count begins anew.
    pub failures: u32,
    /// How long it is open the first time, in milliseconds. Doubled by each probe that fails.
    pub open_ms: u64,
    /// The longest that it is open before somebody tries again, in milliseconds.
    pub open_ms_max: u64,
    /// How long the others wait for a probe, in milliseconds. Then it counts as dead, and the next may try.
    pub probe_ms: u64,
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self { failures: 5, open_ms: 30_000, open_ms_max: 300_000, probe_ms: 60_000 }
    }
}

impl BreakerRules {
    /// What is wrong with them: the field of an agent, and why.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let times = [
            ("breaker.open_ms", self.open_ms),
            ("breaker.open_ms_max", self.open_ms_max),
            ("breaker.probe_ms", self.probe_ms),
        ];
        let too_long = times.into_iter().find(|(_, ms)| Duration::from_millis(*ms) > WAIT_MAX);
        let zero = times
            .into_iter()
            .chain([("breaker.failures", self.failures.into())])
            .find(|(_, number)| *number == 0);
        match (zero, too_long) {
            (Some((field, _)), _) => Some((field, "is zero".to_owned())),
            (None, Some((field, ms))) => Some((field, format!("is {ms} ms, longer than a day"))),
            (None, None) if self.open_ms > self.open_ms_max => {
                let why = format!("is {}, less than open_ms, {}", self.open_ms_max, self.open_ms);
                Some(("breaker.open_ms_max", why))
            }
            (None, None) => None,
        }
    }
}

/// What is known of the failures of a model. None is known of one that was answered last: its breaker is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// The model, as [`Model::circuit`](crate::model::Model::circuit) says it.
    pub model: String,
    /// How many failures in a row were counted.
    pub failures: u32,
    /// When the newest was counted.
    pub failed_at: Timestamp,
    /// What it was, in one line.
    pub error: String,
    /// How often it opened since it was closed.
    #[serde(default)]
    pub opened: u32,
    /// Nobody asks before. None: it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
}

/// Whether a model may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// It may.
    Free,
    /// One may, as a probe, who says so to the others first.
    Probe,
    /// Not before this instant.
    Held(Timestamp),
}

/// What an answer says of the provider that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answers, if only to refuse.
    Alive,
    /// It fails.
    Failing,
    /// Nothing: it was not asked.
    Unknown,
}

/// A model call that failed.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// Of which model, as [`Model::circuit`](crate::model::Model::circuit) says it.
    pub model: &'a str,
    /// How.
    pub error: &'a ModelError,
    /// Whether it was the probe.
    pub probe: bool,
}

/// What an error says of the provider.
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
    /// Whether its model may be asked.
    pub fn pass(&self, now: Timestamp) -> Pass {
        match self.held_until {
            None => Pass::Free,
            Some(until) if now < until => Pass::Held(until),
            Some(_) => Pass::Probe,
        }
    }

    /// While somebody probes, the others are held.
    #[must_use]
    pub fn probed(self, rules: &BreakerRules, now: Timestamp) -> Self {
        Self { held_until: Some(now.after(Duration::from_millis(rules.probe_ms))), ..self }
    }

    /// What is known after another failure. One of somebody who was let through before the breaker opened tells nothing
    /// new.
    #[must_use]
    pub fn failed(before: Option<Self>, failure: Failure<'_>, rules: &BreakerRules, now: Timestamp) -> Self {
        let counted = |failures: u32| Self {
            model: failure.model.to_owned(),
            failures,
            failed_at: now,
            error: failure.error.to_string(),
            opened: 0,
            held_until: None,
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
        let doubled =
            1_u64.checked_shl(self.opened).map_or(u64::MAX, |times| rules.open_ms.saturating_mul(times));
        let wait = Duration::from_millis(doubled.min(rules.open_ms_max));
        Self { opened: self.opened.saturating_add(1), held_until: Some(now.after(wait)), ..self }
    }

    /// What whoever is held is told: when it may be tried again, and why.
    pub fn refusal(&self, until: Timestamp, now: Timestamp) -> ModelError {
        let wait = now.until(until).max(Duration::from_millis(1));
        let Self { model, failures, error, .. } = self;
        let detail = format!(
            "{model} failed {failures} times in a row, at last: {error}; it is not asked for {} ms",
            wait.as_millis()
        );
        ModelError { retry_after: Some(wait), ..ModelError::new(ModelErrorKind::CircuitOpen, detail) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_ms(seconds * 1_000)
    }

    fn fails(before: Option<Breaker>, seconds: i64, probe: bool) -> Breaker {
        let error = ModelError::new(ModelErrorKind::Provider, "overloaded");
        let failure = Failure { model: "openai:m", error: &error, probe };
        Breaker::failed(before, failure, &BreakerRules::default(), at(seconds))
    }

    fn opened_at(seconds: i64) -> Breaker {
        let mut breaker = None;
        for _ in 0..5 {
            breaker = Some(fails(breaker, seconds, false));
        }
        breaker.expect("five failures")
    }

    #[test]
    fn u10_five_failures_in_a_row_open_it_and_nobody_passes_until_a_probe_may() {
        let mut breaker = None;
        for second in 1..=4 {
            breaker = Some(fails(breaker, second, false));
            assert_eq!(breaker.as_ref().map(|breaker| breaker.pass(at(second))), Some(Pass::Free));
        }
        let breaker = fails(breaker, 5, false);
        assert_eq!(breaker.pass(at(5)), Pass::Held(at(35)));
        assert_eq!(breaker.pass(at(34)), Pass::Held(at(35)));
        assert_eq!(breaker.pass(at(35)), Pass::Probe);
        let refusal = breaker.refusal(at(35), at(5));
        assert_eq!(
            (refusal.kind, refusal.retry_after),
            (ModelErrorKind::CircuitOpen, Some(Duration::from_secs(30)))
        );
        assert_eq!(
            refusal.detail,
            "openai:m failed 5 times in a row, at last: model: provider: overloaded; it is not asked for 30000 ms"
        );
    }

    #[test]
    fn u10_one_probes_while_the_others_are_held_and_a_dead_probe_is_followed_by_another() {
        let probing = opened_at(0).probed(&BreakerRules::default(), at(30));
        assert_eq!(probing.pass(at(30)), Pass::Held(at(90)));
        assert_eq!(probing.pass(at(90)), Pass::Probe);
    }

    #[test]
    fn u10_each_failed_probe_holds_for_twice_as_long_up_to_the_most() {
        let mut breaker = opened_at(0);
        let mut waits = Vec::new();
        for _ in 0..80 {
            breaker = fails(Some(breaker), 1_000, true);
            waits.push(breaker.held_until.map(|until| at(1_000).until(until).as_secs()));
        }
        assert_eq!(waits[..4], [Some(60), Some(120), Some(240), Some(300)]);
        assert!(waits[4..].iter().all(|wait| *wait == Some(300)), "{waits:?}");
    }

    #[test]
    fn u10_who_was_let_through_before_it_opened_tells_nothing_new() {
        let breaker = opened_at(0);
        assert_eq!(fails(Some(breaker.clone()), 20, false), breaker);
    }

    #[test]
    fn u10_failures_far_apart_are_not_in_a_row() {
        let mut breaker = None;
        for failure in 0..20 {
            breaker = Some(fails(breaker, failure * 301, false));
        }
        assert_eq!(breaker.map(|breaker| (breaker.failures, breaker.held_until)), Some((1, None)));
    }

    #[test]
    fn rules_that_cannot_be_meant_are_named() {
        let rules = BreakerRules::default;
        for (rules, field) in [
            (BreakerRules { failures: 0, ..rules() }, "breaker.failures"),
            (BreakerRules { open_ms: 0, ..rules() }, "breaker.open_ms"),
            (BreakerRules { probe_ms: 0, ..rules() }, "breaker.probe_ms"),
            (BreakerRules { open_ms: 300_001, ..rules() }, "breaker.open_ms_max"),
            (BreakerRules { open_ms_max: 86_400_001, ..rules() }, "breaker.open_ms_max"),
        ] {
            assert_eq!(rules.fault().map(|(field, _)| field), Some(field));
        }
        assert_eq!(rules().fault(), None);
    }
}
