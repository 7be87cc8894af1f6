//! The enclosure of a command: bubblewrap, if it works on this machine.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::place::Rooms;
use super::walls::Walls;
use super::{SandboxError, SandboxOptions, WallsPolicy, leftovers, mounts};

/// The path of the workspace behind walls.
const WORKSPACE: &str = "/workspace";
/// The search path for programs behind walls.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The environment variables of this process that commands get. Behind walls, the constant [`PATH`] replaces `PATH`.
const HANDED_ON: [&str; 5] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];
/// The time limit for a test of the enclosure.
const TRY_OUT_MAX: Duration = Duration::from_secs(10);
/// The maximum number of bytes of bubblewrap's error output that are reported.
const COMPLAINT_BYTES_MAX: u64 = 300;

/// The enclosure that all commands of the sandboxes run in.
#[derive(Debug)]
pub(super) struct Enclosure {
    walls: Walls,
    /// The program bubblewrap, and its arguments for every command. `None` if there are no walls.
    bubblewrap: Option<(PathBuf, Vec<OsString>)>,
    environment: Vec<String>,
}

impl Enclosure {
    /// Finds the enclosure that `options` ask for, as far as this machine supports it. Each combination of
    /// bubblewrap program and arguments is tested only once in this process.
    pub(super) fn find(options: &SandboxOptions) -> Result<Self, SandboxError> {
        let around = arguments(options).map_err(|source| {
            let path = options.image.clone().unwrap_or_else(|| PathBuf::from("/"));
            SandboxError::Root { path, source }
        })?;
        let stands = match options.walls {
            WallsPolicy::Off => Err("walls are off".to_owned()),
            WallsPolicy::Preferred | WallsPolicy::Required => probe(&options.bubblewrap, &around),
        };
        // Without walls, commands would see this machine instead of the image.
        let required = options.walls == WallsPolicy::Required || options.image.is_some();
        let (walls, bubblewrap) = match stands {
            Ok(()) => {
                (Walls::Bubblewrap { network: options.network }, Some((options.bubblewrap.clone(), around)))
            }
            Err(why) if required => return Err(SandboxError::NoWalls(why)),
            Err(why) => (Walls::PlainFolder { why }, None),
        };
        Ok(Self { walls, bubblewrap, environment: options.pass_environment.clone() })
    }

    pub(super) fn walls(&self) -> &Walls {
        &self.walls
    }

    /// Returns true if the processes in the sandbox die with this process.
    pub(super) fn is_bound_to_us(&self) -> bool {
        self.bubblewrap.is_some()
    }

    /// Returns the command that runs `program` in the rooms of sandbox `name`. The command starts in `folder`, relative
    /// to the workspace.
    pub(super) fn command(
        &self,
        name: &str,
        rooms: &Rooms,
        folder: &Path,
        (program, args): (&str, &[String]),
    ) -> Command {
        let mut command = match &self.bubblewrap {
            Some((bubblewrap, around)) => {
                let mut command = Command::new(bubblewrap);
                command.args(around);
                command.arg("--bind").arg(&rooms.temporary).arg("/tmp");
                command.arg("--bind").arg(&rooms.work).arg(WORKSPACE);
                // Joined by components, so that an empty folder adds no slash.
                command
                    .arg("--chdir")
                    .arg(Path::new(WORKSPACE).components().chain(folder.components()).collect::<PathBuf>());
                command.arg("--").arg(program).args(args).current_dir("/");
                command
            }
            None => {
                let mut command = Command::new(program);
                command.args(args).current_dir(rooms.work.join(folder));
                command
            }
        };
        let handed_on = HANDED_ON.iter().copied().chain(self.environment.iter().map(String::as_str));
        command
            .env_clear()
            .envs(handed_on.filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("TERM", "dumb")
            .env(leftovers::MARK, name);
        match &self.bubblewrap {
            Some(_) => command.env("PATH", PATH).env("HOME", WORKSPACE).env("TMPDIR", "/tmp"),
            None => command.env("HOME", &rooms.work).env("TMPDIR", &rooms.temporary),
        };
        command
    }

    /// Checks that a command runs in these rooms. Without walls, succeeds without a check.
    pub(super) fn try_out(&self, name: &str, rooms: &Rooms) -> io::Result<()> {
        if self.bubblewrap.is_none() {
            return Ok(());
        }
        let nothing = ["-c".to_owned(), ":".to_owned()];
        ended_well(self.command(name, rooms, Path::new(""), ("/bin/sh", &nothing)))
    }
}

/// Returns the arguments of bubblewrap that are the same for every command.
fn arguments(options: &SandboxOptions) -> io::Result<Vec<OsString>> {
    let mut args: Vec<OsString> =
        ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"].map(OsString::from).into();
    if options.network {
        args.push("--share-net".into());
    }
    let nobody = ["--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"];
    args.extend(nobody.map(OsString::from));
    args.extend(match &options.image {
        Some(image) => mounts::of_image(image, options.network)?,
        None => mounts::of_machine(options.network)?,
    });
    args.extend(["--proc", "/proc", "--dev", "/dev"].map(OsString::from));
    Ok(args)
}

/// Checks that bubblewrap works here. Otherwise returns the reason: it may be missing, or not permitted.
fn probe(bubblewrap: &Path, args: &[OsString]) -> Result<(), String> {
    type Known = HashMap<(PathBuf, Vec<OsString>), Result<(), String>>;
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let found = known.entry((bubblewrap.to_owned(), args.to_vec())).or_insert_with(|| {
        let mut command = Command::new(bubblewrap);
        command
            .args(args)
            .args(["--tmpfs", "/tmp", "--", "/bin/sh", "-c", ":"])
            .env_clear()
            .env("PATH", PATH);
        ended_well(command).map_err(|error| error.to_string())
    });
    found.clone()
}

/// Runs a command, and checks that it ends successfully within [`TRY_OUT_MAX`].
fn ended_well(mut command: Command) -> io::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let told = |why: String| io::Error::other(format!("{program}: {why}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| told(error.to_string()))?;
    let ends = Instant::now() + TRY_OUT_MAX;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() < ends => thread::sleep(Duration::from_millis(2)),
            None => {
                child.kill()?;
                child.wait()?;
                return Err(told(format!("no end after {} s", TRY_OUT_MAX.as_secs())));
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut complaint = String::new();
    if let Some(stderr) = child.stderr.take() {
        // Output that cannot be read is not reported.
        let _ = stderr.take(COMPLAINT_BYTES_MAX).read_to_string(&mut complaint);
    }
    let line = complaint.lines().next().unwrap_or_default().trim();
    let line = line.strip_prefix("bwrap: ").unwrap_or(line);
    Err(told(if line.is_empty() { status.to_string() } else { line.to_owned() }))
}
