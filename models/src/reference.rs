//! Models by name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use holdover_core::model::{Model, ModelError, ModelErrorKind};
use serde::{Deserialize, Serialize};

use crate::openai::{ApiKey, OpenAi, OpenAiSettings};
use crate::scripted::ScriptedModel;

/// Where the key of OpenAI's own service is looked for.
const OPENAI_KEY_ENV: &str = "OPENAI_API_KEY";

/// Which adapter speaks to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Any server that speaks OpenAI's chat completions.
    #[serde(rename = "openai")]
    OpenAi,
    /// No model: a script in a file.
    Scripted,
}

impl Provider {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Scripted => "scripted",
        }
    }
}

/// A model by name, and what is needed to reach it.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRef {
    /// Which adapter.
    pub provider: Provider,
    /// The model's name; the script's path.
    pub name: String,
    /// Where the server is: `http://127.0.0.1:8080/v1`. Left out: OpenAI's own service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key. Left out: `OPENAI_API_KEY` for OpenAI's own service;
    /// with a base URL, no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
}

/// A text that names no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidModelRef {
    /// It has not the form `PROVIDER:NAME`.
    #[error("model {0:?}: write PROVIDER:NAME, for example openai:gpt-5")]
    NoProvider(String),
    /// No such adapter.
    #[error("model {model:?}: unknown provider {provider:?}; known are openai and scripted")]
    UnknownProvider {
        /// The whole text.
        model: String,
        /// What stands before the colon.
        provider: String,
    },
}

impl FromStr for ModelRef {
    type Err = InvalidModelRef;

    fn from_str(text: &str) -> Result<Self, InvalidModelRef> {
        let (provider, name) = match text.split_once(':') {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty() => (provider, name),
            Some(_) | None => return Err(InvalidModelRef::NoProvider(text.to_owned())),
        };
        let provider = [Provider::OpenAi, Provider::Scripted]
            .into_iter()
            .find(|known| known.as_str() == provider)
            .ok_or_else(|| InvalidModelRef::UnknownProvider {
                model: text.to_owned(),
                provider: provider.to_owned(),
            })?;
        Ok(Self { provider, name: name.to_owned(), base_url: None, api_key_env: None })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider.as_str(), self.name)
    }
}

/// The model that `reference` names. Reads the key or the script; asks no server.
///
/// Errors are of kind `Configuration`: a key that is not set, a script that cannot be read, a field that
/// the provider does not know.
pub fn connect(reference: &ModelRef) -> Result<Arc<dyn Model>, ModelError> {
    match reference.provider {
        Provider::OpenAi => {
            let mut settings = OpenAiSettings::new(&reference.name);
            let key_env = match &reference.base_url {
                Some(url) => {
                    settings.base_url.clone_from(url);
                    reference.api_key_env.as_deref()
                }
                None => Some(reference.api_key_env.as_deref().unwrap_or(OPENAI_KEY_ENV)),
            };
            settings.api_key = key_env.map(ApiKey::from_env).transpose()?;
            Ok(Arc::new(OpenAi::new(settings)?))
        }
        Provider::Scripted => {
            for (field, value) in [("base_url", &reference.base_url), ("api_key_env", &reference.api_key_env)]
            {
                if value.is_some() {
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
            "model \"oracle:delphi\": unknown provider \"oracle\"; known are openai and scripted"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut reference: ModelRef = "openai:m".parse().unwrap();
        reference.api_key_env = Some("HOLDOVER_TEST_NO_SUCH_KEY".to_owned());
        let error = connect(&reference).err().unwrap();
        assert_eq!(error.kind, ModelErrorKind::Configuration);
        assert!(error.detail.contains("HOLDOVER_TEST_NO_SUCH_KEY"), "{error}");
        reference.api_key_env = None;
        reference.base_url = Some("http://127.0.0.1:1/v1".to_owned());
        assert_eq!(connect(&reference).unwrap().name(), "openai:m");
        reference.base_url = Some("not a url".to_owned());
        assert!(connect(&reference).err().unwrap().detail.contains("base_url"));
        let mut script: ModelRef = "scripted:/no/such/script.toml".parse().unwrap();
        assert!(connect(&script).err().unwrap().detail.contains("/no/such/script.toml"));
        script.base_url = Some("http://a/".to_owned());
        assert!(connect(&script).err().unwrap().detail.contains("a script has no base_url"));
    }
}
