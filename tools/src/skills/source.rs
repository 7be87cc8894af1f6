//! Sources of skills, as data.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::front_matter::is_name;
use super::{SkillError, SkillErrorKind};

/// The maximum length of an address, in bytes.
const ADDRESS_BYTES_MAX: usize = 2048;

/// A source of skills: a folder, an archive at an address, or a folder of a git repository at a commit.
///
/// The name of a source is the namespace of its skills: the skill `invoices` of the source `house` is listed and read
/// as `house/invoices`. Only a folder may have no name.
///
/// As text, a source is the path of a folder, or a table: `{ name, folder }`, `{ name, url, sha256, folder }` or
/// `{ name, git, commit, folder }`. In the last two, `folder` is optional and lies inside the archive or the commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SkillSource {
    name: Option<String>,
    place: SkillPlace,
}

/// The place of a source of skills.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillPlace {
    /// A folder of this machine. Its content may change.
    Folder(PathBuf),
    /// An archive (`.tar` or `.tar.gz`) at an `https://` address, or at an `http://` address of this machine.
    Archive {
        /// The address.
        url: String,
        /// The SHA-256 of the archive, as 64 lower-case hexadecimal digits.
        sha256: String,
        /// The folder inside the archive. Empty for the archive itself.
        folder: String,
    },
    /// A folder of a git repository on this machine, at a commit. The work tree is not read.
    Git {
        /// The path of the repository or of a checkout.
        repository: PathBuf,
        /// The commit, as 40 or 64 lower-case hexadecimal digits.
        commit: String,
        /// The folder inside the commit. Empty for all of it.
        folder: String,
    },
}

impl SkillSource {
    /// Returns a source for the skills beneath a folder, without a name. See [`Skills::open`](super::Skills::open).
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self { name: None, place: SkillPlace::Folder(path.into()) }
    }

    /// Returns a source for the skills of an archive, which must have exactly this SHA-256.
    ///
    /// Fails if the name is not valid ([`named`](Self::named)), if the address is neither `https://` nor `http://` on this
    /// machine, if it contains a user or a password, or if the digest is not 64 hexadecimal digits.
    pub fn archive(name: &str, url: &str, sha256: &str) -> Result<Self, SkillError> {
        let (url, sha256) = (url.to_owned(), sha256.to_ascii_lowercase());
        Self { name: None, place: SkillPlace::Archive { url, sha256, folder: String::new() } }.named(name)
    }

    /// Returns a source for the skills of a git repository on this machine, at a commit.
    ///
    /// Fails if the name is not valid ([`named`](Self::named)), or if the commit is not 40 or 64 hexadecimal digits.
    pub fn git(name: &str, repository: impl Into<PathBuf>, commit: &str) -> Result<Self, SkillError> {
        let (repository, commit) = (repository.into(), commit.to_ascii_lowercase());
        Self { name: None, place: SkillPlace::Git { repository, commit, folder: String::new() } }.named(name)
    }

    /// Gives the source a name, which becomes the namespace of its skills. A name has at most 64 lower-case letters,
    /// digits, dashes and underscores.
    pub fn named(mut self, name: &str) -> Result<Self, SkillError> {
        self.name = Some(name.to_owned());
        self.check()?;
        Ok(self)
    }

    /// Takes only the skills of a folder inside the source. In an archive or a commit, fails if the path is absolute, or
    /// contains `..`, a backslash or a control character. In a folder, the path is joined without a check.
    pub fn within(mut self, inner: &str) -> Result<Self, SkillError> {
        match &mut self.place {
            SkillPlace::Folder(path) => *path = path.join(inner),
            SkillPlace::Archive { folder, .. } | SkillPlace::Git { folder, .. } => {
                *folder = match normal(inner) {
                    Some(normal) => normal,
                    None => {
                        let why = format!("folder: {inner:?} must be a path inside the source, without ..");
                        return Err(self.wrong(SkillErrorKind::Invalid, why));
                    }
                };
            }
        }
        Ok(self)
    }

    /// Resolves relative paths of this machine against `folder`.
    pub fn beneath(mut self, folder: &Path) -> Self {
        match &mut self.place {
            SkillPlace::Folder(path) | SkillPlace::Git { repository: path, .. } => {
                *path = folder.join(&*path)
            }
            SkillPlace::Archive { .. } => {}
        }
        self
    }

    /// Replaces a path of this machine by its real path, without links. Fails if it does not exist.
    pub fn canonical(mut self) -> Result<Self, SkillError> {
        let path = match &self.place {
            SkillPlace::Folder(path) | SkillPlace::Git { repository: path, .. } => path.canonicalize(),
            SkillPlace::Archive { .. } => return Ok(self),
        };
        let real = path.map_err(|error| self.wrong(SkillErrorKind::Unreadable, error.to_string()))?;
        match &mut self.place {
            SkillPlace::Folder(path) | SkillPlace::Git { repository: path, .. } => *path = real,
            SkillPlace::Archive { .. } => {}
        }
        Ok(self)
    }

    /// Returns the name of the source, which is the namespace of its skills.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the place of the source.
    pub fn place(&self) -> &SkillPlace {
        &self.place
    }

    /// Returns true if the content of the source can never change: an archive or a commit.
    pub fn is_pinned(&self) -> bool {
        match self.place {
            SkillPlace::Folder(_) => false,
            SkillPlace::Archive { .. } | SkillPlace::Git { .. } => true,
        }
    }

    /// Returns the place as people read it: the path, or the address without its query, which may hold a secret.
    pub fn address(&self) -> String {
        match &self.place {
            SkillPlace::Folder(path) => path.display().to_string(),
            SkillPlace::Archive { url, .. } => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
            SkillPlace::Git { repository, .. } => repository.display().to_string(),
        }
    }

    /// Returns an error of this source.
    pub(super) fn wrong(&self, kind: SkillErrorKind, why: impl Into<String>) -> SkillError {
        SkillError { name: self.name.clone(), path: self.address().into(), kind, why: why.into() }
    }

    fn check(&self) -> Result<(), SkillError> {
        if let SkillPlace::Archive { url, .. } = &self.place
            && let Err(why) = check_address(url)
        {
            // This check comes first, because other errors repeat the address, which may hold a password.
            let (name, path, kind) = (self.name.clone(), PathBuf::from("url"), SkillErrorKind::Invalid);
            return Err(SkillError { name, path, kind, why });
        }
        let refuse = |why: String| Err(self.wrong(SkillErrorKind::Invalid, why));
        if let Some(name) = &self.name
            && !is_name(name)
        {
            return refuse(format!("name {name:?}: write at most 64 lower-case letters, digits, - and _"));
        }
        match &self.place {
            SkillPlace::Folder(_) => Ok(()),
            SkillPlace::Archive { sha256, .. } if !is_hex(sha256, &[64]) => {
                refuse("sha256: write the 64 hexadecimal digits of the archive's digest".to_owned())
            }
            SkillPlace::Archive { .. } => Ok(()),
            SkillPlace::Git { commit, .. } if !is_hex(commit, &[40, 64]) => {
                refuse("commit: write all 40 hexadecimal digits of the commit".to_owned())
            }
            SkillPlace::Git { .. } => Ok(()),
        }
    }
}

