//! The files that a message mentions, as its sender saw them.
//!
//! Requirements: B09, G02.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words::payload::Digest;

/// The maximum number of files that one message mentions.
pub const MENTIONS_MAX: usize = 64;

/// The maximum length of the path of a mentioned file, in bytes.
pub const MENTION_PATH_BYTES_MAX: usize = 1_024;

/// A file that a message mentions: its path, and the digest and size that it had when the message was sent. The file
/// itself is not stored.
///
/// The path is relative to the folder of the agent's file tools. Its components are joined by `/`, and none of them is
/// empty, `.` or `..`. It has no control characters and at most [`MENTION_PATH_BYTES_MAX`] bytes. Stored mentions are
/// checked in the same way when they are read.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Mention {
    path: String,
    found: Found,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    File { sha256: Digest, bytes: u64 },
    NotRead(NotRead),
}

/// The reason why a mentioned file has no digest.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotRead {
    /// There is nothing under this path.
    Missing,
    /// The path names a folder.
    Folder,
    /// The path names something else than a file, for example a pipe.
    NoFile,
    /// The file is larger than the sender was willing to read.
    TooLarge,
    /// The path leads out of the folder through a symbolic link.
    Outside,
    /// The file could not be read for another reason. Reasons that only a newer version knows are read as this one.
    #[serde(other)]
    Unreadable,
}

impl fmt::Display for NotRead {
    /// Writes the reason for people and models.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "does not exist",
            Self::Folder => "is a folder",
            Self::NoFile => "is no regular file",
            Self::TooLarge => "is too large to be tracked",
            Self::Outside => "leads out of the folder",
            Self::Unreadable => "could not be read",
        })
    }
}

/// The reason why something is not a mention, or not a list of mentions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidMention {
    /// The path is longer than [`MENTION_PATH_BYTES_MAX`].
    #[error("the path has {0} bytes, at most {MENTION_PATH_BYTES_MAX} are allowed")]
    TooLong(usize),
    /// The path is empty, absolute, not in normal form, or has control characters.
    #[error("path {0:?} is no path of a file beneath a folder, such as src/main.rs")]
    Path(String),
    /// A stored mention has neither a digest and a size, nor a reason why they are missing.
    #[error("path {0:?}: needs sha256 and bytes, or not_read")]
    Incomplete(String),
    /// There are more than [`MENTIONS_MAX`] mentions.
    #[error("there are {0} mentioned files, at most {MENTIONS_MAX} are allowed")]
    TooMany(usize),
}

impl Mention {
    /// Returns a mention of a file with this content.
    ///
    /// # Errors
    /// Fails if the path is not a valid path of a mention.
    pub fn file(path: impl Into<String>, sha256: Digest, bytes: u64) -> Result<Self, InvalidMention> {
        Self::checked(path.into(), Found::File { sha256, bytes })
    }

    /// Returns a mention of a file that could not be read.
    ///
    /// # Errors
    /// Fails if the path is not a valid path of a mention.
    pub fn not_read(path: impl Into<String>, why: NotRead) -> Result<Self, InvalidMention> {
        Self::checked(path.into(), Found::NotRead(why))
    }

    fn checked(path: String, found: Found) -> Result<Self, InvalidMention> {
        if path.len() > MENTION_PATH_BYTES_MAX {
            return Err(InvalidMention::TooLong(path.len()));
        }
        let is_normal = path.split('/').all(|name| !matches!(name, "" | "." | ".."));
        if !is_normal || path.chars().any(char::is_control) {
            return Err(InvalidMention::Path(path));
        }
        Ok(Self { path, found })
    }

    /// Returns the path of the file, relative to the folder of the agent's file tools.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the SHA-256 digest of the file when the message was sent. `None` if it was not read.
    pub fn sha256(&self) -> Option<Digest> {
        match self.found {
            Found::File { sha256, .. } => Some(sha256),
            Found::NotRead(_) => None,
        }
    }

    /// Returns the size of the file in bytes when the message was sent. `None` if it was not read.
    pub fn bytes(&self) -> Option<u64> {
        match self.found {
            Found::File { bytes, .. } => Some(bytes),
            Found::NotRead(_) => None,
        }
    }

    /// Returns the reason why the file was not read. `None` if it was read.
    pub fn why_not_read(&self) -> Option<NotRead> {
        match self.found {
            Found::File { .. } => None,
            Found::NotRead(why) => Some(why),
        }
    }
}

