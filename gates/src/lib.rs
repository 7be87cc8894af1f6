//! Policy gates and hooks whose decisions another server makes.
//!
//! [`HttpGate`] asks a server of yours before each tool call. Anything but a clear answer is a denial. [`HttpCarrier`]
//! makes a hook or a summariser of results from a server.

mod carrier;
mod client;
mod http;

pub use carrier::{HttpCarrier, HttpCarrierError};
pub use http::{ANSWER_BYTES_MAX, ASKED_FORMAT, HttpGate, HttpGateError};