/// Returns a relative path without `.` and empty parts, or `None` if it is absolute, contains `..`, a backslash or a
/// control character.
pub(super) fn normal(path: &str) -> Option<String> {
    if path.starts_with('/') || path.chars().any(|c| c.is_control() || c == '\\') {
        return None;
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") { None } else { Some(parts.join("/")) }
}

fn is_hex(text: &str, lengths: &[usize]) -> bool {
    lengths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn check_address(url: &str) -> Result<(), String> {
    if url.len() > ADDRESS_BYTES_MAX {
        return Err(format!("has more than {ADDRESS_BYTES_MAX} bytes"));
    }
    if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("contains a space or a control character".to_owned());
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err("write https://…".to_owned());
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("contains a user or a password, which would be stored with sessions".to_owned());
    }
    if authority.is_empty() {
        return Err("has no host".to_owned());
    }
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "https" || scheme == "http" && is_loopback(host_of(authority)) {
        return Ok(());
    }
    Err("write https://…; http:// is only for this machine".to_owned())
}

/// Returns the host of an authority, without its port.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Returns true if a host is this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A source as a table.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Table {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) git: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) commit: Option<String>,
}

impl TryFrom<Table> for SkillSource {
    type Error = String;

    fn try_from(table: Table) -> Result<Self, String> {
        let Table { name, folder, url, sha256, git, commit } = table;
        let named = |name: Option<String>| name.ok_or("give the source a name, which is its namespace");
        let told = |error: SkillError| error.to_string();
        let pinned = match (url, git) {
            (Some(_), Some(_)) => return Err("give either url or git".to_owned()),
            (Some(url), None) => {
                if commit.is_some() {
                    return Err("commit: belongs to git, not to url".to_owned());
                }
                let sha256 = sha256.ok_or("sha256: is missing: an archive is pinned by its digest")?;
                Self::archive(&named(name)?, &url, &sha256).map_err(told)?
            }
            (None, Some(git)) => {
                if sha256.is_some() {
                    return Err("sha256: belongs to url, not to git".to_owned());
                }
                let commit = commit.ok_or("commit: is missing: a git repository is pinned by a commit")?;
                Self::git(&named(name)?, git, &commit).map_err(told)?
            }
            (None, None) => {
                let folder = folder.ok_or("give folder, url or git")?;
                if sha256.is_some() || commit.is_some() {
                    return Err("sha256 and commit: belong to url and git; a folder is not pinned".to_owned());
                }
                return match name {
                    Some(name) => Self::folder(folder).named(&name).map_err(told),
                    None => Ok(Self::folder(folder)),
                };
            }
        };
        match folder {
            Some(folder) => pinned.within(&folder).map_err(told),
            None => Ok(pinned),
        }
    }
}

impl From<SkillSource> for Table {
    fn from(SkillSource { name, place }: SkillSource) -> Self {
        let some = |folder: String| Some(folder).filter(|folder| !folder.is_empty());
        match place {
            SkillPlace::Folder(path) => {
                Self { name, folder: Some(path.to_string_lossy().into_owned()), ..Self::default() }
            }
            SkillPlace::Archive { url, sha256, folder } => {
                Self { name, url: Some(url), sha256: Some(sha256), folder: some(folder), ..Self::default() }
            }
            SkillPlace::Git { repository, commit, folder } => Self {
                name,
                git: Some(repository),
                commit: Some(commit),
                folder: some(folder),
                ..Self::default()
            },
        }
    }
}

impl<'de> Deserialize<'de> for SkillSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = SkillSource;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a folder of skills, or a table with name and folder, url or git")
            }
            fn visit_str<E: de::Error>(self, path: &str) -> Result<SkillSource, E> {
                Ok(SkillSource::folder(path))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SkillSource, A::Error> {
                let table = Table::deserialize(MapAccessDeserializer::new(map))?;
                SkillSource::try_from(table).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for SkillSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // The form is the same as before sources had names.
            Self { name: None, place: SkillPlace::Folder(path) } => path.serialize(serializer),
            named => Table::from(named.clone()).serialize(serializer),
        }
    }
}
