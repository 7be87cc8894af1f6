//! A server: one process, or all processes that work in one folder.

use std::fs::File;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::LaunchError;

/// How long a server may take to answer after it was started.
const UP_WITHIN: Duration = Duration::from_secs(60);

/// How often it is asked.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// The user whom Postgres and PgBouncer run as, since they refuse to run as root.
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

    /// Where it works.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it has written.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Starts `command` in the folder and waits until `up` says that it answers.
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

    /// Waits until `up`, or for the end of the process.
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

    /// Whether it was started, and not killed since.
    pub(crate) fn is_started(&self) -> bool {
        self.child.is_some()
    }

    /// Kills every process of the server at once, as a machine that dies (SIGKILL), and waits until they are
    /// gone.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        if let Some(mut child) = self.child.take() {
            // It was killed: there is nothing else to learn from it.
            let _ = child.wait();
        }
        while !self.processes().is_empty() {
            self.signal(Signal::KILL);
            std::thread::sleep(ASK_EVERY);
        }
    }

    /// Stops every process where it stands (SIGSTOP): connections stay open and nothing answers.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets stopped processes go on (SIGCONT).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        for process in self.processes() {
            // One that has ended meanwhile needs no signal.
            let _ = kill_process(process, signal);
        }
    }

    /// Every process that works in the folder and is no zombie.
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

/// Whom a server runs as that refuses to run as root: nobody else, or the user that its package made.
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

    /// Gives the folder to that user.
    pub(crate) fn own(self, folder: &Path) -> Result<(), LaunchError> {
        match self.0 {
            Some((uid, gid)) => chown(folder, Some(uid), Some(gid)).map_err(LaunchError::at(folder)),
            None => Ok(()),
        }
    }

    /// A command that runs as that user.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((uid, gid)) = self.0 {
            command.uid(uid).gid(gid);
        }
        command
    }
}
