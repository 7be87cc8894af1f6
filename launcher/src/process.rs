//! The processes of a server: all that work in its folder.

use std::fs::File;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::LaunchError;

/// The time within which a server must answer after its start.
const UP_WITHIN: Duration = Duration::from_secs(60);

/// The interval between two checks of whether the server answers.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// The user that Postgres and PgBouncer run as if this process is root, because they refuse to run as root.
const USER: &str = "postgres";

/// The processes of one server.
#[derive(Debug)]
pub struct Process {
    server: &'static str,
    folder: PathBuf,
    child: Option<Child>,
}

impl Process {
    pub(crate) fn new(server: &'static str, folder: PathBuf) -> Self {
        Self { server, folder, child: None }
    }

    /// Returns the working directory of the server.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the log.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Starts `command` in the folder and waits until `up` returns true.
    pub(crate) fn start(&mut self, mut command: Command, up: impl Fn() -> bool) -> Result<(), LaunchError> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log())
            .map_err(LaunchError::at(self.log()))?;
        let errors = log.try_clone().map_err(LaunchError::at(self.log()))?;
        let program = PathBuf::from(command.get_program());
        let child = command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(LaunchError::at(program))?;
        self.child = Some(child);
        self.wait_until(up)
    }

    /// Waits until `up` returns true. Fails if the process exits or does not answer in time.
    pub(crate) fn wait_until(&mut self, up: impl Fn() -> bool) -> Result<(), LaunchError> {
        let begun = Instant::now();
        loop {
            if up() {
                return Ok(());
            }
            if let Some(Ok(Some(status))) = self.child.as_mut().map(Child::try_wait) {
                return Err(self.not_up(format!("it ended with {status}")));
            }
            if begun.elapsed() > UP_WITHIN {
                return Err(self.not_up(format!("it did not answer within {} s", UP_WITHIN.as_secs())));
            }
            std::thread::sleep(ASK_EVERY);
        }
    }

    fn not_up(&self, detail: String) -> LaunchError {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let log = log.lines().last().unwrap_or("nothing").to_owned();
        LaunchError::NotUp { server: self.server.into(), detail, log }
    }

    /// Returns true if the server was started, and not killed since.
    pub(crate) fn is_started(&self) -> bool {
        self.child.is_some()
    }

    /// Kills every process of the server at once (SIGKILL), as if the machine had died, and waits until they are
    /// gone.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        if let Some(mut child) = self.child.take() {
            // The exit status of a killed process does not matter.
            let _ = child.wait();
        }
        while !self.processes().is_empty() {
            self.signal(Signal::KILL);
            std::thread::sleep(ASK_EVERY);
        }
    }

    /// Pauses every process (SIGSTOP): connections stay open, and nothing answers.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets paused processes continue (SIGCONT).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        for process in self.processes() {
            // A process that has exited needs no signal.
            let _ = kill_process(process, signal);
        }
    }

    /// Returns every process that works in the folder. Zombies are left out.
    fn processes(&self) -> Vec<Pid> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let inside = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let number: i32 = path.file_name()?.to_str()?.parse().ok()?;
            let cwd = std::fs::read_link(path.join("cwd")).ok()?;
            cwd.starts_with(&self.folder).then(|| Pid::from_raw(number))?
        });
        inside.collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The user and group of a server that refuses to run as root. `None` if this process is not root: the server then runs
/// as the user of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunAs(Option<(u32, u32)>);

impl RunAs {
    pub(crate) fn not_root(server: &'static str) -> Result<Self, LaunchError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self(None));
        }
        let users = std::fs::read_to_string("/etc/passwd").map_err(LaunchError::at("/etc/passwd"))?;
        let ids = users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let named = fields.next() == Some(USER);
            let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
            named.then_some((uid, gid))
        });
        match ids {
            Some(ids) => Ok(Self(Some(ids))),
            None => Err(LaunchError::NoUser { user: USER.into(), server: server.into() }),
        }
    }

    /// Makes the server's user the owner of the folder. Does nothing if this process is not root.
    pub(crate) fn own(self, folder: &Path) -> Result<(), LaunchError> {
        match self.0 {
            Some((uid, gid)) => chown(folder, Some(uid), Some(gid)).map_err(LaunchError::at(folder)),
            None => Ok(()),
        }
    }

    /// Creates a command that runs as the server's user.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((uid, gid)) = self.0 {
            command.uid(uid).gid(gid);
        }
        command
    }
}
