//! Sandboxes on this machine.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_core::tool::ToolError;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::enclosure::Enclosure;
use super::hold::Hold;
use super::place::{Place, Rooms};
use super::sweep::{Sweeper, sweep};
use super::walls::Walls;
use super::{Exit, Job, Ran, Sandbox, SandboxError, SandboxOptions, SandboxProvider, leftovers, spawner};
use crate::Root;
use crate::command::{self, Finished};

/// The maximum wait for a sandbox that is in use. A call that was stopped leaves its sandbox at once.
const BUSY_MAX: Duration = Duration::from_secs(5);
const APART: Duration = Duration::from_millis(5);

/// The sandboxes on this machine. Each one is a folder beneath one root, with a lock beside it that every user of the
/// sandbox holds.
///
/// Commands run under bubblewrap if it works and is not turned off, otherwise in the plain folder;
/// [`walls`](SandboxProvider::walls) says which. Behind walls, every process of a command dies with the command or with
/// this process. In a plain folder, the process group of the command dies with the command. On Linux, freeing the
/// sandbox kills the processes that left the group and those of a killed run; the next use of the sandbox also kills
/// those of a killed run. The amount that a command writes is not limited.
///
/// All state is in the file system, so any process of this user on the machine can continue in a session's sandbox, and
/// free it. A sandbox that is unused for [`idle_seconds`](SandboxOptions::idle_seconds) is freed by any process that
/// uses the root, unless it is [kept](SandboxOptions::keep).
#[derive(Clone)]
pub struct LocalSandboxes(Arc<Inner>);

struct Inner {
    root: PathBuf,
    enclosure: Enclosure,
    idle: Duration,
    keep: bool,
    sweeper: Sweeper,
}

impl LocalSandboxes {
    /// Opens the sandboxes that `options` describe: creates their root, and tests whether bubblewrap works here. No
    /// sandbox is booted.
    ///
    /// # Errors
    /// Walls are required and there are none, the image cannot be read, or the root cannot be created, is not a folder
    /// or belongs to another user.
    pub fn open(options: &SandboxOptions) -> Result<Self, SandboxError> {
        let enclosure = Enclosure::find(options)?;
        let path = options.root.clone().unwrap_or_else(default_root);
        let root = own_folder(&path).map_err(|source| SandboxError::Root { path, source })?;
        let idle = Duration::from_secs(options.idle_seconds);
        Ok(Self(Arc::new(Inner { root, enclosure, idle, keep: options.keep, sweeper: Sweeper::default() })))
    }

    /// Returns the folder that holds the sandboxes.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Frees the sandboxes that were unused for too long, including those that other processes booted. After the first
    /// [`enter`](SandboxProvider::enter), a background task does the same until none is left.
    ///
    /// # Errors
    /// The root cannot be read.
    pub async fn sweep(&self) -> Result<(), SandboxError> {
        let root = self.0.root.clone();
        let swept =
            spawn_blocking(move || sweep(&root).map(|_| ())).await.unwrap_or_else(|gone| Err(gone.into()));
        swept.map_err(|source| SandboxError::Root { path: self.0.root.clone(), source })
    }
}

#[async_trait]
impl SandboxProvider for LocalSandboxes {
    fn walls(&self) -> &Walls {
        self.0.enclosure.walls()
    }

    fn describe(&self) -> String {
        format!("sandbox: {}", self.walls())
    }

    async fn enter(&self, session: &SessionKey) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let place = Place::of(&self.0.root, session, self.0.keep);
        let told = |error: io::Error| SandboxError::Boot(error.to_string());
        self.0.sweeper.begin(&self.0.root);
        let given_up = Instant::now() + BUSY_MAX;
        let mut is_new = false;
        loop {
            let hold = match Hold::alone(&place.lock()).map_err(told)? {
                Some(hold) => {
                    let (inner, place) = (Arc::clone(&self.0), place.clone());
                    let made_ready = spawn_blocking(move || inner.made_ready(&place, hold)).await;
                    let (hold, booted) = made_ready.unwrap_or_else(|gone| Err(gone.into())).map_err(told)?;
                    is_new |= booted;
                    hold.share().map_err(told)?.then_some(hold)
                }
                None => Hold::beside_others(&place.lock()).map_err(told)?,
            };
            if let (Some(hold), Some(rooms)) = (hold, place.rooms()) {
                hold.used(self.0.idle).map_err(told)?;
                return Ok(Arc::new(LocalSandbox { inner: Arc::clone(&self.0), place, rooms, hold, is_new }));
            }
            if Instant::now() >= given_up {
                return Err(SandboxError::Busy);
            }
            sleep(APART).await;
        }
    }

    async fn free(&self, session: &SessionKey) -> Result<(), SandboxError> {
        let place = Place::of(&self.0.root, session, self.0.keep);
        let told = |error: io::Error| SandboxError::Free(error.to_string());
        let given_up = Instant::now() + BUSY_MAX;
        while place.lock().exists() || place.rooms().is_some() {
            if let Some(hold) = Hold::alone(&place.lock()).map_err(told)? {
                let freed = spawn_blocking(move || free(&place, hold)).await;
                return freed.unwrap_or_else(|gone| Err(gone.into())).map_err(told);
            }
            if Instant::now() >= given_up {
                return Err(SandboxError::Busy);
            }
            sleep(APART).await;
        }
        Ok(())
    }
}

