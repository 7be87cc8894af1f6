//! References to models on servers.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::model::{Model, ModelError};

use super::ModelRef;
use crate::anthropic::Anthropic;
use crate::openai::OpenAi;
use crate::wire::{ApiKey, ServerSettings};

/// The environment variable with the API key of OpenAI's own service.
const OPENAI_KEY_ENV: &str = "OPENAI_API_KEY";
/// The environment variable with the API key of Anthropic's own service.
const ANTHROPIC_KEY_ENV: &str = "ANTHROPIC_API_KEY";

/// Returns a model behind a server that speaks OpenAI's chat completions API.
pub(super) fn openai(reference: &ModelRef) -> Result<Arc<dyn Model>, ModelError> {
    let service = ServerSettings::openai(&reference.name);
    Ok(Arc::new(OpenAi::new(settings(reference, service, OPENAI_KEY_ENV)?)?))
}

/// Returns a model behind a server that speaks Anthropic's messages API.
pub(super) fn anthropic(reference: &ModelRef) -> Result<Arc<dyn Model>, ModelError> {
    let service = ServerSettings::anthropic(&reference.name);
    Ok(Arc::new(Anthropic::new(settings(reference, service, ANTHROPIC_KEY_ENV)?)?))
}

/// Returns `service`, the default settings of the provider, with the changes that `reference` makes. Reads the key from
/// its environment variable.
fn settings(
    reference: &ModelRef,
    service: ServerSettings,
    key_env: &str,
) -> Result<ServerSettings, ModelError> {
    let mut settings = service;
    let key_env = match &reference.base_url {
        Some(url) => {
            settings.base_url.clone_from(url);
            reference.api_key_env.as_deref()
        }
        None => Some(reference.api_key_env.as_deref().unwrap_or(key_env)),
    };
    settings.api_key = key_env.map(ApiKey::from_env).transpose()?;
    if let Some(ms) = reference.connect_timeout_ms {
        settings.connect_timeout = Duration::from_millis(ms);
    }
    if let Some(ms) = reference.stall_timeout_ms {
        settings.stall_timeout = Duration::from_millis(ms);
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use holdover_core::model::ModelErrorKind;

    use super::*;
    use crate::reference::connect;

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
        reference.base_url = Some("http://127.0.0.1:1/v1".to_owned());
        reference.stall_timeout_ms = Some(0);
        assert!(connect(&reference).err().unwrap().detail.contains("stall_timeout"));
        let claude: ModelRef = "anthropic:m".parse().unwrap();
        if std::env::var_os(ANTHROPIC_KEY_ENV).is_none() {
            assert!(connect(&claude).err().unwrap().detail.contains(ANTHROPIC_KEY_ENV));
        }
        let claude = ModelRef { base_url: Some("http://127.0.0.1:1/v1".to_owned()), ..claude };
        assert_eq!(connect(&claude).unwrap().name(), "anthropic:m");
        let secret = ModelRef { base_url: Some("http://a/v1?token=secret".to_owned()), ..claude };
        let shown = format!("{secret:?}");
        assert!(shown.contains("http://a/v1") && !shown.contains("secret"), "{shown}");
        let mut script: ModelRef = "scripted:/no/such/script.toml".parse().unwrap();
        assert!(connect(&script).err().unwrap().detail.contains("/no/such/script.toml"));
        script.base_url = Some("http://a/".to_owned());
        assert!(connect(&script).err().unwrap().detail.contains("a script has no base_url"));
    }
}
