//! Random ids.

use holdover_core::ids::{RunId, WorkerId};
use uuid::Uuid;

/// Draws a name for a worker without a configured name.
pub(super) fn draw_worker() -> WorkerId {
    let id = format!("holdover-{}-{}", std::process::id(), &draw()[..8]);
    WorkerId::new(id).unwrap_or_else(|_| unreachable!("made of letters, digits and dashes"))
}

/// Draws a random id as text.
pub(crate) fn draw() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Draws a random id of any kind.
pub(crate) fn draw_id<T: std::str::FromStr<Err = holdover_core::ids::InvalidId>>() -> T {
    draw().parse().unwrap_or_else(|_| unreachable!("32 hexadecimal digits are an id"))
}

pub(crate) fn draw_run() -> RunId {
    draw_id()
}
