//! The lock of a sandbox. It shows whether the sandbox is in use, and when it may be swept.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A lock that is held, exclusively or shared. The operating system releases it when the process dies.
///
/// The modification time of the file is the time after which the sandbox may be swept. The file is empty while the
/// sandbox is not in use, so the next holder can tell that the last user was killed.
pub(super) struct Hold {
    file: File,
    path: PathBuf,
}

impl Hold {
    /// Takes the lock at `path` exclusively, and creates the file if it does not exist. Returns `None` if another
    /// process holds the lock.
    pub(super) fn alone(path: &Path) -> io::Result<Option<Self>> {
        Self::take(path, true, FlockOperation::NonBlockingLockExclusive)
    }

    /// Takes the lock at `path` exclusively. Returns `None` if another process holds it or the file does not exist.
    pub(super) fn alone_if_there(path: &Path) -> io::Result<Option<Self>> {
        match Self::take(path, false, FlockOperation::NonBlockingLockExclusive) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            taken => taken,
        }
    }

    /// Takes the lock at `path` shared, and creates the file if it does not exist. Returns `None` if another process
    /// holds the lock exclusively.
    pub(super) fn beside_others(path: &Path) -> io::Result<Option<Self>> {
        Self::take(path, true, FlockOperation::NonBlockingLockShared)
    }

    fn take(path: &Path, make: bool, how: FlockOperation) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(make)
            .truncate(false)
            .mode(0o600)
            .custom_flags(NO_LINKS)
            .open(path)?;
        let hold = Self { file, path: path.to_owned() };
        Ok(hold.locks(how)?.then_some(hold))
    }

    /// Turns an exclusive hold into a shared one. Returns false if the lock was lost in between.
    pub(super) fn share(&self) -> io::Result<bool> {
        self.locks(FlockOperation::NonBlockingLockShared)
    }

    /// Tries to take the lock. Returns false if another process holds it, or if the path now names another file or
    /// none.
    fn locks(&self, how: FlockOperation) -> io::Result<bool> {
        match flock(&self.file, how) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let own = self.file.metadata()?;
        match self.path.symlink_metadata() {
            Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns true if the last user never left the sandbox, for example because its process was killed.
    pub(super) fn was_left_in_use(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() > 0)
    }

    /// Notes that the sandbox is in use, and keeps it for `idle` from now.
    pub(super) fn used(&self, idle: Duration) -> io::Result<()> {
        self.file.set_len(1)?;
        self.kept_for(idle)
    }

    /// Notes that this user leaves the sandbox, and keeps it for `idle` from now.
    pub(super) fn left(&self, idle: Duration) -> io::Result<()> {
        if self.locks(FlockOperation::NonBlockingLockExclusive)? {
            self.file.set_len(0)?;
        }
        // This comes last, because a change of the length also changes the time.
        self.kept_for(idle)
    }

    fn kept_for(&self, idle: Duration) -> io::Result<()> {
        let now = SystemTime::now();
        self.file.set_modified(now.checked_add(idle).unwrap_or(now))
    }

    /// Returns how much longer the sandbox is kept, or `None` if it may be swept.
    pub(super) fn time_left(&self) -> io::Result<Option<Duration>> {
        Ok(self.file.metadata()?.modified()?.duration_since(SystemTime::now()).ok())
    }

    /// Removes the lock file, after everything that it guards is gone. The caller must hold the lock exclusively.
    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

/// The flag that makes opening fail if the path is a symbolic link.
const NO_LINKS: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
