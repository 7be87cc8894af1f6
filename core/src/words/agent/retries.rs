//! Rules for retries of failed model calls, of tool calls that could not be run or gave no result, and of surroundings
//! that could not be prepared, and for the circuit that stops a turn (requirements B34, B39, C49, C53, D10).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::words::error::ErrorInfo;
use crate::words::model::{ModelError, ModelErrorKind};

/// The maximum number of waits in a list of [`Retries`].
pub(crate) const RETRIES_MAX: usize = 100;

/// The longest wait for which a run stays active and sleeps. A longer wait suspends the session.
pub(crate) const SLEEP_MAX: Duration = Duration::from_secs(1);

/// The longest wait before a retry. A longer wait that a provider or a tool asks for is shortened to this. An
/// agent may not set a longer wait.
pub const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest wait before surroundings are prepared again. The run holds the session meanwhile.
pub const PROVISION_WAIT_MAX: Duration = Duration::from_secs(10);

/// The maximum number of retries of one provisioner in a turn.
pub const PROVISION_RETRIES_MAX: usize = 10;

/// The retries of an agent, as lists of waits. A list has one wait for each retry, in order; its length is
/// the maximum number of retries. If a provider or a tool asks for a wait, that wait replaces the one in the
/// list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Retries {
    /// The waits before each retry of a model call in the same step, in milliseconds. They apply anew to each
    /// fallback model.
    pub model_waits_ms: Vec<u64>,
    /// The waits after a certain kind of model error, in milliseconds. A kind with a list is retried even if
    /// it is not retried by default. A kind with an empty list is never retried.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub model_waits_by_kind_ms: BTreeMap<ModelErrorKind, Vec<u64>>,
    /// The waits before each retry of a tool call that could not be run or gave no result, in milliseconds.
    pub tool_waits_ms: Vec<u64>,
    /// The waits before each retry of a [provisioner](crate::words::provision::Provisioner) that failed with a transient
    /// error, in milliseconds. They apply anew to each of its fallbacks. The run holds the session while it waits, so each
    /// wait is at most [`PROVISION_WAIT_MAX`], and there are at most [`PROVISION_RETRIES_MAX`]. A stop ends the wait.
    #[serde(skip_serializing_if = "is_usual_for_provisioning")]
    pub provision_waits_ms: Vec<u64>,
    /// The number of calls in a row without a result after which the circuit of the turn opens: calls that could
    /// not be run, or whose outcome was lost. A successful call resets the count. Zero means that the circuit never
    /// opens.
    pub broken_calls_max: u32,
    /// The consequence of an open circuit.
    pub on_trip: OnTrip,
}

setters! { Retries {
    model_waits_ms: Vec<u64>,
    model_waits_by_kind_ms: BTreeMap<ModelErrorKind, Vec<u64>>,
    tool_waits_ms: Vec<u64>,
    provision_waits_ms: Vec<u64>,
    broken_calls_max: u32,
    on_trip: OnTrip,
} }

/// The default of [`Retries::provision_waits_ms`].
const PROVISION_WAITS_MS: [u64; 2] = [2_000, 4_000];

fn is_usual_for_provisioning(waits: &[u64]) -> bool {
    waits == PROVISION_WAITS_MS
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            model_waits_ms: vec![5_000, 10_000, 20_000, 40_000, 60_000],
            model_waits_by_kind_ms: BTreeMap::new(),
            tool_waits_ms: vec![2_000, 4_000],
            provision_waits_ms: PROVISION_WAITS_MS.to_vec(),
            broken_calls_max: 3,
            on_trip: OnTrip::Fail,
        }
    }
}

/// The consequence of an open circuit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTrip {
    /// The turn fails with `engine.circuit_open`. Running calls may return first, but nothing new starts.
    #[default]
    Fail,
    /// An event reports the open circuit, and the turn continues.
    Observe,
}

