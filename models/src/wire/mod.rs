//! What speaking to any model server takes, whatever it speaks: where it is, which key it wants, what its
//! refusals mean, and how much of it is listened to.

mod api_key;
mod base_url;
pub(crate) mod bounds;
mod call_id;
mod failure;
mod refusal;
mod results;
mod retry_after;
mod settings;

pub use api_key::ApiKey;
pub(crate) use base_url::endpoint;
pub(crate) use call_id::call_id;
pub(crate) use failure::{Redaction, cut, incomplete, innermost, malformed, stalled};
pub(crate) use refusal::{in_stream, refused};
pub(crate) use results::{Results, told};
pub(crate) use retry_after::retry_after;
pub use settings::ServerSettings;
pub(crate) use settings::TIMEOUT_MS_MAX;
