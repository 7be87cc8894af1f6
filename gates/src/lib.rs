//! Policy gates that are asked elsewhere.
//!
//! [`HttpGate`] asks a server of yours before each call of a tool. What is not a clear word of it is a denial.

mod http;

pub use http::{ANSWER_BYTES_MAX, ASKED_FORMAT, HttpGate, HttpGateError};