impl Inner {
    /// Boots the sandbox if there is none, and kills processes that a dead run left in it. Returns the hold, and true
    /// if the sandbox was booted.
    fn made_ready(&self, place: &Place, hold: Hold) -> io::Result<(Hold, bool)> {
        if hold.was_left_in_use()? {
            leftovers::kill(place.name())?;
        }
        let is_new = place.rooms().is_none();
        if is_new && let Err(error) = place.boot(|rooms| self.enclosure.try_out(place.name(), rooms)) {
            return Err(match free(place, hold) {
                Ok(()) => error,
                Err(also) => io::Error::other(format!("{error}; and what there was of it stays: {also}")),
            });
        }
        hold.used(self.idle)?;
        Ok((hold, is_new))
    }
}

/// Kills all processes of a sandbox and removes it. A kept sandbox keeps its files. The lock is removed last: until
/// then, it shows that there is something to free.
pub(super) fn free(place: &Place, hold: Hold) -> io::Result<()> {
    leftovers::kill(place.name())?;
    if place.is_kept() && place.rooms().is_some() {
        return hold.left(Duration::ZERO);
    }
    place.clear()?;
    hold.remove()
}

/// A sandbox on this machine that is in use.
struct LocalSandbox {
    inner: Arc<Inner>,
    place: Place,
    rooms: Rooms,
    hold: Hold,
    is_new: bool,
}

#[async_trait]
impl Sandbox for LocalSandbox {
    fn is_new(&self) -> bool {
        self.is_new
    }

    fn workspace(&self) -> &Path {
        &self.rooms.work
    }

    async fn run(&self, job: Job) -> Result<Ran, ToolError> {
        let root = Root::open(&self.rooms.work).map_err(|error| ToolError::NotRun(error.to_string()))?;
        let folder = command::folder_in(&root, &job.folder)?;
        let enclosure = &self.inner.enclosure;
        let around = enclosure.command(self.place.name(), &self.rooms, &folder, (&job.program, &job.args));
        let mut begun = tokio::process::Command::from(around);
        command::in_group(&mut begun);
        let cannot_start =
            |why: &str| ToolError::Failed(format!("{}: could not be started: {why}", job.program));
        let child = if enclosure.is_bound_to_us() { spawner::spawn(begun).await } else { begun.spawn() };
        let child = child.map_err(|error| cannot_start(&error.to_string()))?;
        let ran = Ran::from(command::watch(child, job.limit, &job.call).await?);
        match (ran.exit, ran.stderr.strip_prefix("bwrap: ")) {
            // The error is bubblewrap's own: it did not start the program.
            (Exit::Code(1), Some(why)) if enclosure.is_bound_to_us() && ran.stdout.is_empty() => {
                Err(cannot_start(why.lines().next().unwrap_or_default()))
            }
            _ => Ok(ran),
        }
    }
}

impl Drop for LocalSandbox {
    fn drop(&mut self) {
        // If this fails, the next user assumes that a killed process left the sandbox. Nothing else is lost.
        let _ = self.hold.left(self.inner.idle);
    }
}

impl From<Finished> for Ran {
    fn from(finished: Finished) -> Self {
        let (exit, [stdout, stderr]) = (finished.exit(), finished.texts());
        Self { exit, stdout, stderr }
    }
}

fn default_root() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("holdover-sandboxes-{user}"))
}

/// Returns the folder `path`, and creates it if it does not exist. Refuses the folder of another user, who could put
/// links into it.
fn own_folder(path: &Path) -> io::Result<PathBuf> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = path.symlink_metadata()?;
    if !found.is_dir() {
        return Err(io::Error::other("is not a folder"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("belongs to another user"));
    }
    path.canonicalize()
}
