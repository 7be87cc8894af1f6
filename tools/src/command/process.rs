//! A process with its children, bounded in time and output.

use std::fmt::Write as _;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use holdover_core::tool::{CallHandle, ToolError, ToolOutput};
use tokio::io::AsyncRead;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::capture::{Capture, OUTPUT_BYTES};
use super::group::Group;
use crate::files::Root;
use crate::sandbox::Exit;

/// The maximum time by which a process is stopped before the limit of its call, so that there is time to report the
/// stop.
pub(super) const MARGIN_MAX: Duration = Duration::from_secs(2);
/// The maximum wait for the rest of the output after the process has ended.
const DRAIN: Duration = Duration::from_millis(500);
/// The environment variables that a process gets. Their values are not usually secret.
const ENVIRONMENT: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"];

/// Returns the time limit of a process, given the limit of its call: shorter by a quarter or by [`MARGIN_MAX`],
/// whichever is less. `None` means no limit.
pub(super) fn limit_of(call: Option<Duration>) -> Duration {
    call.map_or(Duration::MAX, |call| call.saturating_sub(MARGIN_MAX.min(call / 4)))
}

/// Makes `command` start in the root folder, in a process group of its own, with the usual environment variables and
/// those named in `more`.
pub(super) fn confine(command: &mut Command, root: &Root, more: &[String]) {
    let names = ENVIRONMENT.iter().copied().chain(more.iter().map(String::as_str));
    command
        .current_dir(root.path())
        .env_clear()
        .envs(names.filter_map(|name| Some((name, std::env::var_os(name)?))))
        .env("TERM", "dumb");
    in_group(command);
}

/// Makes `command` start in a process group of its own, with empty standard input and captured output.
pub(crate) fn in_group(command: &mut Command) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
}

/// The amount of output that is kept of a process.
pub(super) struct Kept {
    /// The number of bytes of standard output. More of it is left out in the middle.
    pub(super) stdout: usize,
    /// True if standard output is reported as progress of the call. Standard error always is.
    pub(super) shown: bool,
}

impl Default for Kept {
    fn default() -> Self {
        Self { stdout: OUTPUT_BYTES, shown: true }
    }
}

/// The end of a process, and its output.
pub(crate) struct Finished {
    exit: Exit,
    stdout: Capture,
    stderr: Capture,
}

/// Runs `command` for at most `limit`. Its output is reported as progress of the call. The process group is killed when
/// the command ends, when its time is over, or when this future is dropped. If the call should stop, the group is asked to
/// end, and killed after half of the grace. Behind the walls of a sandbox, the command is killed at once.
pub(super) async fn run(command: Command, limit: Duration, call: &CallHandle) -> Result<Finished, ToolError> {
    run_keeping(Kept::default(), command, limit, call).await
}

/// Does the same as [`run`], and keeps this much of the output.
pub(super) async fn run_keeping(
    kept: Kept,
    mut command: Command,
    limit: Duration,
    call: &CallHandle,
) -> Result<Finished, ToolError> {
    let child = command.spawn().map_err(|error| {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        ToolError::Failed(format!("{program}: could not be started: {error}"))
    })?;
    watch_keeping(kept, child, limit, call).await
}

/// Does the same as [`run`] for a process that was just started and leads its group.
pub(crate) async fn watch(child: Child, limit: Duration, call: &CallHandle) -> Result<Finished, ToolError> {
    watch_keeping(Kept::default(), child, limit, call).await
}

