//! The cache of pinned sources: one file for each, checked whenever it is read.

use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::bundle::{self, FILES_BYTES_MAX, FILES_MAX};
use super::source::{SkillPlace, SkillSource};
use super::{SkillError, SkillErrorKind};

/// The maximum size of a file in the cache, in bytes. The files of a commit are kept unpacked, each with a header.
const ENTRY_BYTES_MAX: u64 = FILES_BYTES_MAX + FILES_MAX as u64 * 8 * 1024;

/// The cache of pinned sources of skills, in a folder of this machine.
///
/// Each archive and each folder of a commit is one file, with a checksum that is compared whenever the file is read. A
/// file that does not match its checksum is treated as missing, and replaced. A file is written under a temporary name
/// and then renamed, so any number of processes can use the cache at the same time. Files that are no longer needed can
/// be deleted at any time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SkillCache {
    folder: PathBuf,
}

impl SkillCache {
    /// Returns a cache in this folder, which is created for its owner only when something is first written.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the cache of the user: `holdover/skills` in `$XDG_CACHE_HOME`, or else in `$HOME/.cache`. Fails if neither
    /// variable holds an absolute path.
    pub fn of_user() -> Result<Self, SkillError> {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        match caches {
            Some(folder) => Ok(Self::at(folder.join("holdover/skills"))),
            None => Err(SkillError {
                name: None,
                path: "cache of skills".into(),
                kind: SkillErrorKind::Unreadable,
                why: "neither XDG_CACHE_HOME nor HOME is an absolute path".to_owned(),
            }),
        }
    }

    /// Returns the folder of the cache.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the content of a source, if it is here and unchanged.
    pub(super) fn read(&self, source: &SkillSource) -> Option<Vec<u8>> {
        let file = fs::File::open(self.path_of(source)?).ok()?;
        let mut bytes = Vec::new();
        file.take(ENTRY_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
        match source.place() {
            SkillPlace::Folder(_) => None,
            SkillPlace::Archive { sha256, .. } => (bundle::sha256(&bytes) == *sha256).then_some(bytes),
            SkillPlace::Git { .. } => {
                let end = bytes.iter().position(|byte| *byte == b'\n')?;
                let rest = bytes.split_off(end + 1);
                let line = std::str::from_utf8(&bytes).ok()?;
                (line.trim_end() == format!("sha256 {}", bundle::sha256(&rest))).then_some(rest)
            }
        }
    }

    /// Writes the content of a source. After a crash, the file is there and whole, or as it was before.
    pub(super) fn write(&self, source: &SkillSource, bytes: &[u8]) -> Result<(), SkillError> {
        let Some(path) = self.path_of(source) else { return Ok(()) };
        let head = match source.place() {
            SkillPlace::Folder(_) | SkillPlace::Archive { .. } => String::new(),
            SkillPlace::Git { .. } => format!("sha256 {}\n", bundle::sha256(bytes)),
        };
        let write = || -> io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let mut file = NamedTempFile::new_in(&self.folder)?;
            file.write_all(head.as_bytes())?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(&path).map(drop).map_err(|error| error.error)
        };
        write().map_err(|error| {
            let why = format!("cache {}: {error}", self.folder.display());
            source.wrong(SkillErrorKind::Unreadable, why)
        })
    }

    /// Returns the path of the file that holds the content of a pinned source.
    fn path_of(&self, source: &SkillSource) -> Option<PathBuf> {
        let name = match source.place() {
            SkillPlace::Folder(_) => return None,
            SkillPlace::Archive { sha256, .. } => format!("archive-{sha256}"),
            SkillPlace::Git { repository, commit, folder } => {
                // Git does not check the content of files, so a repository can give other files for a commit. They must
                // not count for another repository, so the name contains a digest of the repository's path.
                let place = [repository.as_os_str().as_bytes(), b"\0", folder.as_bytes()].concat();
                format!("git-{commit}-{}", bundle::sha256(&place))
            }
        };
        Some(self.folder.join(name))
    }
}
