//! Code for all model servers: the address and the key, sending one request, reading the frames of the answer,
//! classifying refusals, and the limits on all of these.

mod api_key;
mod base_url;
mod bounds;
mod call_id;
mod circuit;
mod connection;
mod failure;
mod frames;
mod http;
mod json;
mod reading;
mod refusal;
mod results;
mod retry_after;
mod settings;
mod tokens;
mod tool_name;

pub use api_key::ApiKey;
pub(crate) use base_url::with_version;
#[cfg(test)]
pub(crate) use bounds::STREAM_BYTES_MAX;
pub(crate) use bounds::Taken;
pub(crate) use call_id::call_id;
pub(crate) use circuit::circuit;
pub(crate) use failure::{Redaction, cut, incomplete, malformed, stalled};
pub(crate) use http::{Http, secret};
pub(crate) use json::is_json;
pub(crate) use reading::{Answer, Heard, read};
pub(crate) use refusal::{in_page, in_stream, refused};
pub(crate) use results::{Results, told};
pub(crate) use retry_after::retry_after;
pub use settings::ServerSettings;
pub(crate) use tokens::Tokens;
pub(crate) use tool_name::tool_name;
