//! The messages from before this run that had to be read.

use crate::engine::inbox::undo::Undone;
use crate::engine::model::looping::Before;

/// The messages from before this run that had to be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Past {
    /// The newest messages before the claim, for loop detection.
    pub(crate) window: Before,
    /// The messages that are to be taken back before a turn begins.
    pub(crate) undone: Undone,
}

impl Past {
    /// Returns true if such messages are being read.
    pub(crate) fn is_reading(&self) -> bool {
        matches!(self.window, Before::Reading { .. }) || matches!(self.undone, Undone::Reading(..))
    }
}
