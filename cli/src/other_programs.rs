//! The wire to other programs.

use std::sync::Arc;

use holdover_core::remote::Remote;
use holdover_elsewhere::HttpElsewhere;
use holdover_runtime_local::Elsewhere;

/// The wire of a command that nobody reaches: it asks for outcomes.
pub(crate) fn wire() -> Option<Arc<dyn Elsewhere>> {
    Some(Arc::new(HttpElsewhere::new()))
}

/// Whether agents of other programs can be reached.
pub(crate) fn check(_: &Remote) -> Result<(), String> {
    Ok(())
}
