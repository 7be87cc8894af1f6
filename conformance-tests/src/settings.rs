//! The settings of a run: how much it does.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::case::{Capability, Case};

/// The variables that set a run whose cases are tests of their own.
pub(crate) const SEED: &str = "HOLDOVER_SUITE_SEED";
const SCRIPTS: &str = "HOLDOVER_SUITE_SCRIPTS";
const KILLS: &str = "HOLDOVER_SUITE_KILLS";

/// What the cases that draw at random draw, and how much of it. Reports name all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Settings {
    /// Sets the order in which cases begin, and what they draw.
    pub seed: u64,
    /// How many scripts each comparison with the model plays, and how many histories are checked.
    pub scripts: NonZeroU32,
    /// How often each case that kills a process kills one.
    pub kills: NonZeroU32,
}

impl Default for Settings {
    /// The seed 0, 16 scripts, 40 kills.
    fn default() -> Self {
        Self { seed: 0, scripts: number(16), kills: number(40) }
    }
}

impl Settings {
    /// What the variables of the environment say. `Err`: one says what cannot be.
    pub(crate) fn from_environment() -> Result<Self, String> {
        Self::from_variables(|name| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned()))
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let usual = Self::default();
        let at_least_one = |name: &str, usual| match get(name) {
            None => Ok(usual),
            Some(text) => text.parse().map_err(|_| format!("{name}={text}: expected a number from 1 on")),
        };
        let seed = match get(SEED) {
            None => usual.seed,
            Some(text) => text.parse().map_err(|_| format!("{SEED}={text}: expected a number from 0 on"))?,
        };
        let (scripts, kills) = (at_least_one(SCRIPTS, usual.scripts)?, at_least_one(KILLS, usual.kills)?);
        Ok(Self { seed, scripts, kills })
    }

    /// How long the case may take, if it may take `usual` with the usual settings: in proportion to them.
    pub(crate) fn time_max(self, case: &Case, usual: Duration) -> Duration {
        let Self { scripts, kills, .. } = Self::default();
        if case.category() == "prop" || case.id == "race.linearizable_histories" {
            return usual.saturating_mul(self.scripts.get().div_ceil(scripts.get()));
        }
        if case.needs == Some(Capability::ChildProcess) {
            return usual.saturating_mul(self.kills.get().div_ceil(kills.get()));
        }
        usual
    }

    /// Those that are not the usual ones, besides the seed: their names and values.
    fn unusual(self) -> Vec<(&'static str, u32)> {
        let usual = Self::default();
        let all = [("scripts", self.scripts, usual.scripts), ("kills", self.kills, usual.kills)];
        let unusual = all.into_iter().filter(|(_, set, usual)| set != usual);
        unusual.map(|(name, set, _)| (name, set.get())).collect()
    }

    /// As variables before a command: each with a space after it.
    pub(crate) fn as_variables(self) -> String {
        let unusual = self.unusual().into_iter();
        let unusual = unusual.map(|(name, set)| format!("HOLDOVER_SUITE_{}={set} ", name.to_uppercase()));
        format!("{SEED}={} {}", self.seed, unusual.collect::<String>())
    }

    /// As arguments after a command: each with a space before it.
    pub(crate) fn as_arguments(self) -> String {
        let unusual = self.unusual().into_iter().map(|(name, set)| format!(" --{name} {set}"));
        format!(" --seed {}{}", self.seed, unusual.collect::<String>())
    }

    /// As calls on a suite.
    pub(crate) fn as_calls(self) -> String {
        let unusual = self.unusual().into_iter();
        let unusual = unusual.map(|(name, set)| format!(".{name}({set}.try_into()?)"));
        format!(".seed({}){}", self.seed, unusual.collect::<String>())
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}", self.seed)?;
        self.unusual().into_iter().try_for_each(|(name, set)| write!(f, ", {set} {name}"))
    }
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(name: &'static str, text: &'static str) -> Result<Settings, String> {
        Settings::from_variables(|asked| (asked == name).then(|| text.to_owned()))
    }

    #[test]
    fn a_variable_that_says_nothing_sensible_is_refused() {
        assert_eq!(Settings::from_variables(|_| None), Ok(Settings::default()));
        assert_eq!(from(SCRIPTS, "200").map(|it| it.scripts.get()), Ok(200));
        for (name, text) in [(SCRIPTS, "0"), (SCRIPTS, "many"), (KILLS, "0"), (KILLS, "-1"), (SEED, "")] {
            assert!(from(name, text).is_err_and(|error| error.starts_with(name)), "{name}={text}");
        }
        assert!(from("HOLDOVER_CASES", "0").is_ok(), "a setting of other tests");
    }

    #[test]
    fn time_is_in_proportion() {
        let case = |id| crate::all().find(|case| case.id == id).unwrap();
        let settings = Settings { scripts: number(160), kills: number(50), ..Settings::default() };
        let minutes = |id| settings.time_max(case(id), Duration::from_secs(60)).as_secs() / 60;
        assert_eq!(minutes("prop.sequential_model_equivalence"), 10);
        assert_eq!(minutes("crash.sigkill_acked_is_durable"), 2);
        assert_eq!(minutes("session.create_then_get_roundtrip"), 1);
    }

    #[test]
    fn what_is_not_usual_is_named_wherever_a_case_is_repeated() {
        let settings = Settings { seed: 7, scripts: number(160), ..Settings::default() };
        assert_eq!(settings.as_variables(), "HOLDOVER_SUITE_SEED=7 HOLDOVER_SUITE_SCRIPTS=160 ");
        assert_eq!(settings.as_arguments(), " --seed 7 --scripts 160");
        assert_eq!(settings.as_calls(), ".seed(7).scripts(160.try_into()?)");
        assert_eq!(settings.to_string(), "seed 7, 160 scripts");
    }
}