async fn watch_keeping(
    kept: Kept,
    mut child: Child,
    limit: Duration,
    call: &CallHandle,
) -> Result<Finished, ToolError> {
    let mut group = child.id().map(Group::led_by);
    let streams = (child.stdout.take(), child.stderr.take());
    let (mut stdout, mut stderr) = (Capture::keeping(kept.stdout), Capture::default());
    let exit = {
        let mut talking = pin!(async {
            let read_stdout = fill(&mut stdout, streams.0, call, kept.shown);
            let read_stderr = fill(&mut stderr, streams.1, call, true);
            tokio::join!(read_stdout, read_stderr);
        });
        let mut read_to_end = false;
        let exit = tokio::select! {
            biased;
            status = until_exit(&mut child, talking.as_mut(), &mut read_to_end) => status.map(Exit::from),
            () = sleep(limit) => Ok(Exit::TimeOver),
            stop = call.stopped() => {
                if let Some(group) = &group {
                    group.ask_to_end();
                }
                // The other processes of the group may still clean up when the leader has ended. They hold the output open.
                let ends = async {
                    let _ = until_exit(&mut child, talking.as_mut(), &mut read_to_end).await;
                    if !read_to_end {
                        talking.as_mut().await;
                        read_to_end = true;
                    }
                };
                // However it ends now, it was stopped.
                let _ = timeout(stop.grace / 2, ends).await;
                Ok(Exit::Stopped(stop.reason))
            }
        };
        // The leader may have left other processes behind. They are killed, too.
        if let Some(group) = &mut group {
            group.kill();
        }
        if matches!(exit, Ok(Exit::TimeOver | Exit::Stopped(_))) {
            // The process was killed. This only collects its status.
            let _ = child.wait().await;
        }
        if !read_to_end {
            // A process outside the group may hold the pipes open.
            let _ = timeout(DRAIN, talking).await;
        }
        exit
    };
    match exit {
        Ok(exit) => Ok(Finished { exit, stdout, stderr }),
        Err(error) => Err(ToolError::Lost(format!("the command's end was not seen: {error}"))),
    }
}

/// Waits until the process ends, and reads its output meanwhile. Sets `read_to_end` when the output has ended.
async fn until_exit(
    child: &mut Child,
    mut talking: Pin<&mut impl Future<Output = ()>>,
    read_to_end: &mut bool,
) -> io::Result<ExitStatus> {
    loop {
        tokio::select! {
            status = child.wait() => return status,
            () = &mut talking, if !*read_to_end => *read_to_end = true,
        }
    }
}

async fn fill(capture: &mut Capture, stream: Option<impl AsyncRead + Unpin>, call: &CallHandle, shown: bool) {
    let Some(stream) = stream else { return };
    let show = |lines| {
        if shown {
            call.report(lines);
        }
    };
    capture.fill(stream, show).await;
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            // A process that ended without a code was ended by a signal.
            (None, signal) => Self::Signal(signal.unwrap_or_default()),
        }
    }
}

impl Finished {
    /// Returns how the process ended.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns the standard output, or the number of its bytes if it is too long to be kept whole.
    pub(super) fn whole_stdout(&self) -> Result<Vec<u8>, usize> {
        self.stdout.whole()
    }

    /// Returns the standard output and the standard error.
    pub(crate) fn texts(&self) -> [String; 2] {
        [self.stdout.text(), self.stderr.text()]
    }
}

/// Describes the end of a process to a model. Fails if the process was stopped, either because its time limit, `limit`,
/// was over or because its call should stop.
pub(crate) fn told(exit: Exit, stdout: &str, stderr: &str, limit: Duration) -> Result<ToolOutput, ToolError> {
    let printed = printed(stdout, stderr);
    match exit {
        Exit::Code(code) => Ok(ToolOutput::text(format!("exit code {code}{printed}"))),
        Exit::Signal(signal) => Ok(ToolOutput::text(format!("ended by signal {signal}{printed}"))),
        Exit::TimeOver => {
            let why = format!("after {} s: its time was over", limit.as_secs_f32());
            Err(stopped(&why, &printed))
        }
        Exit::Stopped(reason) => Err(stopped(&format!("({})", reason.as_str()), &printed)),
    }
}

fn printed(stdout: &str, stderr: &str) -> String {
    let mut text = String::new();
    for (name, part) in [("stdout", stdout), ("stderr", stderr)] {
        if !part.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{name}:\n{}", part.trim_end_matches('\n'));
        }
    }
    text
}

/// Returns the failure of a process that was stopped.
fn stopped(why: &str, printed: &str) -> ToolError {
    ToolError::Failed(format!("stopped {why}; it may have done part of its work{printed}"))
}
