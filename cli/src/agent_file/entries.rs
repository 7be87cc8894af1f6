//! Values that an agent file writes in a shorter form than the types that they become.

use std::path::Path;

use holdover_core::agent::{Limits, Prices};
use holdover_models::ModelRef;
use holdover_runtime_local::SubAgent;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};

use super::absolute_script;

/// A model: `"openai:gpt-5"`, or a table with the fields of [`ModelRef`].
#[derive(Debug)]
pub(super) struct ModelEntry(pub(super) ModelRef);

impl<'de> Deserialize<'de> for ModelEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ModelEntry;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a model (\"PROVIDER:NAME\", or a table with provider and name)")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ModelEntry, E> {
                text.parse().map(ModelEntry).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ModelEntry, A::Error> {
                ModelRef::deserialize(MapAccessDeserializer::new(map)).map(ModelEntry)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A model besides the agent's own. It is written like a model, or as a table with `model` and the `prices` of its
/// tokens.
#[derive(Debug)]
pub(super) enum PricedEntry {
    Priced(Priced),
    Model(ModelEntry),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Priced {
    model: ModelEntry,
    #[serde(default)]
    prices: Option<Prices>,
}

impl<'de> Deserialize<'de> for PricedEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = PricedEntry;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "a model (\"PROVIDER:NAME\", a table with provider and name, or one with model and prices)",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PricedEntry, E> {
                text.parse().map(|model| PricedEntry::Model(ModelEntry(model))).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PricedEntry, A::Error> {
                let first: Option<String> = map.next_key()?;
                let is_priced = matches!(first.as_deref(), Some("model" | "prices"));
                let whole = MapAccessDeserializer::new(Again { first, rest: map });
                if is_priced {
                    Priced::deserialize(whole).map(PricedEntry::Priced)
                } else {
                    ModelRef::deserialize(whole).map(|model| PricedEntry::Model(ModelEntry(model)))
                }
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A table whose first key was already read.
struct Again<A> {
    first: Option<String>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Again<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}

impl PricedEntry {
    /// Returns the model and its prices. A relative script path is resolved against `folder`.
    pub(super) fn beneath(self, folder: &Path) -> (ModelRef, Option<Prices>) {
        let (ModelEntry(model), prices) = match self {
            Self::Model(model) => (model, None),
            Self::Priced(Priced { model, prices }) => (model, prices),
        };
        (absolute_script(model, folder), prices)
    }
}

/// Core's [`Limits`], in the form that a file uses.
#[derive(Debug, Default, Deserialize)]
pub(super) struct LimitsEntry(#[serde(with = "limits::Table")] pub(super) Limits);

/// The limits of a sub-agent. Their defaults are lower than those of an agent.
#[derive(Debug, Deserialize)]
pub(super) struct LimitsOfSubAgent(#[serde(with = "limits_of_sub_agent::Table")] pub(super) Limits);

/// Defines a module with a table for core's [`Limits`], in which `"none"` removes a default limit.
macro_rules! limits_table {
    ($module:ident, $usual:expr) => {
        mod $module {
            use super::*;

            fn usual() -> Limits {
                $usual
            }

            #[derive(Deserialize)]
            #[serde(remote = "Limits", default = "usual", deny_unknown_fields)]
            pub(super) struct Table {
                max_steps: u32,
                #[serde(deserialize_with = "or_none")]
                max_tokens: Option<u64>,
                #[serde(deserialize_with = "or_none")]
                max_cost_microusd: Option<u64>,
                #[serde(deserialize_with = "or_none")]
                max_run_ms: Option<u64>,
                prices: Prices,
                max_output_tokens: u32,
                tool_timeout_ms: u64,
                #[serde(deserialize_with = "or_none")]
                answer_timeout_ms: Option<u64>,
                result_bytes_max: usize,
                error_bytes_max: usize,
                result_chars_shown: usize,
                stop_grace_ms: u64,
                corrections_max: u32,
            }
        }
    };
}

limits_table!(limits, Limits::default());
limits_table!(limits_of_sub_agent, SubAgent::limits_unless_set());

fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct OrNone;
    impl Visitor<'_> for OrNone {
        type Value = Option<u64>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a number that is not negative, or \"none\"")
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Option<u64>, E> {
            u64::try_from(number)
                .map(Some)
                .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Option<u64>, E> {
            Ok(Some(number))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<u64>, E> {
            if text == "none" { Ok(None) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
        }
    }
    deserializer.deserialize_any(OrNone)
}
