//! Compression.

use std::io;

use bytes::Bytes;
use holdover_store::payload::Encoding;

use super::{CodecError, PayloadCodec, PayloadContext, PayloadKind};

const STORED: u8 = Encoding::STORED;
const ZSTANDARD: u8 = Encoding::ZSTANDARD;

/// What is shorter is not worth a frame.
const BYTES_MIN: usize = 32;
const LEVEL: i32 = 3;

/// Payloads compressed with Zstandard, where that makes them smaller.
///
/// One version of the compressor is pinned, because a repeat is recognised by its bytes. If a release of this
/// crate takes another one, its changelog says so: then a repeat of what was delivered or staged before may
/// be answered as a conflict.
///
/// Compress before encrypting: what is encrypted has nothing left to compress. The length of what is kept
/// then tells how well it compresses; where somebody may choose a part of a payload to learn the rest of it
/// from lengths, leave compression out.
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
    /// Compresses.
    pub fn new() -> Self {
        Self { now: Form::Zstandard }
    }

    /// Compresses no more, and reads what was compressed.
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
            // It is digested: there is nothing to save, and another version of the library must not change it.
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

/// Whether the frame says that it holds more.
fn is_larger(frame: &[u8], bytes_max: usize) -> bool {
    let says = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten();
    says.is_some_and(|bytes| usize::try_from(bytes).map_or(true, |bytes| bytes > bytes_max))
}

fn cannot_compress(error: io::Error) -> CodecError {
    CodecError::new(format!("it cannot be compressed: {error}"))
}
