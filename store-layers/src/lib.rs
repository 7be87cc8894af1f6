//! Layers around any store. A layer around a store that passes the conformance suite passes it, too.
//!
//! - [`Encoded`]: a store that keeps payloads [compressed](Compressed), [encrypted](Encrypted), or in a
//!   [codec](PayloadCodec) of your own.
//! - [`Faulty`]: a store that fails where a test tells it to, for tests of code that is built on a store.
//! - [`Recording`]: a store that records each request and its answer.
//!
//! A layer of your own is one function: see [`Layer`](holdover_store::Layer).

mod codec;
mod faulty;
mod recording;

pub use codec::{
    CodecError, Compressed, DECODED_BYTES_MAX, Encoded, Encoding, Encrypted, EncryptionKey, InvalidKey,
    InvalidKeyring, KeyId, Keyring, OrPlain, PayloadCodec, PayloadContext, PayloadKind, Then,
    encoding_of_reason,
};
pub use faulty::{Fault, Faults, Faulty, Planned};
pub use recording::{Entry, Recorder, Recording, Said};
