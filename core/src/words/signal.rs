//! Named signals: words from outside that a session holds until a call waits for their name.
//!
//! A signal lies in the inbox of its session. It begins no turn and stops nothing. The call that takes it takes the oldest
//! signal of its name, in the commit that makes the result durable. A signal outlives the turn, an interrupt and a
//! summary. It is dropped when the session is deleted, and a fork does not take it along.

use holdover_store::text_id;
use serde::{Deserialize, Serialize};

use crate::store::{ItemKind, StoredItem, Wake};
use crate::words::ids::{InvalidId, KindName};

text_id!(
    /// The name of a signal. It consists of ASCII letters, digits, `_` and `-`, and has at most 64 bytes.
    SignalName, "signal name", Plain);

/// The most signals that a session holds. [`Runtime::signal`] refuses more, except one that a call waits for. Callers that
/// signal at the same moment may exceed it, each by one signal.
///
/// [`Runtime::signal`]: https://docs.rs/holdover/latest/holdover/struct.Runtime.html#method.signal
pub const SIGNALS_HELD_MAX: usize = 256;

/// The most bytes of the body of a signal, as JSON text.
pub const SIGNAL_BODY_BYTES_MAX: usize = 64 * 1024;

/// The wire name of the kind of an inbox item that is a named signal. Versions that do not know the kind keep the item.
const KIND: &str = "named_signal";

/// The content of a named signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NamedSignal {
    /// The name that a call waits for.
    pub name: SignalName,
    /// The body, as JSON text. It is the result of the call that takes the signal, to the byte.
    pub body: String,
}

impl NamedSignal {
    /// Creates a signal. `body` is JSON text; it is not checked here.
    pub fn new(name: SignalName, body: impl Into<String>) -> Self {
        Self { name, body: body.into() }
    }

    /// Returns the signal that an inbox item is, if it is one that this version can read.
    pub fn of(item: &StoredItem) -> Option<Self> {
        is_signal(item).then(|| item.payload.parse().ok()).flatten()
    }
}

/// Returns the name of the signal that an inbox item is, without reading the body.
pub(crate) fn name_of(item: &StoredItem) -> Option<SignalName> {
    #[derive(Deserialize)]
    struct Named {
        name: SignalName,
    }
    is_signal(item).then(|| item.payload.parse::<Named>().ok()).flatten().map(|named| named.name)
}

/// Returns the kind of an inbox item that is a named signal.
///
/// # Errors
/// Does not fail: the name of the kind is valid.
pub fn signal_kind(wake: Wake) -> Result<ItemKind, InvalidId> {
    Ok(ItemKind::Other { name: KindName::new(KIND)?, wake })
}

/// Returns true if an inbox item is a named signal, even if its content cannot be read.
pub fn is_signal(item: &StoredItem) -> bool {
    matches!(&item.kind, ItemKind::Other { name, .. } if name.as_str() == KIND)
}
