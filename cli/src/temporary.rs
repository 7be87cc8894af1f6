//! Removes temporary folders when a command ends, even if a process in them is still exiting.

use std::io;
use std::time::Duration;

use tempfile::TempDir;

/// The number of attempts to remove the folder, [`APART`] apart: a killed process may still write a last file.
const TRIES: u32 = 50;
const APART: Duration = Duration::from_millis(20);

/// Removes the folder with its content. Tries again for up to a second.
pub(crate) async fn remove(folder: TempDir) -> io::Result<()> {
    let path = folder.keep();
    let mut left = TRIES;
    loop {
        left -= 1;
        match std::fs::remove_dir_all(&path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if left == 0 => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            }
            Err(_) => tokio::time::sleep(APART).await,
        }
    }
}
