//! The folder in which all servers of one launcher work, and its removal.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::error::LaunchError;

/// A shell script that waits until its input ends. That happens when the [`Folder`] is dropped, or when its process
/// exits in any way. Then the script kills the processes that work in folders inside the folder, and removes the
/// folder. It gives up after ten rounds. It finds processes by their working directory and not by a stored process id,
/// which another process may have by then.
const WATCH: &str = r#"
cat > /dev/null
for round in 1 2 3 4 5 6 7 8 9 10; do
    left=no
    for process in /proc/[0-9]*; do
        case "$(readlink "$process/cwd" 2> /dev/null)" in
            "$1"/*) kill -9 "${process#/proc/}" 2> /dev/null && left=yes ;;
        esac
    done
    rm -rf "$1" 2> /dev/null
    test "$left" = no && ! test -e "$1" && exit 0
    sleep 0.1
done
"#;

/// A temporary folder with a watcher process that cleans up after this process.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    watcher: Option<Child>,
    servers: AtomicU32,
}

impl Folder {
    pub(crate) fn new() -> Result<Self, LaunchError> {
        let parent = std::env::temp_dir();
        let folder = TempDir::with_prefix("holdover-servers-").map_err(LaunchError::at(&parent))?;
        // A server that runs as another user must be able to enter the folder.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o711))
            .map_err(LaunchError::at(folder.path()))?;
        let path = folder.path().canonicalize().map_err(LaunchError::at(folder.path()))?;
        let watcher = Command::new("sh")
            .args(["-c", WATCH, "sh"])
            .arg(&path)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // The watcher does not receive the signals that a terminal sends to the test.
            .process_group(0)
            .spawn()
            .map_err(LaunchError::at("sh"))?;
        // From now on the watcher removes the folder.
        let _ = folder.keep();
        Ok(Self { path, watcher: Some(watcher), servers: AtomicU32::new(0) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a folder for a server of this name.
    pub(crate) fn server(&self, name: &str) -> Result<PathBuf, LaunchError> {
        let number = self.servers.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!("{name}-{number}"));
        std::fs::create_dir(&path).map_err(LaunchError::at(&path))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(mut watcher) = self.watcher.take() {
            drop(watcher.stdin.take());
            // A failure to wait for the watcher cannot be handled.
            let _ = watcher.wait();
        }
    }
}
