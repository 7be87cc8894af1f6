//! The names of the corpus's sessions, and the runtimes that reach them.

use std::sync::Arc;
use std::time::Duration;

use holdover::prelude::*;
use holdover::session::Message;
use holdover::store::StateStore;
use holdover::store::layers::{Compressed, Encrypted, EncryptionKey, KeyId, Keyring, PayloadCodec};

/// The sessions, each named by what it waits for or by what happened to it.
pub(crate) const CAST: [&str; 18] = [
    "rests",
    "approval",
    "client",
    "sleeps",
    "backs-off",
    "failed",
    "interrupted",
    "in-the-middle",
    "one-of-two",
    "queued",
    "staged",
    "mid-answer",
    "to-abort",
    "aborted",
    "forked",
    "edited",
    "shortened",
    "deleted",
];

/// A session that waits for an approval, encrypted under a key that only the runtime of [`sealed`] has.
pub(crate) const SEALED: &str = "sealed";

/// The fork of the session `forked`.
pub(crate) const FORK: &str = "fork";

/// The file in a release's folder that lists the names of its sessions.
pub(crate) const SESSIONS: &str = "sessions.txt";

pub(crate) fn key(id: &str) -> SessionKey {
    let tenant = if id == SEALED { "sealed" } else { "acme" };
    SessionKey::new(TenantId::new(tenant).unwrap(), SessionId::new(id).unwrap())
}

pub(crate) fn say(agent: &Arc<Agent>, id: &str, text: &str) -> Execute {
    let key = key(id);
    Execute::new(key.tenant, Arc::clone(agent), text).in_session(key.id)
}

pub(crate) fn runtime<S: StateStore>(store: &Arc<S>, agent: &Arc<Agent>) -> Runtime {
    let options = RuntimeOptions::default().lease(Duration::from_secs(1));
    Runtime::new(Arc::clone(store), Agents::new().with(Arc::clone(agent)), options)
}

/// Returns a runtime whose stored payloads are compressed and encrypted.
pub(crate) fn sealed<S: StateStore>(store: &Arc<S>, agent: &Arc<Agent>) -> Runtime {
    let ring = Keyring::of(KeyId(1), EncryptionKey::new([7; EncryptionKey::BYTES]));
    let encrypted = Encrypted::new(ring).around::<S>(Arc::clone(store));
    runtime(&Arc::new(Compressed::default().around(encrypted)), agent)
}

pub(crate) async fn transcript(runtime: &Runtime, id: &str) -> Vec<Message> {
    runtime.messages(&key(id)).await.unwrap().into_iter().map(|entry| entry.message).collect()
}
