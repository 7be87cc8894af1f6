//! The walls between a sandbox and the machine.

use std::fmt;

/// The walls between a sandbox and the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Walls {
    /// Commands run under bubblewrap in their own namespaces. They see the system read-only, and the workspace and a
    /// temporary folder of the sandbox. They see no other files or processes, and no network unless it was enabled.
    Bubblewrap {
        /// True if the processes reach the network.
        network: bool,
    },
    /// A plain folder: commands start there, with all rights of this program's user.
    PlainFolder {
        /// The reason why there are no walls.
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
