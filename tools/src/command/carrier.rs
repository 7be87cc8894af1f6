//! Requests that a program answers: hooks and summarisers of results.

use std::time::Duration;

use async_trait::async_trait;
use holdover_core::hook::{Carrier, HookError, OUTSIDE_ANSWER_BYTES_MAX};
use holdover_core::tool::{CallHandle, ToolError};
use tokio::process::Command;

use super::input;
use super::process::{Kept, confine, run_keeping};
use crate::files::Root;
use crate::sandbox::Exit;

/// The maximum length of a line of standard error in an error, in characters.
const LINE_CHARS_MAX: usize = 300;

/// Carries requests to a program: one process for each request. The program reads the request from its standard input,
/// as one JSON object, and prints its answer on standard output. The whole request is written before the program starts.
/// An exit code other than 0 is a failure, and the last line of standard error is its reason.
///
/// The program starts in the root folder, without a shell, with the environment variables that a
/// [`CommandTool`](crate::CommandTool) gets, except those about a call. When it ends, when its time is over, or when the
/// request is given up, all processes of its process group are killed. Several requests may run in parallel.
///
/// ```no_run
/// use holdover_core::hook::{HookPoint, HookSettings, OutsideHook};
/// use holdover_tools::{CommandCarrier, Root};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let program = CommandCarrier::new(["/opt/shop/redact"], Root::open("/srv/shop")?)?;
/// let hook = OutsideHook::new(HookSettings::new("redact", [HookPoint::AfterTool]), program)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct CommandCarrier {
    program: String,
    arguments: Vec<String>,
    root: Root,
    environment: Vec<String>,
}

/// The error for a command line without a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("command: is empty")]
pub struct NoProgram;

impl CommandCarrier {
    /// Creates a carrier to this program with these arguments. A name without `/` is looked up in `PATH`.
    ///
    /// # Errors
    /// Fails if no program is named.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>, root: Root) -> Result<Self, NoProgram> {
        let mut words = command.into_iter().map(Into::into);
        let program: String = words.next().filter(|program: &String| !program.is_empty()).ok_or(NoProgram)?;
        Ok(Self { program, arguments: words.collect(), root, environment: Vec::new() })
    }

    /// Passes these environment variables to the program, besides the usual few.
    #[must_use]
    pub fn pass_environment(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.environment.extend(names.into_iter().map(Into::into));
        self
    }
}

#[async_trait]
impl Carrier for CommandCarrier {
    async fn carry(&self, request: String, limit: Duration) -> Result<Vec<u8>, HookError> {
        let input = input::whole(request.as_bytes());
        let input =
            input.map_err(|error| HookError(format!("its request could not be handed over: {error}")))?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        confine(&mut command, &self.root, &self.environment);
        command.stdin(input);
        // Nobody follows the program, and nobody asks it to stop.
        let kept = Kept { stdout: OUTSIDE_ANSWER_BYTES_MAX, shown: false };
        let finished =
            run_keeping(kept, command, limit, &CallHandle::default()).await.map_err(|error| match error {
                ToolError::Failed(why) | ToolError::NotRun(why) | ToolError::Lost(why) => HookError(why),
                ToolError::Transient { detail, wait: _ } => HookError(detail),
            })?;
        let [_, stderr] = finished.texts();
        let said = |how: String| match last_line(&stderr) {
            Some(line) => HookError(format!("{how}: {line}")),
            None => HookError(how),
        };
        match finished.exit() {
            Exit::Code(0) => finished
                .whole_stdout()
                .map_err(|_| said(format!("its answer is longer than {OUTSIDE_ANSWER_BYTES_MAX} bytes"))),
            Exit::Code(code) => Err(said(format!("exit code {code}"))),
            Exit::Signal(signal) => Err(said(format!("ended by signal {signal}"))),
            Exit::TimeOver | Exit::Stopped(_) => {
                Err(said(format!("was silent for {} ms and was killed", limit.as_millis())))
            }
        }
    }
}