impl Retries {
    /// Returns settings without retries, in which the circuit never opens.
    pub fn none() -> Self {
        Self {
            model_waits_ms: Vec::new(),
            model_waits_by_kind_ms: BTreeMap::new(),
            tool_waits_ms: Vec::new(),
            provision_waits_ms: Vec::new(),
            broken_calls_max: 0,
            on_trip: OnTrip::Fail,
        }
    }

    /// Returns the wait before the next try, after attempt number `attempt` (from 0) failed with `error`.
    /// `None` means that there is no further try.
    pub fn after_model(&self, error: &ModelError, attempt: u32) -> Option<Duration> {
        let waits = match self.model_waits_by_kind_ms.get(&error.kind) {
            Some(own) => own,
            None if error.kind.is_retryable() => &self.model_waits_ms,
            None => return None,
        };
        wait(waits, attempt, error.retry_after)
    }

    /// Returns the wait before a tool call that could not be run or gave no result is sent again. `tries` is the
    /// number of earlier failures; `asked` is the wait that the tool asked for. `None` means that there is no
    /// further try.
    pub(crate) fn after_call(&self, tries: u32, asked: Option<Duration>) -> Option<Duration> {
        wait(&self.tool_waits_ms, tries, asked)
    }

    /// Returns the wait before a provisioner is asked again after its attempt number `attempt` (from 0) failed with a
    /// transient error. `None` means that there is no further try.
    pub fn after_provisioning(&self, attempt: u32) -> Option<Duration> {
        wait(&self.provision_waits_ms, attempt, None)
    }

    /// Returns an error text about the first list that is too long or contains too long a wait.
    pub fn fault(&self) -> Option<String> {
        let held = &self.provision_waits_ms;
        if held.len() > PROVISION_RETRIES_MAX {
            let found = held.len();
            return Some(format!(
                "provision_waits_ms: has {found} waits, at most {PROVISION_RETRIES_MAX} are allowed"
            ));
        }
        if let Some(wait) = held.iter().find(|wait| Duration::from_millis(**wait) > PROVISION_WAIT_MAX) {
            return Some(format!("provision_waits_ms: a wait of {wait} ms is longer than 10 s"));
        }
        let by_kind = self.model_waits_by_kind_ms.iter();
        let lists = [("model_waits_ms", &self.model_waits_ms), ("tool_waits_ms", &self.tool_waits_ms)];
        let by_kind = by_kind.map(|(kind, waits)| (kind.as_str(), waits));
        lists.into_iter().chain(by_kind).find_map(|(name, waits)| {
            let too_long = waits.iter().find(|wait| Duration::from_millis(**wait) > WAIT_MAX);
            match too_long {
                _ if waits.len() > RETRIES_MAX => {
                    Some(format!("{name}: has {} waits, at most {RETRIES_MAX} are allowed", waits.len()))
                }
                Some(wait) => Some(format!("{name}: a wait of {wait} ms is longer than a day")),
                None => None,
            }
        })
    }
}

/// Returns the wait after attempt number `attempt` (from 0), at most [`WAIT_MAX`], or `None` if no retry is left. A
/// requested wait of zero is ignored, because it would use up all tries at once.
fn wait(waits: &[u64], attempt: u32, asked: Option<Duration>) -> Option<Duration> {
    let scheduled = *waits.get(usize::try_from(attempt).ok()?)?;
    let asked = asked.filter(|asked| !asked.is_zero());
    Some(asked.unwrap_or(Duration::from_millis(scheduled)).min(WAIT_MAX))
}

