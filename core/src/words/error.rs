//! Errors as a session remembers them.

pub use holdover_store::{ERROR_DETAIL_BYTES_MAX, ErrorInfo};
