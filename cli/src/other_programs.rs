//! The wire to other programs.

use std::sync::Arc;

use holdover_core::remote::Remote;
use holdover_elsewhere::HttpElsewhere;
use holdover_runtime_local::Elsewhere;

use crate::exit::Failure;

/// The wire of a command that nobody reaches: it asks for outcomes.
pub(crate) fn wire() -> Result<Option<Arc<dyn Elsewhere>>, Failure> {
    let wire = HttpElsewhere::new().map_err(|error| Failure::failed(error.to_string()))?;
    Ok(Some(Arc::new(wire)))
}

/// Whether agents of other programs can be reached.
pub(crate) fn check(_: &Remote) -> Result<(), String> {
    Ok(())
}
