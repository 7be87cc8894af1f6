//! The encoding of an interrupt's reason, which a store keeps as text.

use bytes::Bytes;
use data_encoding::BASE64_NOPAD;
use holdover_store::ids::TenantId;
use holdover_store::payload::Encoding;

use super::{CodecError, PayloadCodec, PayloadContext, PayloadKind};

/// The prefix of an encoded reason. The rest is Base64 without padding.
const PREFIX: &str = "encoded:";

fn context(tenant: &TenantId) -> PayloadContext<'_> {
    PayloadContext { tenant, kind: PayloadKind::Reason }
}

/// Encodes a reason for the store.
pub(super) fn encode(
    codec: &impl PayloadCodec,
    tenant: &TenantId,
    reason: &str,
) -> Result<String, CodecError> {
    let encoded = codec.encode(&context(tenant), Bytes::copy_from_slice(reason.as_bytes()), 0)?;
    Ok(format!("{PREFIX}{}", BASE64_NOPAD.encode(&encoded)))
}

/// Decodes a reason from the store.
pub(super) fn decode(
    codec: &impl PayloadCodec,
    tenant: &TenantId,
    kept: &str,
    bytes_max: usize,
) -> Result<String, CodecError> {
    let encoded = match kept.strip_prefix(PREFIX) {
        Some(text) => BASE64_NOPAD.decode(text.as_bytes()).map_err(|_| CodecError::foreign())?,
        None => kept.into(),
    };
    let plain = codec.decode(&context(tenant), encoded.into(), bytes_max)?;
    String::from_utf8(plain.into()).map_err(|_| CodecError::new("it is no text"))
}

/// Returns the encoding of a stored reason, or none if the reason has no mark of an encoding.
pub fn encoding_of_reason(kept: &str) -> Option<Encoding> {
    Encoding::of(&BASE64_NOPAD.decode(kept.strip_prefix(PREFIX)?.as_bytes()).ok()?)
}

/// Returns the length of the longest reason whose encoded text has at most `bytes_max` bytes.
pub(super) fn bytes_max(codec: &impl PayloadCodec, bytes_max: usize) -> usize {
    let text = bytes_max.saturating_sub(PREFIX.len());
    // Base64 needs four characters for three bytes, and two or three for the last one or two.
    let encoded = text / 4 * 3 + (text % 4).saturating_sub(1);
    encoded.saturating_sub(codec.overhead_bytes_max())
}
