//! A source of skills with the digest and the index of its content: the form in which a session keeps it.

use std::fmt;

use holdover_core::skill::SkillEntry;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::source::{SkillSource, Table};

/// A source of skills, with the digest of its content and the names and descriptions of its skills once it was read.
///
/// It is stored with an agent, so that another process lists the same skills without asking anybody, and reads the same
/// bodies or none. A folder is stored as its path alone: its content may change, and it is listed anew each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillPin {
    pub(super) source: SkillSource,
    pub(super) content: Option<PinnedContent>,
}

/// The content that a pinned source had when it was first read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PinnedContent {
    /// The SHA-256 of the archive, or of the paths and bytes of the files of a commit.
    pub(super) digest: String,
    /// The skills, without the namespace.
    pub(super) index: Vec<SkillEntry>,
}

impl SkillPin {
    /// Returns the source.
    pub fn source(&self) -> &SkillSource {
        &self.source
    }

    /// Returns the SHA-256 of the source's content, as 64 hexadecimal digits: of the archive, or of the paths and bytes
    /// of the files of a commit. `None` for a folder, and for a source that was not read yet.
    pub fn digest(&self) -> Option<&str> {
        self.content.as_ref().map(|content| content.digest.as_str())
    }

    /// Returns true if the source must be read before an agent can be built with it.
    pub fn is_unread(&self) -> bool {
        self.source.is_pinned() && self.content.is_none()
    }
}

impl From<SkillSource> for SkillPin {
    /// Returns a pin of a source that was not read yet.
    fn from(source: SkillSource) -> Self {
        Self { source, content: None }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    description: String,
}

/// A pin as a table: the keys of its source, and the content.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    table: Table,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skills: Vec<Listed>,
}

impl Serialize for SkillPin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(PinnedContent { digest, index }) = &self.content else {
            return self.source.serialize(serializer);
        };
        let listed =
            |entry: &SkillEntry| Listed { name: entry.name.clone(), description: entry.description.clone() };
        let table = Table::from(self.source.clone());
        let skills = index.iter().map(listed).collect();
        Stored { table, digest: Some(digest.clone()), skills }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SkillPin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = SkillPin;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a folder of skills, or a table of a source")
            }
            fn visit_str<E: de::Error>(self, path: &str) -> Result<SkillPin, E> {
                Ok(SkillSource::folder(path).into())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SkillPin, A::Error> {
                let Stored { table, digest, skills } = Stored::deserialize(MapAccessDeserializer::new(map))?;
                let source = SkillSource::try_from(table).map_err(de::Error::custom)?;
                let entry = |Listed { name, description }| SkillEntry { name, description };
                let index = skills.into_iter().map(entry).collect();
                let content = digest.map(|digest| PinnedContent { digest, index });
                if source.is_pinned() || content.is_none() {
                    return Ok(SkillPin { source, content });
                }
                Err(de::Error::custom("digest: a folder has none"))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
