//! The free space beside a database file.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;
use rustix::process::geteuid;

/// Returns how many bytes this user may still write to the disk that holds the database at `path`.
///
/// Even with no bytes left, small writes may succeed for a while: the log beside the database reuses the space
/// that it already has.
pub fn room(path: &Path) -> io::Result<u64> {
    let disk = statvfs(path)?;
    // A part is reserved for root.
    let blocks = if geteuid().is_root() { disk.f_bfree } else { disk.f_bavail };
    Ok(blocks.saturating_mul(disk.f_frsize))
}
