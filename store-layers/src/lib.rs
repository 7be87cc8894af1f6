//! Layers around any store. Each passes the conformance suite around a store that does.
//!
//! - [`Encoded`]: a store that keeps payloads [compressed](Compressed), [encrypted](Encrypted), or as a
//!   [codec](PayloadCodec) of one's own says.
//! - [`Faulty`]: a store that fails where it is told to, for tests of what is built on a store.
//! - [`Recording`]: a store that keeps what was asked of it and what it answered.
//!
//! A layer of one's own is one function: see [`Layer`](holdover_store::Layer).

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
