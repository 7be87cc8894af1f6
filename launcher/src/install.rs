//! Programs, and the Debian packages that contain them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::error::LaunchError;

/// A program and the Debian package that contains it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// The folders to search before those of `PATH`. A `*` stands for the subfolder whose name is the highest whole
    /// number.
    pub(crate) folders: &'static [&'static str],
}

/// The lock that allows one installation at a time in this process. Other processes wait for the lock of apt.
static INSTALLING: Mutex<()> = Mutex::new(());

/// A shell script that installs a package without starting its servers. If the file `policy-rc.d` exists already, it
/// stays as it is, and decides whether they start.
const INSTALL: &str = r#"
set -e
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if ! test -e "$policy"; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
fi
if test "$1" = postgresql && ! test -e /etc/postgresql-common/createcluster.conf; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
fi
apt="apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Options::=--force-confold"
$apt install --no-install-recommends "$1" || { $apt update; $apt install --no-install-recommends "$1"; }
"#;

impl Program {
    /// Returns the path of the program. If the program is missing, installs its package, which needs root.
    pub(crate) fn find(self) -> Result<PathBuf, LaunchError> {
        if let Some(found) = self.look() {
            return Ok(found);
        }
        if !rustix::process::geteuid().is_root() {
            return Err(LaunchError::Missing { program: self.name.into(), package: self.package.into() });
        }
        let _one = INSTALLING.lock();
        if let Some(found) = self.look() {
            return Ok(found);
        }
        let output = Command::new("sh")
            .args(["-c", INSTALL, "sh", self.package])
            .output()
            .map_err(LaunchError::at("sh"))?;
        let failed = |detail: String| LaunchError::Install { package: self.package.into(), detail };
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
            return Err(failed(last.to_owned()));
        }
        self.look().ok_or_else(|| failed(format!("it brought no program {}", self.name)))
    }

    fn look(self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let named = self.folders.iter().filter_map(|folder| match folder.split_once('*') {
            Some((parent, rest)) => Some(newest(Path::new(parent))?.join(rest.trim_start_matches('/'))),
            None => Some(PathBuf::from(folder)),
        });
        let places = named.chain(std::env::split_paths(&path));
        places.map(|folder| folder.join(self.name)).find(|file| file.is_file())
    }
}

/// Returns the folder in `parent` whose name is the highest whole number. Other names are skipped.
fn newest(parent: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(parent).ok()?;
    let versions = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let version: u32 = path.file_name()?.to_str()?.parse().ok()?;
        Some((version, path))
    });
    versions.max().map(|(_, path)| path)
}
