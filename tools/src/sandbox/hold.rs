//! The lock of a sandbox: who uses it, and until when it is kept for them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A lock that is held, alone or with others. The operating system lets go of it when its process dies.
///
/// The file's time is the instant at which the sandbox may be swept, and it is empty unless somebody is in it: so who
/// comes next knows whether the last one was killed.
pub(super) struct Hold {
    file: File,
    path: PathBuf,
}

impl Hold {
    /// Holds the lock at `path`, which is made if there is none, if nobody else holds it.
    pub(super) fn alone(path: &Path) -> io::Result<Option<Self>> {
        Self::take(path, true, FlockOperation::NonBlockingLockExclusive)
    }

    /// The same of a lock that is there.
    pub(super) fn alone_if_there(path: &Path) -> io::Result<Option<Self>> {
        match Self::take(path, false, FlockOperation::NonBlockingLockExclusive) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            taken => taken,
        }
    }

    /// Holds it with others, if nobody holds it alone.
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

    /// Lets others in. False: it was lost on the way.
    pub(super) fn share(&self) -> io::Result<bool> {
        self.locks(FlockOperation::NonBlockingLockShared)
    }

    /// Whether the lock was had, on the file that everybody else finds there.
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

    /// Whether the last one that was in it did not leave.
    pub(super) fn was_left_in_use(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() > 0)
    }

    /// Somebody is in it.
    pub(super) fn used(&self, idle: Duration) -> io::Result<()> {
        self.file.set_len(1)?;
        self.kept_for(idle)
    }

    /// The one who used it leaves.
    pub(super) fn left(&self, idle: Duration) -> io::Result<()> {
        if self.locks(FlockOperation::NonBlockingLockExclusive)? {
            self.file.set_len(0)?;
        }
        // Last, since a change of its length changes its time, too.
        self.kept_for(idle)
    }

    fn kept_for(&self, idle: Duration) -> io::Result<()> {
        let now = SystemTime::now();
        self.file.set_modified(now.checked_add(idle).unwrap_or(now))
    }

    /// For how much longer it is kept for who was in it. None: no longer.
    pub(super) fn time_left(&self) -> io::Result<Option<Duration>> {
        Ok(self.file.metadata()?.modified()?.duration_since(SystemTime::now()).ok())
    }

    /// Removes the lock, once nothing is left of what it guards. Only for who holds it alone.
    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

/// A link at its place is not followed.
const NO_LINKS: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
