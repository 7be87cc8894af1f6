//! The error type that sessions store.

pub use holdover_store::{ERROR_DETAIL_BYTES_MAX, ErrorInfo};
