//! Ids and numbers. Every id, version and position in a sequence has its own type.
//!
//! Text ids hold 1 to 128 bytes of UTF-8 without control characters. They are compared byte by byte: case
//! matters, a trailing space matters, and no character (`%`, `_`, `*`, `:`, `{`) is special. A store must
//! bind or escape ids, and never build a pattern from them.
//!
//! Crates that build on this one can define more ids with [`text_id`](crate::text_id) and
//! [`number`](crate::number).
//!
//! There are two ways to get an id. `new` makes an id that did not exist before. It also applies the
//! [`Spelling`] of the id's type: most ids that people choose must not contain invisible characters, a
//! session id must not contain white space, and a name that other services must accept may contain only
//! characters that all of them accept. `parse`, `TryFrom<String>` and serde read an id that already exists.
//! They accept every id that an earlier version accepted.

#[macro_use]
mod define;

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::text::{is_hidden, is_joiner};

/// The longest text id, in bytes.
pub const ID_BYTES_MAX: usize = 128;

/// The longest new id with the spelling [`Plain`](Spelling::Plain), in bytes.
pub const PLAIN_BYTES_MAX: usize = 64;

/// The reason why a text cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// The text is empty.
    #[error("{kind} is empty")]
    Empty {
        /// The name of the id's type, as errors show it.
        kind: &'static str,
    },
    /// The text is too long. An id has at most [`ID_BYTES_MAX`] bytes, and a new id with the spelling
    /// [`Plain`](Spelling::Plain) at most [`PLAIN_BYTES_MAX`].
    #[error("{kind} has {bytes} bytes, at most {bytes_max} are allowed")]
    TooLong {
        /// The name of the id's type, as errors show it.
        kind: &'static str,
        /// The length of the text, in bytes.
        bytes: usize,
        /// The greatest length that is allowed, in bytes.
        bytes_max: usize,
    },
    /// The text contains a control character, such as NUL or a line break.
    #[error("{kind} contains a control character at byte {at}")]
    Control {
        /// The name of the id's type, as errors show it.
        kind: &'static str,
        /// The offset of the first control character, in bytes.
        at: usize,
    },
    /// The text contains a character that is invisible or changes the direction of writing. New ids with the
    /// spelling `Visible` or `Word` must not.
    #[error("{kind} contains the invisible character U+{:04X} at byte {at}", u32::from(*character))]
    Hidden {
        /// The name of the id's type, as errors show it.
        kind: &'static str,
        /// The first invisible character.
        character: char,
        /// The offset of that character, in bytes.
        at: usize,
    },
    /// The text contains white space. New ids with the spelling `Word`, such as session ids, must not.
    #[error("{kind} contains a blank at byte {at}")]
    Blank {
        /// The name of the id's type, as errors show it.
        kind: &'static str,
        /// The offset of the first white space, in bytes.
        at: usize,
    },
    /// The text contains a character other than ASCII letters, digits, `_` and `-`. New ids with the spelling
    /// [`Plain`](Spelling::Plain) must not.
    #[error(
        "{kind} contains {character:?} at byte {at}; providers take only the letters a to z and A to Z, digits, _ and -"
    )]
    NotPlain {
        /// The name of the id's type, as errors show it.
        kind: &'static str,
        /// The first character that is not allowed.
        character: char,
        /// The offset of that character, in bytes.
        at: usize,
    },
}

/// The spelling rules for a new id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// No rules beyond those for every id.
    Free,
    /// No character is [hidden](is_hidden) or a [joiner](is_joiner). White space is allowed.
    Visible,
    /// As [`Visible`](Self::Visible), and no character is white space.
    Word,
    /// At most [`PLAIN_BYTES_MAX`] bytes: ASCII letters, digits, `_` and `-`, which every model provider accepts in
    /// the name of a tool.
    Plain,
}

/// Checks the rules for every id, new or not.
///
/// # Errors
/// Returns the rule that the text breaks.
pub fn check(kind: &'static str, text: &str) -> Result<(), InvalidId> {
    if text.is_empty() {
        return Err(InvalidId::Empty { kind });
    }
    check_length(kind, text, ID_BYTES_MAX)?;
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, _)) => Err(InvalidId::Control { kind, at }),
        None => Ok(()),
    }
}