/// Returns the error of a turn whose circuit opened.
pub(crate) fn circuit_open(broken: u32) -> ErrorInfo {
    let detail = format!("{broken} calls in a row could not be run");
    ErrorInfo::new("engine.circuit_open", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits_of(retries: &Retries, error: &ModelError) -> Vec<u64> {
        let wait = |attempt| retries.after_model(error, attempt).map(|wait| wait.as_secs());
        (0..200).map_while(wait).collect()
    }

    #[test]
    fn b34_waits_grow_to_a_minute_and_end_after_the_fifth() {
        let error = ModelError::new(ModelErrorKind::Provider, "");
        assert_eq!(waits_of(&Retries::default(), &error), [5, 10, 20, 40, 60]);
        assert!(waits_of(&Retries::none(), &error).is_empty());
    }

    #[test]
    fn b39_what_the_provider_asks_for_wins_also_when_it_is_shorter_but_not_over_the_end() {
        let mut error = ModelError::new(ModelErrorKind::RateLimited, "slow down");
        for (asked, waits) in [
            (Duration::from_secs(1), [1, 1, 1, 1, 1]),
            (Duration::from_secs(90), [90, 90, 90, 90, 90]),
            (Duration::MAX, [WAIT_MAX.as_secs(); 5]),
            // A requested wait of zero counts as no request.
            (Duration::ZERO, [5, 10, 20, 40, 60]),
        ] {
            error.retry_after = Some(asked);
            assert_eq!(waits_of(&Retries::default(), &error), waits);
        }
    }

    #[test]
    fn d10_each_kind_of_error_can_have_waits_of_its_own() {
        let mut retries = Retries::default();
        retries.model_waits_by_kind_ms.insert(ModelErrorKind::RateLimited, vec![60_000, 60_000]);
        retries.model_waits_by_kind_ms.insert(ModelErrorKind::Quota, vec![3_600_000]);
        retries.model_waits_by_kind_ms.insert(ModelErrorKind::Malformed, vec![]);
        let waits = |kind| waits_of(&retries, &ModelError::new(kind, ""));
        assert_eq!(waits(ModelErrorKind::RateLimited), [60, 60]);
        assert_eq!(waits(ModelErrorKind::Quota), [3_600]);
        assert!(waits(ModelErrorKind::Malformed).is_empty());
        assert_eq!(waits(ModelErrorKind::Network), [5, 10, 20, 40, 60]);
        assert!(waits(ModelErrorKind::Auth).is_empty());
    }

    #[test]
    fn c49_a_call_is_tried_three_times_and_may_ask_for_a_wait_of_its_own() {
        let retries = Retries::default();
        let seconds = |tries, asked| retries.after_call(tries, asked).map(|wait| wait.as_secs());
        assert_eq!([0, 1, 2].map(|tries| seconds(tries, None)), [Some(2), Some(4), None]);
        assert_eq!(seconds(1, Some(Duration::from_secs(30))), Some(30));
        assert_eq!(seconds(2, Some(Duration::from_secs(30))), None);
    }

    #[test]
    fn c53_rules_with_the_usual_waits_for_provisioning_are_stored_as_before() {
        let stored = |retries: Retries| serde_json::to_value(retries).unwrap();
        assert_eq!(stored(Retries::default()).get("provision_waits_ms"), None);
        let none = stored(Retries::none());
        assert_eq!(none["provision_waits_ms"], serde_json::json!([]));
        let read: Retries = serde_json::from_value(none).unwrap();
        assert_eq!(read, Retries::none());
    }

    #[test]
    fn lists_are_bounded() {
        assert_eq!(Retries::default().fault(), None);
        let long = Retries { tool_waits_ms: vec![1; RETRIES_MAX + 1], ..Retries::default() };
        assert_eq!(long.fault().unwrap(), "tool_waits_ms: has 101 waits, at most 100 are allowed");
        let held = Retries::default().provision_waits_ms(vec![1; PROVISION_RETRIES_MAX + 1]);
        assert_eq!(held.fault().unwrap(), "provision_waits_ms: has 11 waits, at most 10 are allowed");
        let held = Retries::default().provision_waits_ms(vec![10_001]);
        assert_eq!(held.fault().unwrap(), "provision_waits_ms: a wait of 10001 ms is longer than 10 s");
        let slow = Retries { model_waits_ms: vec![1, 86_400_001], ..Retries::default() };
        assert_eq!(slow.fault().unwrap(), "model_waits_ms: a wait of 86400001 ms is longer than a day");
    }
}
