//! Options for the sandboxes of this machine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Options for the sandboxes of this machine. By default: walls where the machine has them, no network, and a
/// sandbox is freed after 300 s without use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SandboxOptions {
    /// The folder that holds the sandboxes; it is made if there is none. None: a folder of this user beneath
    /// the temporary folder. Stores whose sessions may have the same tenant and id need different folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Whether sandboxes may do without walls.
    pub walls: WallsPolicy,
    /// Whether commands behind walls reach the network. Without walls they always do.
    pub network: bool,
    /// The number of seconds after which an unused sandbox is freed, even if its turn goes on, for example
    /// while it waits for a person. A sandbox that is kept is not freed.
    pub idle_seconds: u64,
    /// Whether the workspace outlives its turn. If so, the next turn of the session finds it, and only you
    /// remove it.
    pub keep: bool,
    /// A folder with the system that commands behind walls see, such as an unpacked container image. It makes
    /// walls required. None: the programs and libraries of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<PathBuf>,
    /// The program bubblewrap, by its name or its path.
    pub bubblewrap: PathBuf,
    /// Environment variables that commands get besides the usual few. Name no secrets: a model reads what a
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
    /// Walls are required: on a machine without them there are no sandboxes.
    Required,
    /// Walls are used where the machine has them. The description of the sandboxes says if it has none.
    #[default]
    Preferred,
    /// Walls are never used.
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
