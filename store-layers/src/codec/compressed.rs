//! Compression of payloads.

use std::io;

use bytes::Bytes;
use holdover_store::payload::Encoding;

use super::{CodecError, PayloadCodec, PayloadContext, PayloadKind};

const STORED: u8 = Encoding::STORED;
const ZSTANDARD: u8 = Encoding::ZSTANDARD;

/// The length from which payloads are compressed, in bytes.
const BYTES_MIN: usize = 32;
const LEVEL: i32 = 3;

/// A codec that compresses payloads with Zstandard if that makes them smaller.
///
/// The version of the compressor is pinned, because a store recognises a repeat by its bytes. The changelog
/// says if a release of this crate changes that version. After such a release, a repeat of an older delivery
/// or staging may be refused as a conflict.
///
/// Compress before encrypting, because encrypted bytes do not compress. If an attacker can choose a part of a
/// payload and see the stored lengths, do not compress, because the lengths may reveal the rest of the
/// payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compressed {
    now: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Zstandard,
    Stored,
}

impl Compressed {
    /// Makes a codec that compresses new payloads.
    pub fn new() -> Self {
        Self { now: Form::Zstandard }
    }

    /// Makes a codec that writes new payloads uncompressed, and still reads compressed ones.
    pub fn no_more() -> Self {
        Self { now: Form::Stored }
    }
}

impl Default for Compressed {
    fn default() -> Self {
        Self::new()
    }
}

impl PayloadCodec for Compressed {
    fn overhead_bytes_max(&self) -> usize {
        1
    }

    fn ways(&self) -> usize {
        2
    }

    fn encode(&self, of: &PayloadContext<'_>, plain: Bytes, way: usize) -> Result<Bytes, CodecError> {
        if of.kind == PayloadKind::Key {
            // Keys are only digested, so compression saves nothing, and a new compressor version must not
            // change them.
            return Ok(plain);
        }
        let form = match (self.now, way) {
            (now, 0) => now,
            (Form::Zstandard, _) => Form::Stored,
            (Form::Stored, _) => Form::Zstandard,
        };
        let frame = match form {
            Form::Zstandard if plain.len() >= BYTES_MIN => {
                let frame = zstd::bulk::compress(&plain, LEVEL);
                Some(frame.map_err(cannot_compress)?).filter(|frame| frame.len() < plain.len())
            }
            Form::Zstandard | Form::Stored => None,
        };
        Ok(match frame {
            Some(frame) => [&[ZSTANDARD], frame.as_slice()].concat().into(),
            None => [&[STORED], &*plain].concat().into(),
        })
    }

    fn decode(&self, _: &PayloadContext<'_>, encoded: Bytes, bytes_max: usize) -> Result<Bytes, CodecError> {
        match encoded.split_first() {
            Some((&STORED, _)) => Ok(encoded.slice(1..)),
            Some((&ZSTANDARD, frame)) => match zstd::bulk::decompress(frame, bytes_max) {
                Ok(plain) => Ok(plain.into()),
                Err(_) if is_larger(frame, bytes_max) => Err(CodecError::too_large(bytes_max)),
                Err(_) => Err(CodecError::new("it cannot be decompressed")),
            },
            Some(_) | None => Err(CodecError::foreign()),
        }
    }

    fn marks(&self, encoded: &[u8]) -> bool {
        matches!(encoded.first(), Some(&STORED | &ZSTANDARD))
    }
}

/// Returns true if the frame's header gives a content size above `bytes_max`.
fn is_larger(frame: &[u8], bytes_max: usize) -> bool {
    let says = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten();
    says.is_some_and(|bytes| usize::try_from(bytes).map_or(true, |bytes| bytes > bytes_max))
}

fn cannot_compress(error: io::Error) -> CodecError {
    CodecError::new(format!("it cannot be compressed: {error}"))
}
