//! Options for the sandboxes on this machine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Options for the sandboxes on this machine. By default, walls are used if the machine supports them, there is no
/// network, and a sandbox is freed after 300 s without use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SandboxOptions {
    /// The folder that holds the sandboxes. It is created if it does not exist. The default is a folder of this user
    /// beneath the temporary folder. Stores whose sessions may have the same tenant and id need different folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// The policy for walls: required, preferred or off.
    pub walls: WallsPolicy,
    /// True if commands behind walls reach the network. Without walls, they always do.
    pub network: bool,
    /// The number of seconds after which an unused sandbox is freed, even if its turn goes on, for example while it
    /// waits for a person. A kept sandbox is not freed.
    pub idle_seconds: u64,
    /// True if the workspace outlives its turn. The next turn of the session then finds it, and it is never removed
    /// automatically.
    pub keep: bool,
    /// A folder with the system that commands behind walls see, such as an unpacked container image. An image makes
    /// walls required. By default, commands see the programs and libraries of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<PathBuf>,
    /// The name or path of the program bubblewrap.
    pub bubblewrap: PathBuf,
    /// The names of more environment variables of this process that commands get. By default, they get only `PATH`,
    /// `LANG`, `LC_ALL`, `LC_CTYPE`, `TZ`, `TERM`, `HOME` and `TMPDIR`. Do not name variables that hold secrets: a
    /// model reads the output of commands.
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

/// The policy for the walls of sandboxes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WallsPolicy {
    /// Walls are required: on a machine without them, there are no sandboxes.
    Required,
    /// Walls are used if the machine supports them. The description of the sandboxes says if there are none.
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