fn check_length(kind: &'static str, text: &str, bytes_max: usize) -> Result<(), InvalidId> {
    let bytes = text.len();
    if bytes > bytes_max { Err(InvalidId::TooLong { kind, bytes, bytes_max }) } else { Ok(()) }
}

/// Checks the additional rules for a new id.
///
/// # Errors
/// Returns the rule that the text breaks.
pub fn check_spelling(kind: &'static str, text: &str, spelling: Spelling) -> Result<(), InvalidId> {
    if spelling == Spelling::Plain {
        check_length(kind, text, PLAIN_BYTES_MAX)?;
    }
    for (at, character) in text.char_indices() {
        match spelling {
            Spelling::Free => return Ok(()),
            Spelling::Plain if !is_plain(character) => {
                return Err(InvalidId::NotPlain { kind, character, at });
            }
            Spelling::Plain => {}
            Spelling::Visible | Spelling::Word if is_hidden(character) || is_joiner(character) => {
                return Err(InvalidId::Hidden { kind, character, at });
            }
            Spelling::Word if character.is_whitespace() => return Err(InvalidId::Blank { kind, at }),
            Spelling::Visible | Spelling::Word => {}
        }
    }
    Ok(())
}

/// Returns true if `c` is allowed in a [`Plain`](Spelling::Plain) name: an ASCII letter, a digit, `_` or `-`.
pub fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

text_id!(
    /// The id of a tenant, the owner of sessions. It is part of every key.
    TenantId, "tenant id", Visible);
text_id!(
    /// The name of a session within its tenant.
    SessionId, "session id", Word);
text_id!(
    /// An opaque label of a session. Workers use it to choose the sessions that they claim.
    QueueLabel, "queue label", Free);
text_id!(
    /// The name of a worker, which claims sessions and holds their leases.
    WorkerId, "worker id", Visible);
text_id!(
    /// The caller's id of one run. It is also the operation id of the claim that begins the run.
    RunId, "run id", Free);
text_id!(
    /// The caller's id of one write. The store uses it to recognise a repeat.
    OperationId, "operation id", Free);
text_id!(
    /// The id of one tool call. A session never reuses it.
    CallId, "call id", Free);
text_id!(
    /// The id of one pending call. It contains the incarnation, the call, and the round of asking.
    PendingId, "pending id", Free);
text_id!(
    /// The idempotency key of a delivery. A session accepts only one item under each key.
    ItemKey, "item key", Free);
text_id!(
    /// The name of a kind that this version does not know. It consists of ASCII letters, digits, `_` and `-`.
    KindName, "name of a kind", Plain);
text_id!(
    /// The id of one interrupt request.
    InterruptId, "interrupt id", Free);
number!(
    /// The number of a run. Every claim of a session raises the number, which never falls within an incarnation
    /// (INV-22).
    Epoch, u64);
number!(
    /// The version of a session row. Only claims, commits and compare-and-sets raise it.
    Version, u64);
number!(
    /// The place of a message in its session: 1, 2, 3, … without gaps (INV-02). 0 precedes the first.
    MessageSeq, u64);
number!(
    /// The place of an event in its session: 1, 2, 3, … without gaps (INV-02). 0 precedes the first.
    EventSeq, u64);
number!(
    /// The place of an item in its session's inbox: 1, 2, 3, … 0 precedes the first.
    InboxSeq, u64);
number!(
    /// The id of a checkpoint: the version of the session after the commit or fork that made the checkpoint. The ids
    /// rise along a session and its forks.
    CheckpointId, u64);
number!(
    /// The format of a session's state bytes. A worker names the newest format that it can read.
    StateFormat, u32);

/// The id of a session's incarnation, which its creator draws at random or [derives](Self::derived). If a session is
/// deleted and created again, it has another incarnation, so fences with the old one stay invalid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(pub Uuid);

