//! The folders in which the tests keep their sandboxes.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use holdover_core::ids::{SessionId, SessionKey, TenantId};
use holdover_tools::{Exit, Job, LocalSandboxes, Ran, Sandbox, SandboxOptions, SandboxProvider, Walls};

/// The longest time that a test waits for something.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for the sandboxes of one test.
pub(crate) struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path().join("sandboxes")
    }

    pub(crate) fn options(&self) -> SandboxOptions {
        SandboxOptions::default().root(Some(self.root()))
    }

    pub(crate) fn open(&self) -> LocalSandboxes {
        LocalSandboxes::open(&self.options()).unwrap()
    }

    /// Returns the names of everything in the root.
    pub(crate) fn left(&self) -> Vec<String> {
        left_in(&self.root())
    }

    /// Writes a program that takes the place of bubblewrap, and returns its path.
    pub(crate) fn stand_in(&self, script: &str) -> PathBuf {
        let path = self.path().join("stand-in");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }
}

pub(crate) fn left_in(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

pub(crate) fn session(id: &str) -> SessionKey {
    SessionKey::new(TenantId::new("acme").unwrap(), id.parse::<SessionId>().unwrap())
}

/// Returns true if sandboxes have walls on this machine.
pub(crate) fn has_walls(sandboxes: &LocalSandboxes) -> bool {
    match sandboxes.walls() {
        Walls::Bubblewrap { .. } => true,
        Walls::PlainFolder { why } => {
            assert!(sandboxes.describe().contains("plain folder, no walls") && !why.is_empty());
            false
        }
    }
}

/// Runs a shell line that must end with code 0, and returns its output.
pub(crate) async fn prints(sandbox: &dyn Sandbox, line: &str) -> String {
    let ran = ran(sandbox, line).await;
    assert_eq!(ran.exit, Exit::Code(0), "{line}: {ran:?}");
    ran.stdout.trim_end().to_owned()
}

pub(crate) async fn ran(sandbox: &dyn Sandbox, line: &str) -> Ran {
    sandbox.run(Job::shell(line)).await.unwrap()
}

/// A shell line that starts a process outside the shell's process group. The process runs on and keeps `pipe`
/// open.
pub(crate) const LIVES_ON: &str = "mkfifo made away; exec 3<>made; mv made pipe; \
     setsid sh -c 'echo >away; exec sleep 1000' >/dev/null 2>/dev/null & read gone <away; rm away;";

/// An observer of `pipe`, which shows whether any process in a workspace still lives.
pub(crate) struct Witness(fs::File);

impl Witness {
    /// Waits until the workspace has the pipe, and opens it.
    pub(crate) fn of(workspace: &Path) -> Self {
        let pipe = workspace.join("pipe");
        until(|| pipe.exists().then_some(()));
        let at_once = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        Self(fs::File::options().read(true).custom_flags(at_once).open(&pipe).unwrap())
    }

    /// Waits until no process keeps the pipe open.
    pub(crate) fn saw_their_end(mut self) {
        until(|| (!self.sees_them()).then_some(()));
    }

    pub(crate) fn sees_them(&mut self) -> bool {
        match self.0.read(&mut [0]) {
            Ok(count) => count > 0,
            Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

/// Repeats `look` until it returns a value. Panics after `PATIENCE`.
pub(crate) fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it never came");
        thread::sleep(Duration::from_millis(2));
    }
}
