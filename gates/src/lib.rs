//! Policy gates on other servers.
//!
//! [`HttpGate`] asks a server of yours before each call of a tool. Anything but a clear answer is a denial.

mod http;

pub use http::{ANSWER_BYTES_MAX, ASKED_FORMAT, HttpGate, HttpGateError};