impl Incarnation {
    /// Derives an incarnation from bytes, which must be indistinguishable from random. The same bytes give
    /// the same id.
    pub fn derived(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

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
    /// Returns the id of the pending call that asks about `call` for the `round`th time, in this incarnation of its
    /// session. Fails if the id would be too long.
    pub fn of(incarnation: Incarnation, call: &CallId, round: u32) -> Result<Self, InvalidId> {
        Self::new(format!("{incarnation}.{call}.{round}"))
    }

    /// Returns the incarnation and the call from which [`of`](Self::of) made the id, or none if the id does
    /// not have that form.
    pub fn parts(&self) -> Option<(Incarnation, CallId)> {
        let (incarnation, rest) = self.as_str().split_once('.')?;
        let (call, round) = rest.rsplit_once('.')?;
        round.parse::<u32>().ok()?;
        Some((Incarnation(Uuid::try_parse(incarnation).ok()?), CallId::new(call).ok()?))
    }

    /// Returns the round from which [`of`](Self::of) made the id, or none if the id has no number at its end.
    pub fn round(&self) -> Option<u32> {
        self.as_str().rsplit_once('.')?.1.parse().ok()
    }
}

/// The key of a session: its tenant, and its id within that tenant.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// The tenant.
    pub tenant: TenantId,
    /// The id of the session.
    pub id: SessionId,
}

impl SessionKey {
    /// Returns the key of session `id` of `tenant`.
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

/// The fence that every write of a run carries. A store refuses an old one (INV-22).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fence {
    /// The session.
    pub key: SessionKey,
    /// The incarnation of the session.
    pub incarnation: Incarnation,
    /// The number of the run.
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
        for good in ["a", "%", "_", "*", "{a}", "a:", "é", &"x".repeat(ID_BYTES_MAX)] {
            assert_eq!(SessionId::new(good).expect("a good id").as_str(), good);
        }
        assert_eq!(SessionId::new(""), Err(InvalidId::Empty { kind: "session id" }));
        assert_eq!(SessionId::new("a\0"), Err(InvalidId::Control { kind: "session id", at: 1 }));
        let (bytes, bytes_max) = (ID_BYTES_MAX + 1, ID_BYTES_MAX);
        let too_long = Err(InvalidId::TooLong { kind: "session id", bytes, bytes_max });
        assert_eq!(SessionId::new("x".repeat(bytes)), too_long);
    }

    /// Unusual ids that earlier versions accepted.
    const ODD: [&str; 7] = [" ", "a b", "a\u{3000}b", "ab\u{202e}dc", "a\u{200b}", "a\u{200d}b", "\u{feff}a"];

    #[test]
    fn a_new_session_id_has_no_blank_and_nothing_that_cannot_be_seen() {
        for odd in ODD {
            let why = SessionId::new(odd).expect_err(odd).to_string();
            assert!(why.starts_with("session id contains ") && !why.chars().any(is_hidden), "{why}");
        }
        assert!(TenantId::new("Acme Inc").is_ok() && WorkerId::new("host a").is_ok());
        assert!(TenantId::new("acme\u{202e}").is_err() && WorkerId::new("host\u{200b}").is_err());
    }

    #[test]
    fn an_id_that_exists_is_read_however_it_is_spelt() {
        for odd in ODD {
            let json = serde_json::to_string(odd).expect("JSON");
            assert_eq!(serde_json::from_str::<SessionId>(&json).expect(odd).as_str(), odd);
            assert_eq!(odd.parse::<SessionId>().expect(odd).as_str(), odd);
            assert_eq!(TenantId::try_from(odd.to_owned()).expect(odd).as_str(), odd);
            let key = SessionKey { tenant: odd.parse().expect(odd), id: odd.parse().expect(odd) };
            let stored = serde_json::to_string(&key).expect("JSON");
            assert_eq!(serde_json::from_str::<SessionKey>(&stored).expect(odd), key);
        }
    }

    #[test]
    fn a_stored_id_is_checked_again_when_it_is_read() {
        assert!(serde_json::from_str::<SessionId>("\"\"").is_err());
    }
}
