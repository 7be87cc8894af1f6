//! Layers that wrap any store. If a store passes the conformance suite, it also passes the suite behind these
//! layers, as long as no fault is planned.
//!
//! - [`Encoded`]: a store that keeps payloads [compressed](Compressed), [encrypted](Encrypted), or in a
//!   [codec](PayloadCodec) of your own.
//! - [`Faulty`]: a store that fails in the calls that a test chooses, for testing code that uses a store.
//! - [`Recording`]: a store that records each request and its answer.
//!
//! To write a layer of your own, see [`Layer`](holdover_store::Layer).

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
