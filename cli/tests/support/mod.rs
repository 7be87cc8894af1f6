//! A temporary folder with an agent file, in which the tests run the binary.

#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub(crate) const HOLDOVER: &str = env!("CARGO_BIN_EXE_holdover");

/// The longest time that a test waits for something.
const PATIENCE: Duration = Duration::from_secs(60);

/// An agent whose model acts on the words of the message.
const AGENT: &str = r#"
name = "tester"
model = "scripted:script.toml"
root = "files"
tools = ["read_file", "write_file", "run_command", "ask_user", "sleep"]

[[approval]]
tool = "write_file"
action = "ask"
reason = "it writes"

[[approval]]
tool = "run_command"
action = "allow"
"#;

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "hello", nth = 1 }
say = "Good day."

[[turns]]
when = { user_contains = "write", nth = 1 }
say = "I write."
calls = [{ tool = "write_file", arguments = { path = "note.txt", content = "it's\nwritten\n" } }]

[[turns]]
when = { result_of = "write_file", result_status = "done" }
say = "Written."

[[turns]]
when = { result_of = "write_file", result_contains = "denied by user" }
say = "Not written."

[[turns]]
when = { user_contains = "two", nth = 1 }
calls = [
    { tool = "write_file", arguments = { path = "a.txt", content = "a" } },
    { tool = "write_file", arguments = { path = "b.txt", content = "b" } },
]

[[turns]]
when = { user_contains = "ask", nth = 1 }
calls = [{ tool = "ask_user", arguments = { question = "Which colour?" } }]

[[turns]]
when = { result_of = "ask_user", result_contains = "blue", result_status = "done" }
say = "Blue it is."

[[turns]]
when = { result_of = "ask_user", result_status = "error" }
say = "No colour then."

[[turns]]
when = { user_contains = "rest", nth = 1 }
calls = [{ tool = "sleep", arguments = { seconds = 2 } }]

[[turns]]
when = { result_of = "sleep" }
say = "Rested."

[[turns]]
when = { user_contains = "linger", nth = 1 }
calls = [{ tool = "run_command", arguments = { command = "echo begun > marker; while kill -0 $PPID 2>/dev/null; do sleep 0.05; done; echo > survived" } }]

[[turns]]
when = { result_of = "run_command", result_status = "in_doubt" }
say = "I look."
calls = [{ tool = "read_file", arguments = { path = "marker" } }]

[[turns]]
when = { result_of = "read_file", result_contains = "begun" }
say = "It had begun."
"#;

/// A temporary folder with an agent file.
pub(crate) struct Fixture {
    folder: TempDir,
    /// The engine that all commands name, if any.
    pub(crate) engine: Option<String>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let fixture = Self { folder, engine: None };
        std::fs::create_dir(fixture.path("files")).expect("a folder");
        fixture.write("agent.toml", AGENT);
        fixture.write("script.toml", SCRIPT);
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file is written");
    }

    /// Writes this schema version into the closed database, at byte 60 of the file.
    pub(crate) fn set_schema(&self, name: &str, version: u32) {
        let mut bytes = std::fs::read(self.path(name)).expect("a file is read");
        bytes[60..64].copy_from_slice(&version.to_be_bytes());
        std::fs::write(self.path(name), bytes).expect("a file is written");
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file is read")
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(HOLDOVER);
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("HOLDOVER_STORE").env_remove("HOLDOVER_LOG").env_remove("HOLDOVER_ENGINE");
        command.envs(self.engine.iter().map(|engine| ("HOLDOVER_ENGINE", engine)));
        command
    }

    /// Runs the binary until it ends.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(words, self.command(words).output().expect("it starts"))
    }

    /// Runs the binary with `input` on its standard input.
    pub(crate) fn run_with(&self, words: &[&str], input: &str) -> Ran {
        let mut command = self.command(words);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        Ran::of(words, child.wait_with_output().expect("it ends"))
    }

    /// Runs a shell line in the folder of the fixture, without `HOLDOVER_STORE`.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("HOLDOVER_STORE");
        Ran::of(&[line], command.output().expect("it starts"))
    }

    /// Runs the binary with a terminal as its standard output. The text shown there becomes the output of the
    /// result.
    pub(crate) fn run_on_terminal(&self, words: &[&str]) -> Ran {
        self.watch_on_terminal(words, &[], |_, _| {})
    }

    /// Does the same as `run_on_terminal`, with more environment variables. Whenever more text is shown, `seen` gets
    /// all text so far and the process id, and may send signals.
    pub(crate) fn watch_on_terminal(
        &self,
        words: &[&str],
        environment: &[(&str, &str)],
        mut seen: impl FnMut(&str, rustix::process::Pid),
    ) -> Ran {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&ours).expect("it may be used");
        unlockpt(&ours).expect("it may be opened");
        let name = ptsname(&ours, Vec::new()).expect("it has a name").into_string().expect("UTF-8");
        let theirs = std::fs::OpenOptions::new().write(true).open(name).expect("its other end");
        let mut command = self.command(words);
        command.env("TERM", "xterm").env_remove("NO_COLOR").envs(environment.iter().copied());
        let child = command.stdout(theirs).stderr(Stdio::piped()).spawn().expect("it starts");
        let pid =
            i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
        // Drops our copy of the process's end of the terminal, so that reading ends when the process does.
        drop(command);
        let (mut terminal, mut shown, mut bytes) = (std::fs::File::from(ours), Vec::new(), [0; 4096]);
        // Linux reports the end of a terminal as an error.
        while let Ok(count @ 1..) = terminal.read(&mut bytes) {
            shown.extend_from_slice(&bytes[..count]);
            seen(&String::from_utf8_lossy(&shown), pid);
        }
        let mut output = child.wait_with_output().expect("it ends");
        output.stdout = shown;
        Ran::of(words, output)
    }

    /// Starts the binary in a process group of its own.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        Self::start_that(self.command(words))
    }

    /// Starts a prepared command in a process group of its own.
    pub(crate) fn start_that(mut command: Command) -> Running {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("it starts");
        let out = Heard::of(child.stdout.take().expect("a pipe"));
        let err = Heard::of(child.stderr.take().expect("a pipe"));
        Running { child: Some(child), out, err }
    }
}