impl fmt::Display for Mention {
    /// Writes the path with the size, or with the reason why the file was not read, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Found::File { bytes, .. } => write!(f, "{} ({bytes} bytes)", self.path),
            Found::NotRead(why) => write!(f, "{} ({why})", self.path),
        }
    }
}

/// The stored form of a mention.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize, Deserialize)]
struct Written {
    /// The path, as the message names it.
    path: String,
    /// The digest of the content that the sender saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<Digest>,
    /// The size of that content, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// The reason why the file was not read. Absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_read: Option<NotRead>,
}

impl From<Mention> for Written {
    fn from(mention: Mention) -> Self {
        let (sha256, bytes, not_read) = (mention.sha256(), mention.bytes(), mention.why_not_read());
        Self { path: mention.path, sha256, bytes, not_read }
    }
}

impl TryFrom<Written> for Mention {
    type Error = InvalidMention;

    fn try_from(written: Written) -> Result<Self, InvalidMention> {
        match (written.sha256, written.bytes, written.not_read) {
            (Some(sha256), Some(bytes), None) => Self::file(written.path, sha256, bytes),
            (None, None, Some(why)) => Self::not_read(written.path, why),
            _ => Err(InvalidMention::Incomplete(written.path)),
        }
    }
}

/// The files that one message mentions, in order, each path once. There are at most [`MENTIONS_MAX`], unless they were
/// read from the store.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mentions(Vec<Mention>);

impl Mentions {
    /// Returns an empty list.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Collects mentions in this order. Of several mentions of one path, only the first is kept.
    ///
    /// # Errors
    /// Fails if there are more than [`MENTIONS_MAX`] paths.
    pub fn of(mentions: impl IntoIterator<Item = Mention>) -> Result<Self, InvalidMention> {
        let mut paths = BTreeSet::new();
        let mut mentions: Vec<Mention> = mentions.into_iter().collect();
        mentions.retain(|mention| paths.insert(mention.path.clone()));
        match mentions.len() {
            0..=MENTIONS_MAX => Ok(Self(mentions)),
            many => Err(InvalidMention::TooMany(many)),
        }
    }

    /// Returns true if no file is mentioned.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the mentions, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Mention> {
        self.0.iter()
    }

    /// Returns the line that tells a model about the mentioned files: their paths, and their sizes or the reasons why
    /// they were not read. `None` if no file is mentioned. An adapter of a model puts this line beside the text of the
    /// message.
    ///
    /// ```
    /// use holdover_core::message::{Mention, Mentions, NotRead};
    /// use holdover_core::payload::Digest;
    ///
    /// let main = Mention::file("src/main.rs", Digest::of(b"fn main() {}"), 12)?;
    /// let mentions = Mentions::of([main, Mention::not_read("docs", NotRead::Folder)?])?;
    /// let told = "[mentioned files: src/main.rs (12 bytes); docs (is a folder)]";
    /// assert_eq!(mentions.told().as_deref(), Some(told));
    /// # Ok::<(), holdover_core::message::InvalidMention>(())
    /// ```
    pub fn told(&self) -> Option<String> {
        let told: Vec<String> = self.iter().map(Mention::to_string).collect();
        (!told.is_empty()).then(|| format!("[mentioned files: {}]", told.join("; ")))
    }

    /// Returns the mentioned paths that do not stand in `text`. The other mentions can be found again from the text.
    pub(super) fn named_beside(&self, text: &str) -> BTreeSet<&str> {
        self.iter().map(Mention::path).filter(|path| !text.contains(path)).collect()
    }
}

impl<'a> IntoIterator for &'a Mentions {
    type Item = &'a Mention;
    type IntoIter = std::slice::Iter<'a, Mention>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::words::message::{Message, Said, UserMessage};

    fn file(path: &str, content: &str) -> Mention {
        Mention::file(path, Digest::of(content.as_bytes()), content.len() as u64).unwrap()
    }

    fn mentions(all: impl IntoIterator<Item = Mention>) -> Mentions {
        Mentions::of(all).unwrap()
    }

