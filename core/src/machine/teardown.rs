//! The things that a turn that ends must still free.

use serde::{Deserialize, Serialize};

/// The things that a turn that ends must still free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Teardown {
    /// Whether surroundings were provisioned for the turn, even if only half.
    pub provisioned: bool,
}

impl Teardown {
    /// Whether nothing is left.
    pub fn is_empty(self) -> bool {
        !self.provisioned
    }
}
