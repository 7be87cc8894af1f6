//! What asks servers over HTTP: models, gates and hooks. A build without the feature `http` has stand-ins for them.

#[cfg(feature = "http")]
pub(crate) use holdover_gates::{HttpCarrier, HttpGate};
#[cfg(feature = "http")]
pub(crate) use holdover_models::connect;

#[cfg(not(feature = "http"))]
pub(crate) use crate::left_out::http::{HttpCarrier, HttpGate, connect};