/// The output of a pipe, read as it arrives.
struct Heard {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Heard {
    fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                read.lock().expect("unpoisoned").extend_from_slice(&bytes[..count]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("unpoisoned")).into_owned()
    }

    fn all(&mut self) -> Vec<u8> {
        self.reader.take().expect("it is read").join().expect("it is read to its end");
        std::mem::take(&mut self.bytes.lock().expect("unpoisoned"))
    }
}

/// A process that is killed when the value is dropped. Its output is read as it arrives.
pub(crate) struct Running {
    child: Option<Child>,
    out: Heard,
    err: Heard,
}

impl Running {
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid =
            i32::try_from(self.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process id");
        rustix::process::kill_process(pid, signal).expect("it is there");
    }

    /// Returns the id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    pub(crate) fn end(mut self) -> Ran {
        let mut child = self.child.take().expect("it runs");
        let status = child.wait().expect("it ends");
        Ran::of(&["a started process"], Output { status, stdout: self.out.all(), stderr: self.err.all() })
    }

    /// Returns all that the process has printed so far.
    pub(crate) fn text_so_far(&self) -> String {
        self.out.so_far()
    }

    /// Waits until `text` appears on standard error.
    #[track_caller]
    pub(crate) fn notes(&self, text: &str) {
        wait_until(text, || self.err.so_far().contains(text));
    }

    /// Returns the number of lines that the process has printed so far.
    pub(crate) fn lines_so_far(&self) -> usize {
        self.text_so_far().matches('\n').count()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The result of a process that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) words: String,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn of(words: &[&str], output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let (out, err) = (text(output.stdout), text(output.stderr));
        Self { words: words.join(" "), code: output.status.code(), out, err }
    }

    /// Asserts that the process ended with this code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that the process failed with this code, and with one line on standard error that contains
    /// these words.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        let ran = self.ends(code);
        assert!(ran.err.starts_with("error: "), "{ran:#?}");
        assert_eq!(ran.err.lines().count(), 1, "{ran:#?}");
        for word in words {
            assert!(ran.err.contains(word), "{word:?} in {ran:#?}");
        }
        ran
    }

    /// Asserts that standard output contains this text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.out.contains(text), "{text:?} in {self:#?}");
        self
    }

    /// Parses each line of standard output as JSON.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{self:#?}")))
            .collect()
    }

    /// Parses the last line of standard output as JSON.
    #[track_caller]
    pub(crate) fn last(&self) -> Value {
        self.lines().pop().unwrap_or_else(|| panic!("{self:#?}"))
    }

    /// Returns the command that was printed after the word `name`.
    #[track_caller]
    pub(crate) fn command(&self, name: &str) -> String {
        let line = self.out.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} in {self:#?}")).trim().to_owned()
    }
}

/// Waits until `holds` returns true. Panics after `PATIENCE`.
#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns true if the file exists and is not empty.
pub(crate) fn is_written(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.len() > 0)
}
