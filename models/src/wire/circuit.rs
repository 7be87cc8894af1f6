//! The name of a model's circuit breaker.

use holdover_core::payload::Digest;

use super::settings::ServerSettings;
use crate::reference::shown;

/// Returns the name of the circuit breaker for the model `name` at the server and under the account of `settings`,
/// which must be checked. All processes with the same settings return the same name.
///
/// The name is stored and shown, so it holds neither the key nor the query of the base URL. If there is one, the name
/// holds 16 bits of a digest of the URL and the key. These distinguish the accounts of one service (two accounts
/// collide with a probability of 1 in 65 536), but reveal too little to guess a key, even a weak one.
pub(crate) fn circuit(name: &str, settings: &ServerSettings) -> String {
    let server = shown(&settings.base_url);
    let key = settings.api_key.as_ref().map(|key| key.reveal());
    if key.is_none() && server == settings.base_url {
        return format!("{name} at {server}");
    }
    let secret = format!("{}\n{}", settings.base_url, key.unwrap_or_default());
    let Digest([first, second, ..]) = Digest::of(secret.as_bytes());
    format!("{name} at {server} as {first:02x}{second:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ApiKey;

    fn said(base_url: &str, key: Option<&str>) -> String {
        let mut settings = ServerSettings::openai("m");
        settings.base_url = base_url.to_owned();
        settings.api_key = key.map(ApiKey::new);
        circuit("openai:m", &settings.checked().unwrap())
    }

    #[test]
    fn u10_servers_and_accounts_are_told_apart_and_no_secret_is_said() {
        assert_eq!(said("http://a/v1", None), "openai:m at http://a/v1/");
        let apart = [
            said("http://a/v1", None),
            said("http://b/v1", None),
            said("http://a/v1", Some("sk-one")),
            said("http://a/v1", Some("sk-two")),
            said("http://b/v1", Some("sk-one")),
            said("http://a/v1?zone=one", None),
            said("http://a/v1?zone=two", None),
        ];
        for (at, one) in apart.iter().enumerate() {
            assert!(!apart[..at].contains(one), "{apart:?}");
            assert!(!one.contains("sk-") && !one.contains("zone"), "{one}");
        }
    }

    #[test]
    fn u10_programs_that_share_a_store_agree() {
        // Programs of several versions share a store, so the name for given settings must not change.
        assert_eq!(said("http://a/v1/", Some("sk-one")), said("http://a/v1", Some("sk-one")));
        assert_eq!(said("http://a/v1", Some("sk-one")), "openai:m at http://a/v1/ as 49e2");
    }
}
