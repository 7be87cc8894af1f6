//! The things that a turn that ends must still free.

use serde::{Deserialize, Serialize};

/// What a turn that ends must still free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Teardown {
    /// What was provisioned for the turn, also if only half.
    pub provisioned: bool,
}

impl Teardown {
    /// Whether nothing is left.
    pub fn is_empty(self) -> bool {
        !self.provisioned
    }
}
