//! One process with its children, bounded in time and output.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use holdover_core::tool::ToolError;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};
use tokio::time::timeout;

use super::capture::Capture;
use super::group::Group;
use crate::files::Root;

/// How much earlier than its call a process is stopped, so that there is time to say so.
pub(super) const MARGIN_MAX: Duration = Duration::from_secs(2);
/// How long to wait for the rest of the output once the process has ended.
const DRAIN: Duration = Duration::from_millis(500);
/// The environment that a process sees: nothing that is usually secret.
const ENVIRONMENT: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"];

/// How long a process may take whose call may take `call`; none: for ever.
pub(super) fn limit_of(call: Option<Duration>) -> Duration {
    call.map_or(Duration::MAX, |call| call.saturating_sub(MARGIN_MAX.min(call / 4)))
}

/// Makes `command` begin in the root, in a group of its own, with the usual environment and `more` of ours.
pub(super) fn confine(command: &mut Command, root: &Root, more: &[String]) {
    let names = ENVIRONMENT.iter().copied().chain(more.iter().map(String::as_str));
    command
        .current_dir(root.path())
        .env_clear()
        .envs(names.filter_map(|name| Some((name, std::env::var_os(name)?))))
        .env("TERM", "dumb")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
}

/// How a process ended, and what it printed.
pub(super) struct Finished {
    /// None: its time was over, and it was killed.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
}

/// Runs `command` for up to `limit`, with `input` on its standard input if that is a pipe. Its process group is
/// killed when it ends, when its time is over, and when this future is dropped.
pub(super) async fn run(mut command: Command, input: &[u8], limit: Duration) -> Result<Finished, ToolError> {
    let mut child = command.spawn().map_err(|error| {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        ToolError::Failed(format!("{program}: could not be started: {error}"))
    })?;
    let mut group = child.id().map(Group::led_by);
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut stdout, mut stderr) = (Capture::default(), Capture::default());
    let ended = {
        let mut talking = pin!(async {
            let write_stdin = feed(streams.0, input);
            let read_stdout = fill(&mut stdout, streams.1);
            let read_stderr = fill(&mut stderr, streams.2);
            tokio::join!(write_stdin, read_stdout, read_stderr)
        });
        let mut read_to_end = false;
        let ended = timeout(limit, async {
            loop {
                tokio::select! {
                    status = child.wait() => break status,
                    _ = &mut talking, if !read_to_end => read_to_end = true,
                }
            }
        })
        .await;
        // The leader may have left others behind: they go too, whatever the end was.
        if let Some(group) = &mut group {
            group.kill();
        }
        if ended.is_err() {
            // It was killed; nothing is left but to take note of it.
            let _ = child.wait().await;
        }
        if !read_to_end {
            // Somebody out of the group's reach may hold the pipes open.
            let _ = timeout(DRAIN, talking).await;
        }
        ended
    };
    match ended {
        Ok(Ok(status)) => Ok(Finished { status: Some(status), stdout, stderr }),
        Ok(Err(error)) => Err(ToolError::Lost(format!("the command's end was not seen: {error}"))),
        Err(_) => Ok(Finished { status: None, stdout, stderr }),
    }
}

/// What it does not read is its own affair.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
}

async fn fill(capture: &mut Capture, stream: Option<impl AsyncRead + Unpin>) {
    if let Some(stream) = stream {
        capture.fill(stream).await;
    }
}

impl Finished {
    /// What it printed on both streams, each under its name.
    pub(super) fn printed(&self) -> String {
        let mut text = String::new();
        for (name, capture) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let part = capture.text();
            if !part.is_empty() {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n{name}:\n{}", part.trim_end_matches('\n'));
            }
        }
        text
    }
}

/// What is said of a process whose time was over.
pub(super) fn stopped_after(limit: Duration, printed: &str) -> ToolError {
    ToolError::Failed(format!(
        "stopped after {} s: its time was over; it may have done part of its work{printed}",
        limit.as_secs_f32()
    ))
}

/// How a process ended, in words.
pub(super) fn verdict(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
