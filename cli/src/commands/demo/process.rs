//! The processes of the demo: this binary, in the demo's folder, with its output shown.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::LOOK_EVERY;
use crate::exit::Failure;
use crate::print::{Out, shell};

/// The settings for starting processes of the demo.
pub(super) struct Player {
    program: PathBuf,
    folder: PathBuf,
}

/// The end of a process, and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) output: String,
    pub(super) errors: String,
}

impl Ended {
    /// Returns the words of the command that was printed after `name`.
    pub(super) fn command(&self, name: &str) -> Option<Vec<String>> {
        let line =
            self.output.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(' '))?;
        Some(line.split_whitespace().map(str::to_owned).collect())
    }
}

impl Player {
    pub(super) fn new(program: PathBuf, folder: PathBuf) -> Self {
        Self { program, folder }
    }

    /// Shows a command, and starts it as a process in its own process group.
    pub(super) fn start(&self, words: &[&str], out: &Out) -> Result<Running, Failure> {
        let shown: Vec<String> =
            std::iter::once(&"holdover").chain(words).map(|word| (*word).to_owned()).collect();
        out.line("");
        out.line(format!("   $ {}", shell(&shown)));
        self.spawn(words)
    }

    /// Runs a process to its end and shows its output.
    pub(super) async fn run(&self, words: &[&str], out: &Out) -> Result<Ended, Failure> {
        self.start(words, out)?.end(out).await
    }

    /// Runs a process to its end without showing its output. It must succeed.
    pub(super) async fn ask(&self, words: &[&str]) -> Result<Ended, Failure> {
        let mut running = self.spawn(words)?;
        let mut output = String::new();
        while let Some(line) = running.line().await? {
            output.push_str(&line);
            output.push('\n');
        }
        let ended = running.wait(output).await?;
        if ended.code == Some(0) {
            Ok(ended)
        } else {
            Err(Failure::failed(format!("demo: {}: {ended:?}", words.join(" "))))
        }
    }

    fn spawn(&self, words: &[&str]) -> Result<Running, Failure> {
        let mut child = Command::new(&self.program)
            // The plain name makes the process print commands in the form that users type.
            .arg0("holdover")
            .args(words)
            .current_dir(&self.folder)
            .env_remove("HOLDOVER_STORE")
            .env_remove(crate::engine::VARIABLE)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Failure::failed(format!("{}: {error}", self.program.display())))?;
        let (Some(stdout), Some(stderr), Some(id)) = (child.stdout.take(), child.stderr.take(), child.id())
        else {
            return Err(Failure::failed("demo: a process was started without its pipes"));
        };
        Ok(Running { child, id, lines: BufReader::new(stdout).lines(), stderr, output: String::new() })
    }
}

/// A running process. Dropping it kills it.
pub(super) struct Running {
    child: Child,
    id: u32,
    lines: Lines<BufReader<ChildStdout>>,
    stderr: ChildStderr,
    output: String,
}

impl Running {
    /// Returns the id of the process, which is also the id of its group.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    async fn line(&mut self) -> Result<Option<String>, Failure> {
        self.lines.next_line().await.map_err(|error| Failure::failed(format!("demo: {error}")))
    }

    fn show(&mut self, line: &str, out: &Out) {
        out.line(format!("   │ {line}"));
        self.output.push_str(line);
        self.output.push('\n');
    }

    /// Shows the output until `holds` returns true for it. Fails if the process ends or `patience` is over first.
    pub(super) async fn until(
        &mut self,
        what: &str,
        patience: Duration,
        holds: &impl Fn(&str) -> bool,
        out: &Out,
    ) -> Result<(), Failure> {
        let began = Instant::now();
        let mut printed_all = false;
        while !holds(&self.output) {
            if began.elapsed() > patience || printed_all {
                return Err(Failure::failed(format!(
                    "demo: the process ended, or {} s passed, before {what}: {}",
                    patience.as_secs(),
                    self.output
                )));
            }
            tokio::select! {
                line = self.lines.next_line() => match line {
                    Ok(Some(line)) => self.show(&line, out),
                    Ok(None) | Err(_) => printed_all = true,
                },
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
        Ok(())
    }

    /// Shows the output until the process has ended.
    pub(super) async fn end(mut self, out: &Out) -> Result<Ended, Failure> {
        while let Some(line) = self.line().await? {
            self.show(&line, out);
        }
        let output = std::mem::take(&mut self.output);
        let ended = self.wait(output).await?;
        let how = match (ended.code, ended.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => "ended".to_owned(),
        };
        out.line(format!("   ({how})"));
        Ok(ended)
    }

    async fn wait(mut self, output: String) -> Result<Ended, Failure> {
        let mut errors = String::new();
        let failed = |error: std::io::Error| Failure::failed(format!("demo: {error}"));
        self.stderr.read_to_string(&mut errors).await.map_err(failed)?;
        let status: ExitStatus = self.child.wait().await.map_err(failed)?;
        Ok(Ended { code: status.code(), signal: status.signal(), output, errors })
    }
}
