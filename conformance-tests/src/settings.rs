//! The settings of a run: its seed and its amount of work.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::case::{Capability, Case};

/// The environment variables with the settings of a run in which each case is a test.
pub(crate) const SEED: &str = "HOLDOVER_SUITE_SEED";
const SCRIPTS: &str = "HOLDOVER_SUITE_SCRIPTS";
const KILLS: &str = "HOLDOVER_SUITE_KILLS";

/// The seed and the amount of random work in a run. Reports show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Settings {
    /// The seed of the order of cases and of all random choices.
    pub seed: u64,
    /// The number of scripts in each comparison with the model, and the number of histories that are checked.
    pub scripts: NonZeroU32,
    /// The number of processes that each kill case kills.
    pub kills: NonZeroU32,
}

impl Default for Settings {
    /// Returns the default settings: seed 0, 16 scripts, 40 kills.
    fn default() -> Self {
        Self { seed: 0, scripts: number(16), kills: number(40) }
    }
}

impl Settings {
    /// Reads the settings from the environment. The error names a variable with an invalid value.
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

    /// Returns the time limit of the case. It is `usual`, multiplied in proportion if the case depends on a setting
    /// that is above its default.
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

    /// Returns the names and values of the settings that differ from the default, except the seed.
    fn unusual(self) -> Vec<(&'static str, u32)> {
        let usual = Self::default();
        let all = [("scripts", self.scripts, usual.scripts), ("kills", self.kills, usual.kills)];
        let unusual = all.into_iter().filter(|(_, set, usual)| set != usual);
        unusual.map(|(name, set, _)| (name, set.get())).collect()
    }

    /// Formats the settings as variables before a command, each followed by a space.
    pub(crate) fn as_variables(self) -> String {
        let unusual = self.unusual().into_iter();
        let unusual = unusual.map(|(name, set)| format!("HOLDOVER_SUITE_{}={set} ", name.to_uppercase()));
        format!("{SEED}={} {}", self.seed, unusual.collect::<String>())
    }

    /// Formats the settings as arguments of a command, each preceded by a space.
    pub(crate) fn as_arguments(self) -> String {
        let unusual = self.unusual().into_iter().map(|(name, set)| format!(" --{name} {set}"));
        format!(" --seed {}{}", self.seed, unusual.collect::<String>())
    }

    /// Formats the settings as calls on a suite.
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
