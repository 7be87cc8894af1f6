//! Names and numbers: a type of its own for every id, version and place in a sequence.
//!
//! Text ids hold 1 to 128 bytes of UTF-8 without control characters. They are compared byte by byte:
//! case matters, a trailing space matters, and no character (`%`, `_`, `*`, `:`, `{`) is special. A
//! store binds or escapes them; it never builds a pattern from them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The longest text id, in bytes.
pub const ID_BYTES_MAX: usize = 128;

/// A text that cannot be an id, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// Ids are never empty.
    #[error("{kind} is empty")]
    Empty {
        /// Which id.
        kind: &'static str,
    },
    /// Ids hold at most [`ID_BYTES_MAX`] bytes.
    #[error("{kind} has {bytes} bytes, at most {ID_BYTES_MAX} are allowed")]
    TooLong {
        /// Which id.
        kind: &'static str,
        /// How long the text was.
        bytes: usize,
    },
    /// Control characters (NUL and line breaks among them) are refused.
    #[error("{kind} contains a control character at byte {at}")]
    Control {
        /// Which id.
        kind: &'static str,
        /// Offset of the first such character.
        at: usize,
    },
}

fn check(kind: &'static str, text: &str) -> Result<(), InvalidId> {
    if text.is_empty() {
        return Err(InvalidId::Empty { kind });
    }
    if text.len() > ID_BYTES_MAX {
        return Err(InvalidId::TooLong { kind, bytes: text.len() });
    }
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, _)) => Err(InvalidId::Control { kind, at }),
        None => Ok(()),
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes `text` as an id, or says why it cannot be one.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
                let text = text.as_ref();
                check($kind, text)?;
                Ok(Self(Arc::from(text)))
            }

            /// The text of the id, as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.to_string()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The next number.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

text_id!(
    /// Whose session it is. Part of every key.
    TenantId, "tenant id");
text_id!(
    /// The name of a session within its tenant.
    SessionId, "session id");
text_id!(
    /// The opaque label by which workers choose what they serve.
    QueueLabel, "queue label");
text_id!(
    /// Who holds a lease: a process, as it calls itself.
    WorkerId, "worker id");
text_id!(
    /// The caller's id of one run; also the operation id of the claim that begins it.
    RunId, "run id");
text_id!(
    /// The caller's id of one write, by which a repeat is recognised.
    OperationId, "operation id");
text_id!(
    /// The id of one tool call, unique in its session for ever.
    CallId, "call id");
text_id!(
    /// The id of one pending call. It contains the incarnation and the round of asking.
    PendingId, "pending id");
text_id!(
    /// The idempotency key of a delivery, unique in its session for ever.
    ItemKey, "item key");
text_id!(
    /// The id of one interrupt request.
    InterruptId, "interrupt id");
text_id!(
    /// The name by which a model asks for a tool.
    ToolName, "tool name");

number!(
    /// The number of a run. Rises with every claim of a session, never falls along an incarnation (INV-22).
    Epoch, u64);
number!(
    /// The version of a session row. Raised by claims, commits and compare-and-sets, by nothing else.
    Version, u64);
number!(
    /// The place of a message in its session: 1, 2, 3, … without holes (INV-02). 0 is before the first.
    MessageSeq, u64);
number!(
    /// The place of an event in its session: 1, 2, 3, … without holes (INV-02). 0 is before the first.
    EventSeq, u64);
number!(
    /// The place of an item in its session's inbox: 1, 2, 3, … 0 is before the first.
    InboxSeq, u64);
number!(
    /// The number of a step in its session: 1, 2, 3, … across turns.
    StepNumber, u64);
number!(
    /// The number of a turn in its session: 1, 2, 3, …
    TurnNumber, u64);
number!(
    /// The id of a checkpoint, rising along a session and its forks: the version that its commit made.
    CheckpointId, u64);
number!(
    /// The format of a session's state bytes. Workers name the newest they read.
    StateFormat, u32);

/// Drawn at random when a session is created, so that deleting and creating again revives no old fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(pub Uuid);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.simple())
    }
}

impl fmt::Debug for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.simple())
    }
}

impl PendingId {
    /// The id of the `round`th time that somebody is asked about `call`, in this life of its session.
    pub fn of(incarnation: Incarnation, call: &CallId, round: u32) -> Result<Self, InvalidId> {
        Self::new(format!("{incarnation}.{call}.{round}"))
    }

    /// The life of a session and the call that it was made [`of`](Self::of). None: it was made of nothing such.
    pub fn parts(&self) -> Option<(Incarnation, CallId)> {
        let (incarnation, rest) = self.as_str().split_once('.')?;
        let (call, round) = rest.rsplit_once('.')?;
        round.parse::<u32>().ok()?;
        Some((Incarnation(Uuid::try_parse(incarnation).ok()?), CallId::new(call).ok()?))
    }
}

/// The key of a session: tenant and id together, in every query.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// Whose session.
    pub tenant: TenantId,
    /// Which session.
    pub id: SessionId,
}

impl SessionKey {
    /// The key of session `id` of `tenant`.
    pub fn new(tenant: TenantId, id: SessionId) -> Self {
        Self { tenant, id }
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.id)
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.id)
    }
}

/// What every write of a run carries; a store refuses an old one (INV-22).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fence {
    /// Which session.
    pub key: SessionKey,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Which run of it.
    pub epoch: Epoch,
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} run {}", self.key, self.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_id_says_what_it_was_made_of() {
        let (life, call) = (Incarnation(Uuid::from_u128(7)), CallId::new("c1.x-0").unwrap());
        let id = PendingId::of(life, &call, 2).unwrap();
        assert_eq!(id.as_str(), "00000000000000000000000000000007.c1.x-0.2");
        assert_eq!(id.parts(), Some((life, call)));
        for made_up in ["c1-0", "x.c1-0.1", "00000000000000000000000000000007.c1-0", "7.c1-0.1"] {
            assert_eq!(PendingId::new(made_up).unwrap().parts(), None, "{made_up}");
        }
    }

    #[test]
    fn text_ids_take_every_printable_character_and_refuse_the_rest() {
        for good in ["a", "%", "_", "*", "{a}", "a:", "a b ", "é", &"x".repeat(ID_BYTES_MAX)] {
            assert_eq!(SessionId::new(good).expect("a good id").as_str(), good);
        }
        assert_eq!(SessionId::new(""), Err(InvalidId::Empty { kind: "session id" }));
        assert_eq!(SessionId::new("a\0"), Err(InvalidId::Control { kind: "session id", at: 1 }));
        let long = "x".repeat(ID_BYTES_MAX + 1);
        assert_eq!(
            SessionId::new(long),
            Err(InvalidId::TooLong { kind: "session id", bytes: ID_BYTES_MAX + 1 })
        );
    }

    #[test]
    fn a_stored_id_is_checked_again_when_it_is_read() {
        assert!(serde_json::from_str::<SessionId>("\"\"").is_err());
    }
}
