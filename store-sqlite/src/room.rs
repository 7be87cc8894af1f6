//! The free space beside a database file.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;
use rustix::process::geteuid;

/// So many bytes this user may still write to the disk on which the database at `path` lies.
///
/// Where none are left, small writes may succeed for a while: the log beside the database takes as much as it has grown to.
pub fn room(path: &Path) -> io::Result<u64> {
    let disk = statvfs(path)?;
    // A part is kept for root.
    let blocks = if geteuid().is_root() { disk.f_bfree } else { disk.f_bavail };
    Ok(blocks.saturating_mul(disk.f_frsize))
}
