//! A list of sources that many agents share.

use std::path::Path;

use serde::Deserialize;

use super::source::SkillSource;
use super::{SkillError, SkillErrorKind};

/// The maximum number of sources of a catalog, and of sources with names of one agent.
pub(super) const SOURCES_MAX: usize = 64;

/// Named sources of skills, declared once for many agents, and the default list: the sources of an agent that names
/// none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SkillCatalog {
    /// The sources. Each has a name.
    #[serde(rename = "source")]
    pub sources: Vec<SkillSource>,
    /// The names of the default sources, in the order in which a prompt lists their skills.
    pub default: Vec<String>,
}

impl SkillCatalog {
    /// Returns a catalog with these sources and this default list. Fails if a source has no name, if two have the same
    /// name, if there are more than 64, or if a name in the default list is not that of a source.
    pub fn new(
        sources: impl IntoIterator<Item = SkillSource>,
        default: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, SkillError> {
        let catalog = Self {
            sources: sources.into_iter().collect(),
            default: default.into_iter().map(Into::into).collect(),
        };
        catalog.check()?;
        Ok(catalog)
    }

    /// Checks a catalog that was read from a file, as [`new`](Self::new) does.
    pub fn check(&self) -> Result<(), SkillError> {
        for (at, source) in self.sources.iter().enumerate() {
            let refuse = |why: String| Err(source.wrong(SkillErrorKind::Invalid, why));
            let Some(name) = source.name() else {
                return refuse("give the source a name, which is its namespace".to_owned());
            };
            if let Some(other) = self.sources.iter().take(at).find(|other| other.name() == Some(name)) {
                return refuse(format!("the source at {} is called {name:?}, too", other.address()));
            }
            if at == SOURCES_MAX {
                return refuse(format!("there are more than {SOURCES_MAX} sources"));
            }
        }
        self.named(&self.default).map(drop)
    }

    /// Returns the sources with these names, in the order of the names. `None` stands for the default list. Fails if a
    /// name is not that of a source.
    pub fn select(&self, names: Option<&[String]>) -> Result<Vec<SkillSource>, SkillError> {
        self.named(names.unwrap_or(&self.default))
    }

    /// Resolves relative paths of this machine against `folder`.
    pub fn beneath(mut self, folder: &Path) -> Self {
        self.sources = self.sources.into_iter().map(|source| source.beneath(folder)).collect();
        self
    }

    fn named(&self, names: &[String]) -> Result<Vec<SkillSource>, SkillError> {
        let find = |name: &String| {
            let found = self.sources.iter().find(|source| source.name() == Some(name));
            found.cloned().ok_or_else(|| {
                let known: Vec<&str> = self.sources.iter().filter_map(SkillSource::name).collect();
                SkillError {
                    name: None,
                    path: name.into(),
                    kind: SkillErrorKind::Invalid,
                    why: format!("there is no source of this name; there are: {}", known.join(", ")),
                }
            })
        };
        names.iter().map(find).collect()
    }
}
