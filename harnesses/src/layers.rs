//! The stores of another harness, each inside a layer.
//!
//! The encrypting layers use keys that are published here, so they protect nothing.

use std::sync::Arc;

use holdover_conformance_tests::{StoreHarness, Wrapped};
use holdover_store_layers::{
    Compressed, Encoded, Encrypted, EncryptionKey, Faults, Faulty, KeyId, Keyring, OrPlain, PayloadCodec,
    Recorder, Recording, Then,
};

/// The number of requests that a recording layer keeps.
const RECORDED: usize = 16;

/// Wraps the stores of `harness` in a layer that can inject faults. No fault is planned.
pub fn faulty<H: StoreHarness>(harness: H) -> impl StoreHarness<Store = Faulty<H::Store>> {
    Wrapped::new(harness, |store: Arc<H::Store>| Faults::default().around(store))
}

/// Wraps the stores of `harness` in a layer that records requests and answers.
pub fn recording<H: StoreHarness>(harness: H) -> impl StoreHarness<Store = Recording<H::Store>> {
    Wrapped::new(harness, |store: Arc<H::Store>| Recorder::new(RECORDED).around(store))
}

/// Wraps the stores of `harness` in a layer that compresses payloads.
pub fn compressed<H: StoreHarness>(harness: H) -> impl StoreHarness<Store = Encoded<H::Store, Compressed>> {
    Wrapped::new(harness, |store: Arc<H::Store>| Compressed::new().around(store))
}

/// Wraps the stores of `harness` in a layer that encrypts payloads.
pub fn encrypted<H: StoreHarness>(harness: H) -> impl StoreHarness<Store = Encoded<H::Store, Encrypted>> {
    Wrapped::new(harness, |store: Arc<H::Store>| Encrypted::new(ring(&[2, 1])).around(store))
}

/// Wraps the stores of `harness` in a layer that compresses payloads and then encrypts them.
pub fn compressed_then_encrypted<H: StoreHarness>(
    harness: H,
) -> impl StoreHarness<Store = Encoded<H::Store, Then<Compressed, Encrypted>>> {
    Wrapped::new(harness, |store: Arc<H::Store>| {
        Compressed::new().then(Encrypted::new(ring(&[1]))).around(store)
    })
}

/// Wraps the stores of `harness` in a layer that encrypts payloads, and also reads payloads that are not encrypted.
pub fn encrypted_or_plain<H: StoreHarness>(
    harness: H,
) -> impl StoreHarness<Store = Encoded<H::Store, OrPlain<Encrypted>>> {
    Wrapped::new(harness, |store: Arc<H::Store>| Encrypted::new(ring(&[1])).or_plain().around(store))
}

/// Returns a ring that writes with the first of these keys and reads with all of them.
fn ring(ids: &[u8]) -> Keyring {
    let bytes = |id: u8| std::array::from_fn(|place| id ^ (place as u8).wrapping_mul(151));
    let key = |id: &u8| (KeyId(u32::from(*id)), EncryptionKey::new(bytes(*id)));
    Keyring::new(KeyId(u32::from(ids[0])), ids.iter().map(key)).expect("a ring of known keys")
}
