//! The tool `run_command`.

use std::path::PathBuf;
use std::time::Duration;

use holdover_core::ids::ToolName;
use holdover_core::tool::{EffectClass, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::process::Command;

use super::process::{MARGIN_MAX, confine, limit_of, run, told};
use crate::FunctionTool;
use crate::files::{RelativePath, Root};

/// The default time limit of a command, in seconds.
const SECONDS_DEFAULT: u64 = 120;
/// The longest time limit of a command, in seconds.
const SECONDS_MAX: u64 = 600;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunCommand {
    /// A line for the shell `sh`. Give either this or program.
    command: Option<String>,
    /// A program to run without a shell. Give either this or command.
    program: Option<String>,
    /// The program's arguments.
    #[serde(default)]
    args: Vec<String>,
    /// The working directory, relative to the root folder. Left out: the root folder.
    #[serde(default)]
    pub(crate) folder: String,
    /// After how many seconds it is stopped. Left out: 120.
    #[schemars(range(min = 1, max = SECONDS_MAX))]
    timeout_seconds: Option<u64>,
}

/// Returns a tool that runs a program or a shell line in the root folder or a folder beneath it. The process group is
/// killed when the command ends, when its time is over, or when the call is dropped.
///
/// The tool is `at_most_once` and dangerous, because the effect of a command is unknown. The command is not confined to
/// the root folder; the gate decides whether it runs.
pub(crate) fn run_command(name: ToolName, root: Root, environment: Vec<String>) -> FunctionTool<RunCommand> {
    FunctionTool::new(
        name,
        "Runs a shell line (command) or a program with arguments (program, args) in a folder and waits for its \
         end. Tells the exit code and what was printed; of long output, the beginning and the end. Nothing can \
         be typed into it, and what it leaves in the background is stopped.",
        move |asked: RunCommand, call| {
            let root = root.clone();
            let environment = environment.clone();
            async move {
                let command = prepare(&asked, &root, &environment)?;
                let limit = asked.limit(call.timeout);
                let finished = run(command, limit, &call.handle).await?;
                let [stdout, stderr] = finished.texts();
                told(finished.exit(), &stdout, &stderr, limit)
            }
        },
    )
    .effect(EffectClass::AtMostOnce)
    .dangerous()
    .timeout(Duration::from_secs(SECONDS_MAX) + MARGIN_MAX)
}

impl RunCommand {
    /// Returns the time limit of the command, given the time limit `call` of its call.
    pub(crate) fn limit(&self, call: Option<Duration>) -> Duration {
        let seconds = self.timeout_seconds.unwrap_or(SECONDS_DEFAULT).clamp(1, SECONDS_MAX);
        limit_of(call).min(Duration::from_secs(seconds))
    }

    /// Returns the program and its arguments.
    pub(crate) fn line(&self) -> Result<(String, Vec<String>), ToolError> {
        let fail = |why: &str| Err(ToolError::Failed(why.to_owned()));
        match (&self.command, &self.program) {
            (Some(line), None) if self.args.is_empty() => {
                Ok(("/bin/sh".to_owned(), vec!["-c".to_owned(), line.clone()]))
            }
            (Some(_), None) => fail("args go with program, not with command"),
            (None, Some(program)) if program.is_empty() => fail("program is empty"),
            (None, Some(program)) => Ok((program.clone(), self.args.clone())),
            (None, None) | (Some(_), Some(_)) => fail("give either command or program"),
        }
    }
}

fn prepare(asked: &RunCommand, root: &Root, environment: &[String]) -> Result<Command, ToolError> {
    let (program, args) = asked.line()?;
    let mut command = Command::new(program);
    command.args(args);
    confine(&mut command, root, environment);
    command.current_dir(root.path().join(folder_in(root, &asked.folder)?));
    Ok(command)
}

/// Returns the folder that `text` names, relative to the root and without links.
pub(crate) fn folder_in(root: &Root, text: &str) -> Result<PathBuf, ToolError> {
    let folder = RelativePath::parse(text)?;
    if folder.is_root() {
        return Ok(PathBuf::new());
    }
    let directory = root.resolve(&folder)?;
    if !root.path().join(&directory).is_dir() {
        return Err(ToolError::Failed(format!("folder {folder}: is not a folder")));
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread::JoinHandle;
    use std::time::Duration;

    use serde_json::{Value, json};

    use crate::ToolSet;
    use crate::testing::{Fixture, Run, call};
    use holdover_core::tool::{ToolError, ToolOutput};

    #[tokio::test]
    async fn a_command_tells_its_exit_code_and_what_it_printed() {
        let fixture = Fixture::new(&[("sub/a.txt", "")]);
        for (arguments, told) in [
            (
                json!({ "command": "echo out; echo err >&2; exit 3" }),
                "exit code 3\nstdout:\nout\nstderr:\nerr",
            ),
            (json!({ "command": "kill -9 $$" }), "ended by signal 9"),
            (json!({ "program": "ls", "args": ["-1"], "folder": "sub" }), "exit code 0\nstdout:\na.txt"),
            (json!({ "program": "echo", "args": ["$HOME; ls"] }), "exit code 0\nstdout:\n$HOME; ls"),
            (json!({ "command": "cat" }), "exit code 0"),
        ] {
            assert_eq!(fixture.run("run_command", arguments.clone()).await.unwrap(), told, "{arguments}");
        }
    }

    #[tokio::test]
    async fn what_cannot_run_fails_with_one_line() {
        let fixture = Fixture::new(&[("file", "")]);
        for (arguments, why) in [
            (json!({}), "give either command or program"),
            (json!({ "command": "ls", "program": "ls" }), "give either command or program"),
            (json!({ "command": "ls", "args": ["a"] }), "args go with program"),
            (json!({ "program": "" }), "program is empty"),
            (json!({ "program": "no-such-program-here" }), "no-such-program-here: could not be started"),
            (json!({ "command": "ls", "folder": "../" }), "`..`"),
            (json!({ "command": "ls", "folder": "file" }), "is not a folder"),
            (json!({ "command": "ls", "folder": "missing" }), "missing: does not exist"),
        ] {
            let line = fixture.run("run_command", arguments).await.unwrap_err();
            assert!(line.contains(why) && !line.contains('\n'), "{line}");
        }
    }

    #[tokio::test]
    async fn only_the_allowed_environment_is_seen() {
        // Cargo sets these variables for its tests. They are not among the usual ones.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let fixture = Fixture::new(&[]);
        let seen = fixture.run("run_command", json!({ "program": "env" })).await.unwrap();
        assert!(seen.contains("PATH=") && seen.contains("TERM=dumb"), "{seen}");
        assert!(!seen.contains("CARGO"), "{seen}");
        let tool =
            ToolSet::new(fixture.root.clone()).pass_environment(["CARGO_PKG_NAME"]).tool("run_command");
        let end = tool.unwrap().call(call(json!({ "command": "echo $CARGO_PKG_NAME" }))).await;
        assert_eq!(end, Ok(ToolOutput::text("exit code 0\nstdout:\nholdover-tools").into()));
    }

    /// Returns arguments that run `then` in `sh`, beside a child in the background. The child holds a pipe open while
    /// it lives, and creates the file `late` if it is not killed.
    fn with_child(then: &str, timeout_seconds: u64) -> Value {
        json!({
            "command": format!("(exec 3>pipe; echo started >&3; touch seen; sleep 30; touch late) & {then}"),
            "timeout_seconds": timeout_seconds,
        })
    }

    /// Creates the pipe and reads it on a thread until every process that holds it is gone. The receiver gets a message
    /// once the child has started.
    fn follow_pipe(fixture: &Fixture) -> (JoinHandle<String>, tokio::sync::oneshot::Receiver<()>) {
        let pipe = fixture.folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (started, has_started) = tokio::sync::oneshot::channel();
        let reader = std::thread::spawn(move || {
            use std::io::{BufRead, Read};
            let mut file = std::io::BufReader::new(std::fs::File::open(pipe).unwrap());
            let mut text = String::new();
            file.read_line(&mut text).unwrap();
            let _ = started.send(());
            file.read_to_string(&mut text).unwrap();
            text
        });
        (reader, has_started)
    }

    /// Checks that the child was killed. The pipe ended, so all processes that held it are dead. If they had ended by
    /// themselves, `late` would exist.
    fn check_killed(reader: JoinHandle<String>, folder: &Path) {
        assert_eq!(reader.join().unwrap(), "started\n");
        assert!(!folder.join("late").exists());
    }

    #[tokio::test]
    async fn a_time_out_kills_the_children_too() {
        let fixture = Fixture::new(&[]);
        let (reader, _) = follow_pipe(&fixture);
        let line = fixture.run("run_command", with_child("echo so far; wait", 3)).await.unwrap_err();
        assert_eq!(
            line,
            "stopped after 3 s: its time was over; it may have done part of its work\nstdout:\nso far"
        );
        check_killed(reader, fixture.folder.path());
    }

    #[tokio::test]
    async fn what_is_left_in_the_background_is_killed() {
        let fixture = Fixture::new(&[]);
        let (reader, _) = follow_pipe(&fixture);
        // The shell ends while its child is alive and holds the output open.
        let told =
            fixture.run("run_command", with_child("while ! test -e seen; do :; done; echo over", 20)).await;
        assert_eq!(told.unwrap(), "exit code 0\nstdout:\nover");
        check_killed(reader, fixture.folder.path());
    }

    #[tokio::test]
    async fn dropping_the_call_kills_the_children_too() {
        let fixture = Fixture::new(&[]);
        let (reader, has_started) = follow_pipe(&fixture);
        let tool = fixture.tool("run_command");
        tokio::select! {
            end = tool.call(call(with_child("wait", 500))) => panic!("it runs until dropped: {end:?}"),
            started = has_started => started.unwrap(),
        }
        check_killed(reader, fixture.folder.path());
    }

    #[tokio::test]
    async fn a50_lines_are_reported_as_they_are_printed() {
        let fixture = Fixture::new(&[]);
        let run = Run::new();
        let line = "echo one; until [ -e seen ]; do sleep 0.01; done; echo two >&2; printf three";
        let (tool, asked) = (fixture.tool("run_command"), run.sends(call(json!({ "command": line }))));
        let (end, ()) = tokio::join!(tool.call(asked), async {
            while run.reported() != ["one"] {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            std::fs::write(fixture.folder.path().join("seen"), "").unwrap();
        });
        let whole = "exit code 0\nstdout:\none\nthree\nstderr:\ntwo";
        assert_eq!(end, Ok(ToolOutput::text(whole).into()));
        assert_eq!(run.reported(), ["one", "two"], "a line that has not ended is not reported");
    }

    #[tokio::test]
    async fn b33_a_command_is_asked_to_end_and_tells_what_it_printed() {
        let fixture = Fixture::new(&[]);
        // The first ends when it is asked to; the second does not, and is killed after half of the grace.
        for (heeds, line) in [
            (true, "trap 'echo ended; exit 0' TERM; echo begun; sleep 600 & wait"),
            (false, "trap '' TERM; echo begun; sleep 600"),
        ] {
            let run = Run::new();
            let (tool, asked) = (fixture.tool("run_command"), run.sends(call(json!({ "command": line }))));
            let grace = Duration::from_millis(if heeds { 60_000 } else { 400 });
            let (end, asked_at) = tokio::join!(tool.call(asked), async {
                while run.reported() != ["begun"] {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                run.stop(grace);
                std::time::Instant::now()
            });
            let said = if heeds { "begun\nended" } else { "begun" };
            let why = "stopped (user:cancelled); it may have done part of its work";
            assert_eq!(end, Err(ToolError::Failed(format!("{why}\nstdout:\n{said}"))));
            let took = asked_at.elapsed();
            assert!(if heeds { took < grace / 2 } else { took >= grace / 2 }, "{took:?}");
        }
    }

    #[tokio::test]
    async fn long_output_is_cut_in_the_middle() {
        let fixture = Fixture::new(&[]);
        let text = fixture.run("run_command", json!({ "command": "seq 1 100000" })).await.unwrap();
        assert!(text.starts_with("exit code 0\nstdout:\n1\n2\n") && text.ends_with("\n100000"));
        assert!(text.contains(" bytes left out]\n") && text.len() < 70_000);
    }
}
