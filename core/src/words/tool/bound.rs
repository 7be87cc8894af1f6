//! A limit that can be lifted only explicitly.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A limit, in the unit that the field names: a number, or `"none"` for no limit. Leaving the field out does
/// not lift the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The limit is this number.
    At(u64),
    /// There is no limit.
    Never,
}

impl Bound {
    /// Returns a bound of this length, in milliseconds.
    pub fn of(length: std::time::Duration) -> Self {
        Self::At(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns the number, if there is a limit.
    pub fn limit(self) -> Option<u64> {
        match self {
            Self::At(most) => Some(most),
            Self::Never => None,
        }
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At(most) => serializer.serialize_u64(*most),
            Self::Never => serializer.serialize_str("none"),
        }
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrNone;
        impl Visitor<'_> for NumberOrNone {
            type Value = Bound;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number that is not negative, or \"none\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Bound, E> {
                let invalid = |_| E::invalid_value(de::Unexpected::Signed(number), &self);
                u64::try_from(number).map(Bound::At).map_err(invalid)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Bound, E> {
                Ok(Bound::At(number))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Bound, E> {
                match text {
                    "none" => Ok(Bound::Never),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(NumberOrNone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b31_a_bound_is_a_number_or_none_in_so_many_words() {
        for (written, bound) in [("7", Bound::At(7)), ("\"none\"", Bound::Never)] {
            assert_eq!(serde_json::from_str::<Bound>(written).unwrap(), bound);
            assert_eq!(serde_json::to_string(&bound).unwrap(), written);
        }
        for wrong in ["-1", "\"never\"", "null", "1.5"] {
            assert!(serde_json::from_str::<Bound>(wrong).is_err(), "{wrong}");
        }
    }
}
