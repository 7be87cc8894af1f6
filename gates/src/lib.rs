//! Policy gates that other servers decide.
//!
//! [`HttpGate`] asks a server of yours before each tool call. Anything but a clear answer is a denial.

mod http;

pub use http::{ANSWER_BYTES_MAX, ASKED_FORMAT, HttpGate, HttpGateError};
