//! Checks the user's rights on a database file, and finds a way to read a file that the user cannot write.

use std::fs::{Metadata, OpenOptions, metadata};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Access, access};
use rustix::io::Errno;

/// The mode of a new file: only its owner may read and write it, because the file holds conversations.
const OWN: u32 = 0o600;

/// Returns why this user cannot write the database at `path`. Returns none if the user can write it, or if there is
/// no such file. A writer also needs the log and the log's index: if one of them does not exist, the folder must be
/// writable.
pub fn unwritable(path: &Path) -> Option<String> {
    metadata(path).ok()?;
    let aside = || [log(path), index(path)];
    let folder = (!aside().iter().all(|file| file.exists())).then(|| folder(path).to_owned());
    let there = aside().into_iter().filter(|file| file.exists());
    [path.to_owned()].into_iter().chain(there).chain(folder).find_map(|place| {
        // The process that closes the database last removes the log and the index, at any moment.
        let refused = access(&place, Access::WRITE_OK).err().filter(|error| *error != Errno::NOENT)?;
        Some(format!("{}: {}", place.display(), io::Error::from(refused)))
    })
}

/// Creates an empty file that only its owner may read and write, unless the file exists. SQLite always gives the
/// log and its index the same rights as the file.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(OWN).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the path of the write-ahead log beside the database.
pub(crate) fn log(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// Returns the path of the log's index, which all connections to the database share.
fn index(path: &Path) -> PathBuf {
    beside(path, "-shm")
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(end);
    name.into()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The way in which a database is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Look {
    /// Together with the log and its index, like every process that has the database open.
    Shared,
    /// As a file that no process writes: there is no log with commits, and this user can create none.
    Frozen(Frozen),
}

impl Look {
    /// Returns the way in which this user can read the database at `path`, or why that is not possible.
    pub(crate) fn at(path: &Path) -> Result<Self, String> {
        let (log, index) = (log(path), index(path));
        let can_make = access(folder(path), Access::WRITE_OK).is_ok();
        if can_make || (log.exists() && index.exists()) {
            return Ok(Self::Shared);
        }
        match metadata(&log) {
            Ok(found) if found.len() > 0 => Err(format!(
                "read-only: {} holds commits, and {} is not there, without which they cannot be read and which this \
                 user cannot make; copy the database and its log to a folder that can be written",
                log.display(),
                index.display()
            )),
            Ok(_) | Err(_) => Frozen::of(path).map(Self::Frozen).map_err(|error| error.to_string()),
        }
    }
}

/// A database that no process had open when it was first looked at. A process that opens it creates a log beside it,
/// and a process that writes that log back changes the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frozen {
    path: PathBuf,
    seen: (u64, Option<SystemTime>),
}

impl Frozen {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), seen: mark(&metadata(path)?) })
    }

    /// Returns true if the database may have been written since it was first looked at: a log with commits exists, or
    /// the file has changed or cannot be examined. Data that was read may then mix two instants.
    pub(crate) fn is_written(&self) -> bool {
        let has_log = metadata(log(&self.path)).is_ok_and(|log| log.len() > 0);
        has_log || metadata(&self.path).map_or(true, |now| mark(&now) != self.seen)
    }
}

fn mark(file: &Metadata) -> (u64, Option<SystemTime>) {
    (file.len(), file.modified().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frozen_file_is_written_once_it_has_a_log_or_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        std::fs::write(&path, "one").unwrap();
        let frozen = Frozen::of(&path).unwrap();
        assert!(!frozen.is_written());
        std::fs::write(log(&path), "").unwrap();
        assert!(!frozen.is_written(), "an empty log has no commits");
        std::fs::write(log(&path), "commit").unwrap();
        assert!(frozen.is_written());
        std::fs::remove_file(log(&path)).unwrap();
        assert!(!frozen.is_written());
        std::fs::write(&path, "other").unwrap();
        assert!(frozen.is_written());
    }
}
