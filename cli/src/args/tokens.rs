//! The arguments of `tokens`.

use clap::{Args, Subcommand};
use holdover_front::May;

use super::Due;

/// The tokens with which callers reach `holdover serve`.
#[derive(Debug, Subcommand)]
pub(crate) enum Tokens {
    /// Make a token for a caller of the tenant, and print it; it is shown only now
    Create(CreateToken),
    /// List the tokens of the tenant, without the tokens themselves
    #[command(after_help = LIST)]
    List,
    /// Revoke tokens; every server refuses them within 5 seconds
    Revoke(RevokeTokens),
}

const LIST: &str = "\
Examples:
  holdover tokens list
  holdover tokens list --tenant acme --json";

#[derive(Debug, Args)]
#[command(after_help = "\
Permissions:
  read     see sessions, their messages, events and pending calls
  send     start sessions, send messages, answer client tools, stop and continue turns
  decide   approve and deny calls, settle calls in doubt
  operate  abort and delete sessions, replay dead letters

The token belongs to the tenant. Decisions of its caller record the name, which no request can change. The store holds a digest of the token, so a lost token cannot be shown again: revoke it, and make another.

Examples:
  holdover tokens create --name ann --may read,decide --expires 90d
  holdover tokens create --tenant acme --name shop --may read,send")]
pub(crate) struct CreateToken {
    /// Name of the person or program to whom the token is given
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// Permissions, separated by commas: read, send, decide, operate
    #[arg(long, value_name = "WHAT", value_delimiter = ',', required = true)]
    pub(crate) may: Vec<May>,
    /// How long the token is accepted (90d), or until when; by default, until it is revoked
    #[arg(long, value_name = "WHEN")]
    pub(crate) expires: Option<Due>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover tokens revoke 0f0c2d4e6a8b4c1d9e7f5a3b1c2d4e6f")]
pub(crate) struct RevokeTokens {
    /// The ids of the tokens (holdover tokens list)
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}