/// Returns the last line that is not blank, cut if it is long.
fn last_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let plain = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    Some(plain.take(LINE_CHARS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::testing::Fixture;

    async fn carry(fixture: &Fixture, line: &str, limit_ms: u64) -> Result<String, String> {
        let carrier = CommandCarrier::new(["sh", "-c", line], fixture.root.clone()).unwrap();
        let answer = carrier.carry("{\"a\":1}".to_owned(), Duration::from_millis(limit_ms)).await;
        answer.map(|answer| String::from_utf8(answer).unwrap()).map_err(|error| error.0)
    }

    #[tokio::test]
    async fn c36_a_program_reads_the_request_and_prints_the_answer() {
        let fixture = Fixture::new(&[("here", "")]);
        assert_eq!(carry(&fixture, "cat; ls; echo aside >&2", 20_000).await.unwrap(), "{\"a\":1}here\n");
        // A program that reads nothing is not disturbed by that.
        assert_eq!(carry(&fixture, "exit 0", 20_000).await.unwrap(), "");
        assert_eq!(
            carry(&fixture, "echo one >&2; echo; echo 'two' >&2; echo >&2; exit 3", 20_000).await,
            Err("exit code 3: two".to_owned())
        );
        assert_eq!(carry(&fixture, "kill -9 $$", 20_000).await, Err("ended by signal 9".to_owned()));
        let none = CommandCarrier::new(["no-such-program-here"], fixture.root.clone()).unwrap();
        let error = none.carry(String::new(), Duration::from_secs(20)).await.unwrap_err();
        assert!(error.0.starts_with("no-such-program-here: could not be started"), "{error}");
        assert_eq!(CommandCarrier::new([""; 0], fixture.root.clone()).err(), Some(NoProgram));
        assert_eq!(CommandCarrier::new([""], fixture.root.clone()).err(), Some(NoProgram));
    }

    #[tokio::test]
    async fn c36_a_long_answer_is_whole_and_one_that_is_too_long_is_a_failure() {
        let fixture = Fixture::new(&[]);
        // Longer than the output that is kept of a tool.
        let long = carry(&fixture, "seq 1 100000", 20_000).await.unwrap();
        assert!(long.contains("\n50000\n") && long.ends_with("\n100000\n"), "{}", long.len());
        let line = format!("head -c {} /dev/zero", OUTSIDE_ANSWER_BYTES_MAX + 1);
        assert_eq!(
            carry(&fixture, &line, 60_000).await,
            Err(format!("its answer is longer than {OUTSIDE_ANSWER_BYTES_MAX} bytes"))
        );
    }

    #[tokio::test]
    async fn c36_only_the_named_variables_are_passed() {
        let fixture = Fixture::new(&[]);
        let line = "echo $PATH$CARGO_PKG_NAME$CARGO_MANIFEST_DIR$HOLDOVER_SESSION";
        let carrier = CommandCarrier::new(["sh", "-c", line], fixture.root.clone()).unwrap();
        let carrier = carrier.pass_environment(["CARGO_PKG_NAME"]);
        let answer = carrier.carry(String::new(), Duration::from_secs(20)).await.unwrap();
        let path = std::env::var("PATH").unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), format!("{path}holdover-tools\n"));
    }

    /// A shell line that says on its error output that it begins, and then waits with a child that holds a pipe open.
    const WAITS: &str = "(exec 3>pipe; echo up >&3; sleep 600; touch late) & echo begun >&2; wait";

    /// Creates the pipe, and reads it on a thread until all processes that hold it are gone.
    fn follow(fixture: &Fixture) -> std::thread::JoinHandle<String> {
        let pipe = fixture.folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::thread::spawn(move || {
            let mut text = String::new();
            std::fs::File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
            text
        })
    }

    #[tokio::test]
    async fn c36_a_time_out_kills_the_whole_group() {
        let fixture = Fixture::new(&[]);
        let group = follow(&fixture);
        assert_eq!(
            carry(&fixture, WAITS, 3_000).await,
            Err("was silent for 3000 ms and was killed: begun".to_owned())
        );
        // The pipe ended, so the child is dead, long before it would have ended by itself.
        assert_eq!(group.join().unwrap(), "up\n");
    }

    #[tokio::test]
    async fn c36_a_request_that_is_given_up_kills_the_whole_group() {
        let fixture = Fixture::new(&[]);
        let group = follow(&fixture);
        let carried = tokio::time::timeout(Duration::from_secs(3), carry(&fixture, WAITS, 600_000)).await;
        assert!(carried.is_err());
        assert_eq!(group.join().unwrap(), "up\n");
    }
}
