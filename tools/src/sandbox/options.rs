//! Options for the sandboxes of this machine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How sandboxes of this machine are to be. The default asks for walls where the machine has them, no network, and that a
/// sandbox which was left alone for 300 s is freed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SandboxOptions {
    /// The folder that they lie in; it is made if there is none. None: one of this user's own beneath the temporary folder.
    /// Sessions of different stores that may have the same tenant and id need folders of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Whether they may do without walls.
    pub walls: WallsPolicy,
    /// Whether commands behind walls reach the network. Without walls they always do.
    pub network: bool,
    /// After how many seconds without use one is freed, though its turn goes on: while it waits for a person, say.
    pub idle_seconds: u64,
    /// Whether the workspace outlives its turn: the next turn of the session finds it, and only you remove it.
    pub keep: bool,
    /// A folder with the system that commands behind walls see: a container image that was unpacked. It makes walls
    /// required. None: the programs and libraries of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<PathBuf>,
    /// The program bubblewrap, by its name or its path.
    pub bubblewrap: PathBuf,
    /// Environment variables that are handed on to commands, besides the usual few. Name no secrets: a model reads what a
    /// command prints.
    #[serde(skip)]
    pub pass_environment: Vec<String>,
}

holdover_core::setters! { SandboxOptions {
    walls: WallsPolicy,
    network: bool,
    idle_seconds: u64,
    keep: bool,
    pass_environment: Vec<String>,
} into {
    root: Option<PathBuf>,
    image: Option<PathBuf>,
    bubblewrap: PathBuf,
} }

/// Whether a sandbox may do without walls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WallsPolicy {
    /// It may not: where there are none, there are no sandboxes.
    Required,
    /// It has them where the machine has them, and says so where not.
    #[default]
    Preferred,
    /// It never has any.
    Off,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self {
            root: None,
            walls: WallsPolicy::default(),
            network: false,
            idle_seconds: 300,
            keep: false,
            image: None,
            bubblewrap: PathBuf::from("bwrap"),
            pass_environment: Vec::new(),
        }
    }
}