    #[test]
    fn b09_a_mention_has_a_digest_and_a_size_or_the_reason_why_not() {
        let sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
        let both = mentions([file("a b/ü.rs", "foo"), Mention::not_read("gone", NotRead::Missing).unwrap()]);
        let written = json!([
            { "path": "a b/ü.rs", "sha256": sha256, "bytes": 3 },
            { "path": "gone", "not_read": "missing" },
        ]);
        assert_eq!(serde_json::to_value(&both).unwrap(), written);
        assert_eq!(serde_json::from_value::<Mentions>(written).unwrap(), both);
        let newer: Mention = serde_json::from_str(r#"{ "path": "a", "not_read": "eaten" }"#).unwrap();
        assert_eq!(newer.why_not_read(), Some(NotRead::Unreadable));
        for (bad, why) in [
            (json!({ "path": "a" }), r#"path "a": needs sha256 and bytes, or not_read"#),
            (json!({ "path": "a", "sha256": sha256 }), "needs sha256 and bytes"),
            (json!({ "path": "a", "sha256": sha256, "bytes": 3, "not_read": "folder" }), "needs sha256"),
            (json!({ "path": "../a", "not_read": "missing" }), r#"path "../a" is no path of a file beneath"#),
        ] {
            let error = serde_json::from_value::<Mention>(bad).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn b09_paths_and_their_number_are_bounded() {
        let missing = |path: &str| Mention::not_read(path, NotRead::Missing);
        for bad in ["", "/a", "a/", "a//b", ".", "./a", "a/../b", "..", "a\nb", "a\0"] {
            assert_eq!(missing(bad), Err(InvalidMention::Path(bad.to_owned())), "{bad:?}");
        }
        assert!(missing(&"ü".repeat(MENTION_PATH_BYTES_MAX / 2)).is_ok());
        let long = "a".repeat(MENTION_PATH_BYTES_MAX + 1);
        assert_eq!(missing(&long), Err(InvalidMention::TooLong(MENTION_PATH_BYTES_MAX + 1)));
        let many = |count: usize| Mentions::of((0..count).map(|at| missing(&format!("f{at}")).unwrap()));
        assert_eq!(many(MENTIONS_MAX).unwrap().iter().count(), MENTIONS_MAX);
        assert_eq!(many(MENTIONS_MAX + 1), Err(InvalidMention::TooMany(65)));
        let first = file("a", "first");
        assert_eq!(
            mentions([first.clone(), file("b", ""), file("a", "other")]),
            mentions([first, file("b", "")])
        );
    }

    #[test]
    fn b09_a_message_without_mentions_keeps_its_bytes() {
        let bytes = |value: Value| value.to_string();
        let said = Said::new("hello");
        assert_eq!(bytes(serde_json::to_value(&said).unwrap()), r#"{"text":"hello"}"#);
        let user = Message::User(UserMessage::new("hello"));
        assert_eq!(bytes(serde_json::to_value(&user).unwrap()), r#"{"role":"user","text":"hello"}"#);
        assert_eq!(serde_json::from_str::<Said>(r#"{"text":"hello"}"#).unwrap(), said);
        assert_eq!(Mentions::none().told(), None);
    }

    #[test]
    fn b09_a_message_is_repeated_whatever_became_of_the_files_that_it_mentions() {
        let says = |text: &str, mentions: Mentions| Said { mentions, ..Said::new(text) };
        let (old, new) = (file("a.rs", "old"), file("a.rs", "new"));
        let first = says("read @a.rs", mentions([old.clone()]));
        let taken = |said: &Said| {
            let Said { text, mentions, .. } = said.clone();
            UserMessage { mentions, ..UserMessage::new(text) }
        };
        for (again, repeats) in [
            (says("read @a.rs", mentions([new.clone()])), true),
            (says("read @a.rs", Mentions::none()), true),
            (says("read @a.rs!", mentions([old.clone()])), false),
            (says("read @a.rs", mentions([old.clone(), file("b.rs", "")])), false),
            (Said { policy: Some(crate::words::message::MessagePolicy::Steer), ..first.clone() }, false),
        ] {
            assert_eq!(first.is_repeated_by(&again), repeats, "{again:?}");
            assert_eq!(again.is_repeated_by(&first), repeats, "{again:?}");
            let says_more = again.policy.is_some();
            assert_eq!(taken(&first).is_repeated_by(&again), repeats || says_more, "{again:?}");
        }
        // Without mentions, the digests of the deliveries say everything.
        assert!(!Said::new("a").is_repeated_by(&Said::new("a")));
        let corrects = Said { correction_by: Some("me".into()), ..says("cite", mentions([old])) };
        let told = UserMessage::by_engine(super::super::corrected("me", "cite"));
        let told = UserMessage { mentions: mentions([new]), ..told };
        assert!(told.is_repeated_by(&corrects));
        assert!(!told.is_repeated_by(&Said { text: "ite".into(), ..corrects.clone() }));
        assert!(!told.is_repeated_by(&Said { correction_by: Some("ann".into()), ..corrects.clone() }));
        assert!(!told.is_repeated_by(&Said { correction_by: None, ..corrects }));
    }
}
