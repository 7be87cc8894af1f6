//! The bearer token of a remote agent.

use holdover_core::remote::Remote;

/// Reads the token for the agent from its environment variable. Returns `None` if the agent requires no token. Errors
/// name the variable, never its value.
pub(crate) fn token_of(remote: &Remote) -> Result<Option<String>, String> {
    let Some(variable) = &remote.token_env else { return Ok(None) };
    let refuse = |why: &str| Err(format!("token_env: the environment variable {variable} {why}"));
    match std::env::var(variable) {
        Ok(token) if token.trim().is_empty() => refuse("is empty"),
        Ok(token) => Ok(Some(token.trim().to_owned())),
        Err(std::env::VarError::NotPresent) => refuse("is not set"),
        Err(std::env::VarError::NotUnicode(_)) => refuse("is not UTF-8"),
    }
}
