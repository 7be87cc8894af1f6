//! The walls between a sandbox and the machine.

use std::fmt;

/// The walls between a sandbox and the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Walls {
    /// Processes of their own under bubblewrap. They see the system read-only, the workspace and a temporary
    /// folder of the sandbox, and no other file, process or (unless it was asked for) network.
    Bubblewrap {
        /// Whether the processes reach the network.
        network: bool,
    },
    /// A plain folder: commands start there, and may do whatever this program's user may.
    PlainFolder {
        /// Why there are no walls.
        why: String,
    },
}

impl fmt::Display for Walls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bubblewrap { network: false } => f.write_str("bubblewrap, no network"),
            Self::Bubblewrap { network: true } => f.write_str("bubblewrap, with network"),
            Self::PlainFolder { why } => write!(f, "plain folder, no walls ({why})"),
        }
    }
}
