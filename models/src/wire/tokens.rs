//! Token counts, as servers report them.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The maximum token count of one answer. A higher count from a server is wrong, and is reduced to this.
const TOKENS_MAX: u64 = 1_000_000_000;

/// A token count so far. Servers report it once or repeatedly; the highest report counts. A value that is not a count
/// is read as 0, so that a wrong report does not fail the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens(u64);

impl Tokens {
    pub(crate) fn get(self) -> u64 {
        self.0
    }

    pub(crate) fn raise(&mut self, to: Self) {
        self.0 = self.0.max(to.0);
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = Value::deserialize(deserializer)?;
        Ok(Self(said.as_u64().unwrap_or(0).min(TOKENS_MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_count_counts_nothing_and_no_count_is_endless() {
        for (said, count) in [
            ("7", 7),
            ("18446744073709551615", TOKENS_MAX),
            ("1e30", 0),
            ("-1", 0),
            ("null", 0),
            ("\"many\"", 0),
            ("{}", 0),
        ] {
            assert_eq!(serde_json::from_str::<Tokens>(said).unwrap().get(), count, "{said}");
        }
    }
}
