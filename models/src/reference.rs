//! References to models by name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use holdover_core::model::{Model, ModelError, ModelErrorKind};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use crate::scripted::ScriptedModel;

#[cfg(feature = "http")]
mod servers;

/// The longest allowed time-out, in milliseconds: one hour.
pub(crate) const TIMEOUT_MS_MAX: u64 = 60 * 60 * 1000;

/// The kind of adapter that connects to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Any server that speaks OpenAI's chat completions API.
    #[serde(rename = "openai")]
    OpenAi,
    /// Any server that speaks Anthropic's messages API.
    Anthropic,
    /// A script in a file, without a model.
    Scripted,
}

impl Provider {
    /// All providers.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Scripted];

    /// Returns the name of the provider in files and model references.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Scripted => "scripted",
        }
    }
}

/// The name of a model, and the settings to reach it.
///
/// ```
/// use holdover_models::{ModelRef, Provider};
///
/// let model: ModelRef = "openai:gpt-5".parse()?;
/// assert_eq!((model.provider, model.name.as_str()), (Provider::OpenAi, "gpt-5"));
/// let script: ModelRef = "scripted:demo/agent.toml".parse()?;
/// assert_eq!(script.to_string(), "scripted:demo/agent.toml");
/// assert!("gpt-5".parse::<ModelRef>().is_err());
/// # Ok::<(), holdover_models::InvalidModelRef>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRef {
    /// The adapter that connects to the model.
    pub provider: Provider,
    /// The name of the model, or the path of the script.
    pub name: String,
    /// The address of the server, for example `http://127.0.0.1:8080/v1`. By default, the provider's own service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the API key. By default, `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` for the
    /// provider's own service. With a `base_url`, no key is sent by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// The time limit to connect, in milliseconds: 1 to 3 600 000. The default is 20 000.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "timeout_ms")]
    pub connect_timeout_ms: Option<u64>,
    /// The longest allowed silence of the server, in milliseconds: 1 to 3 600 000. The default is 120 000.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "timeout_ms")]
    pub stall_timeout_ms: Option<u64>,
}

fn timeout_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let ms = u64::deserialize(deserializer)?;
    if (1..=TIMEOUT_MS_MAX).contains(&ms) {
        return Ok(Some(ms));
    }
    let expected = format!("milliseconds from 1 to {TIMEOUT_MS_MAX}");
    Err(de::Error::invalid_value(de::Unexpected::Unsigned(ms), &expected.as_str()))
}

/// The error for a text that is not a model reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidModelRef {
    /// The text does not have the form `PROVIDER:NAME`.
    #[error("model {0:?}: write PROVIDER:NAME, for example openai:gpt-5")]
    NoProvider(String),
    /// There is no provider of this name.
    #[error("model {model:?}: unknown provider {provider:?}; known are {}", known())]
    UnknownProvider {
        /// The whole text of the reference.
        model: String,
        /// The part before the colon.
        provider: String,
    },
}

fn known() -> String {
    Provider::ALL.map(Provider::as_str).join(", ")
}

impl FromStr for ModelRef {
    type Err = InvalidModelRef;

    fn from_str(text: &str) -> Result<Self, InvalidModelRef> {
        let (provider, name) = match text.split_once(':') {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty() => (provider, name),
            Some(_) | None => return Err(InvalidModelRef::NoProvider(text.to_owned())),
        };
        let provider =
            Provider::ALL.into_iter().find(|known| known.as_str() == provider).ok_or_else(|| {
                InvalidModelRef::UnknownProvider { model: text.to_owned(), provider: provider.to_owned() }
            })?;
        Ok(Self {
            provider,
            name: name.to_owned(),
            base_url: None,
            api_key_env: None,
            connect_timeout_ms: None,
            stall_timeout_ms: None,
        })
    }
}

/// Shows only the part of the base URL that holds no secret.
impl fmt::Debug for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRef")
            .field("provider", &self.provider)
            .field("name", &self.name)
            .field("base_url", &self.base_url.as_deref().map(shown))
            .field("api_key_env", &self.api_key_env)
            .field("connect_timeout_ms", &self.connect_timeout_ms)
            .field("stall_timeout_ms", &self.stall_timeout_ms)
            .finish()
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider.as_str(), self.name)
    }
}

/// Returns the part of a base URL that may be shown: up to the end of the path, or no part if the URL may hold a
/// password.
pub(crate) fn shown(base_url: &str) -> &str {
    let end = base_url.find(['?', '#']).unwrap_or(base_url.len());
    if base_url.contains('@') { "…@…" } else { base_url.get(..end).unwrap_or_default() }
}

/// Returns the model that `reference` names. Reads the key or the script, but does not contact the server.
///
/// # Errors
/// All errors are of kind `Configuration`: a key is missing or cannot be sent, a script cannot be read or is not valid,
/// a setting is not valid or does not belong to the provider, the HTTP client cannot be created, or this build leaves
/// out the feature `http`, which all providers but scripts need.
pub fn connect(reference: &ModelRef) -> Result<Arc<dyn Model>, ModelError> {
    match reference.provider {
        #[cfg(feature = "http")]
        Provider::OpenAi => servers::openai(reference),
        #[cfg(feature = "http")]
        Provider::Anthropic => servers::anthropic(reference),
        #[cfg(not(feature = "http"))]
        Provider::OpenAi | Provider::Anthropic => Err(ModelError::new(
            ModelErrorKind::Configuration,
            format!("{reference} needs the feature http of holdover-models, which this build leaves out"),
        )),
        Provider::Scripted => {
            for (field, given) in [
                ("base_url", reference.base_url.is_some()),
                ("api_key_env", reference.api_key_env.is_some()),
                ("connect_timeout_ms", reference.connect_timeout_ms.is_some()),
                ("stall_timeout_ms", reference.stall_timeout_ms.is_some()),
            ] {
                if given {
                    return Err(ModelError::new(
                        ModelErrorKind::Configuration,
                        format!("{reference}: a script has no {field}"),
                    ));
                }
            }
            Ok(Arc::new(ScriptedModel::open(&reference.name)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_own_colons() {
        let model: ModelRef = "openai:qwen3:4b".parse().unwrap();
        assert_eq!(model.name, "qwen3:4b");
        for bad in ["", ":", "openai:", ":gpt", "gpt"] {
            assert_eq!(bad.parse::<ModelRef>(), Err(InvalidModelRef::NoProvider(bad.to_owned())));
        }
        let error = "oracle:delphi".parse::<ModelRef>().unwrap_err().to_string();
        assert_eq!(
            error,
            "model \"oracle:delphi\": unknown provider \"oracle\"; known are openai, anthropic, scripted"
        );
    }

    #[test]
    fn a_table_says_how_long_to_wait() {
        let read =
            |more: &str| toml::from_str::<ModelRef>(&format!("provider = 'anthropic'\nname = 'm'\n{more}"));
        let model = read("connect_timeout_ms = 1\nstall_timeout_ms = 3600000").unwrap();
        assert_eq!((model.connect_timeout_ms, model.stall_timeout_ms), (Some(1), Some(TIMEOUT_MS_MAX)));
        assert_eq!(serde_json::to_value(read("").unwrap()).unwrap().as_object().unwrap().len(), 2);
        for (bad, why) in [
            ("stall_timeout_ms = 0", "expected milliseconds from 1 to 3600000"),
            ("connect_timeout_ms = 3600001", "expected milliseconds from 1 to 3600000"),
            ("stall_timeout_ms = -1", "invalid value"),
            ("stall_timeout_ms = 'long'", "invalid type"),
            ("stall_timeout = 1", "unknown field `stall_timeout`"),
        ] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
