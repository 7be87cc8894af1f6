//! The way in for the person at the terminal, as long as there are no tokens.

use std::sync::Arc;

use holdover_front::{Caller, OneTimeLink, StoredTokens, Tokens};

use crate::args::Serve;
use crate::exit::Failure;
use crate::front::Front;

/// The name of a person without one.
const SOMEBODY: &str = "local";

/// Makes a link that gives a token, with its path, if only programs of this machine reach the server and no token was made for
/// its tenant.
pub(super) async fn link(
    front: &Front,
    args: &Serve,
    tokens: StoredTokens,
) -> Result<Option<(Arc<OneTimeLink>, String)>, Failure> {
    if !only_here(args) {
        return Ok(None);
    }
    let known = tokens.any(front.tenant()).await.map_err(|error| Failure::failed(error.to_string()))?;
    if known && !args.demo {
        return Ok(None);
    }
    let name = std::env::var("USER").ok().filter(|name| !name.trim().is_empty());
    let caller = Caller::of(front.tenant().clone()).named(name.unwrap_or_else(|| SOMEBODY.to_owned()));
    Ok(Some(OneTimeLink::new(caller, Arc::new(tokens) as Arc<dyn Tokens>)))
}

/// Returns true if only programs of this machine reach the server.
pub(super) fn only_here(args: &Serve) -> bool {
    args.listen.ip().is_loopback() && args.host.is_empty() && args.origin.is_empty()
}
