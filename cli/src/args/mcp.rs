//! The arguments of `mcp`.

use std::path::PathBuf;

use clap::Args;
use holdover_front::May;

use super::Work;

#[derive(Debug, Args)]
#[command(after_help = "\
An MCP client (a chat program, an editor, another agent) starts this command and speaks the Model Context Protocol with it on standard input and output. Its tools start sessions of the agents of these files, wait for them, decide on calls, and read the sessions of the tenant. Notes go to standard error.

The client acts with the permissions of --may. With decide, its model can approve calls, unless the client asks its user before each call of a tool. A client that can show forms asks its user for each approval while it waits. Without decide, somebody else decides (holdover approve).

The command ends when the client closes standard input, and stops in the same way as holdover work. Clients on other machines reach holdover serve at /mcp.

Examples:
  holdover mcp clerk.toml --as ann
  holdover mcp clerk.toml --store sqlite:/home/ann/sessions.db --may read,send
  holdover mcp --no-work --may read")]
pub(crate) struct Mcp {
    /// Agent files (TOML) with whose agents sessions can be started
    pub(crate) agents: Vec<PathBuf>,
    /// Name of the person at the client; decisions record it
    #[arg(long = "as", visible_alias = "by", value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Permissions of the client, separated by commas: read, send, decide
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "read,send,decide")]
    pub(crate) may: Vec<May>,
    /// Leave the sessions to other workers (holdover work) instead of running them here
    #[arg(long, conflicts_with_all = ["all_tenants", "until_idle"])]
    pub(crate) no_work: bool,
    #[command(flatten)]
    pub(crate) work: Work,
}
