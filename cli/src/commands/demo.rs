//! `demo`: takes one session through approval, kill -9 and recovery, using this binary. Claims about the session and
//! its files are checked before they are printed.

mod process;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

use self::process::Player;
use crate::args::Demo;
use crate::exit::{Exit, Failure};
use crate::print::Out;
use crate::signals::Signals;
use crate::temporary;

/// The files that the demo starts with.
const FILES: [(&str, &str); 4] = [
    ("agent.toml", include_str!("../../demo/agent.toml")),
    ("script.toml", include_str!("../../demo/script.toml")),
    ("project/CHANGES.md", include_str!("../../demo/project/CHANGES.md")),
    ("project/publish.sh", include_str!("../../demo/project/publish.sh")),
];

const SESSION: &str = "release-1";

/// The time limit for any part of the demo.
const PATIENCE: Duration = Duration::from_secs(30);

/// The interval between two checks of a condition.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs the demo, then removes its folder unless `--keep` is given.
pub(crate) async fn demo(args: &Demo) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?;
    let folder = tempfile::Builder::new()
        .prefix("holdover-demo-")
        .tempdir()
        .map_err(|error| Failure::failed(format!("a temporary folder: {error}")))?;
    let began = Instant::now();
    let stage = Stage::new(&folder)?;
    let played = tokio::select! {
        played = stage.play() => played,
        told = signals.next() => Err(Failure { exit: told.exit(), line: "the demo was stopped".to_owned() }),
    };
    let out = Out::for_people();
    if args.keep {
        let kept = folder.keep();
        out.line(format!("Kept: {}", kept.display()));
    } else {
        temporary::remove(folder).await.map_err(|error| Failure::failed(error.to_string()))?;
    }
    played?;
    out.line(format!("\nThat took {:.1} s. Now yours: holdover run --help", began.elapsed().as_secs_f32()));
    Ok(Exit::Completed)
}

struct Stage {
    out: Out,
    folder: PathBuf,
    player: Player,
}

impl Stage {
    fn new(folder: &TempDir) -> Result<Self, Failure> {
        let folder = folder.path().canonicalize().map_err(|error| in_file(folder.path(), &error))?;
        for (name, text) in FILES {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(&folder);
            std::fs::create_dir_all(parent).map_err(|error| in_file(parent, &error))?;
            std::fs::write(&path, text).map_err(|error| in_file(&path, &error))?;
        }
        let program = std::env::current_exe().map_err(|error| Failure::failed(error.to_string()))?;
        Ok(Self { out: Out::for_people(), player: Player::new(program, folder.clone()), folder })
    }

    async fn play(&self) -> Result<(), Failure> {
        self.introduce();
        let approve = self.begin().await?;
        let written_at = self.approve_and_kill(&approve).await?;
        self.recover(written_at).await?;
        self.end().await
    }

    fn introduce(&self) {
        self.title("Holdover: an agent that survives a kill -9");
        self.say(&[
            &format!("Folder: {}", self.folder.display()),
            "agent.toml is a real agent file; its model is a script, so this needs no key and no network.",
            "What you see are real processes of this binary, on real files and a real SQLite database.",
        ]);
    }

    /// Runs the first process until it asks for permission to write. Returns the command that approves.
    async fn begin(&self) -> Result<Vec<String>, Failure> {
        self.title("1. A process runs the agent");
        let ran = self
            .player
            .run(&["run", "agent.toml", "--session", SESSION, "Prepare release 1.0"], &self.out)
            .await?;
        expect("the process ends with exit code 10", ran.code == Some(10), &ran)?;
        let approve =
            ran.command("approve").ok_or_else(|| broken("the command that approves is printed", &ran))?;
        expect("CHANGES.md is corrected", self.file("CHANGES.md")?.contains("## 1.0"), &ran)?;
        expect("NOTES.md is not written", !self.path("NOTES.md").exists(), &ran)?;
        let shown = self.show().await?;
        expect("the session is suspended", shown["status"] == "suspended", &shown)?;
        self.say(&[
            "It read, it edited CHANGES.md, and it asked before it wrote: NOTES.md does not exist. Then the",
            "process ended with exit code 10. Nothing runs now.",
            "Durable: the conversation, the edit with its result, the exact bytes of the call that waits, and",
            "its deadline. A person may take a day: no process has to live for that.",
        ]);
        Ok(approve)
    }

    /// Runs the second process, which approves and continues, and kills it in the middle of a command. Returns the time
    /// at which NOTES.md was written.
    async fn approve_and_kill(&self, approve: &[String]) -> Result<SystemTime, Failure> {
        self.title("2. A second process approves, and goes on");
        let words: Vec<&str> = approve.iter().skip(1).map(String::as_str).chain(["--lease", "2s"]).collect();
        let mut running = self.player.start(&words, &self.out)?;
        let log = self.path("publish.log");
        let began = |shown: &str| contains(&log, "began") && shown.contains("run_command");
        running.until("the upload begins", PATIENCE, &began, &self.out).await?;
        let notes = self.file("NOTES.md")?;
        expect("NOTES.md is written", notes.starts_with("# Release 1.0"), &notes)?;
        let written_at = self.written_at("NOTES.md")?;
        self.say(&[
            "The approval was durable before the file was written, and bound to the bytes that were shown.",
            "Durable: NOTES.md is written and its result kept; the mark that publish.sh was started.",
        ]);
        self.title(&format!("3. kill -9 {}, in the middle of publish.sh", running.id()));
        let group = i32::try_from(running.id()).ok().and_then(Pid::from_raw);
        let group = group.ok_or_else(|| Failure::failed("demo: the process has no id"))?;
        kill_process_group(group, Signal::KILL).map_err(|error| Failure::failed(format!("kill: {error}")))?;
        let ended = running.end(&self.out).await?;
        expect("the process was killed by signal 9", ended.signal == Some(9), &ended)?;
        // The command has its own process group. It ends because its parent is gone.
        wait_for("publish.sh ends", || contains(&log, "cut off")).await?;
        let shown = self.show().await?;
        expect("the session still looks active", shown["status"] == "active", &shown)?;
        self.say(&[
            "No handler ran, nothing was flushed. publish.sh had begun its upload and was cut off with it.",
            "Durable: all that was said, and that the upload was started, but not how it ended. Nobody can know",
            "that from here, so it will not be guessed. The dead process holds the session until its lease of",
            "two seconds ends.",
        ]);
        Ok(written_at)
    }

    /// Runs the third process: a worker that finds the session by its alarm.
    async fn recover(&self, written_at: SystemTime) -> Result<(), Failure> {
        self.title("4. A worker finds the session, and recovers it");
        let worked = self.player.run(&["work", "--until-idle"], &self.out).await?;
        expect("the worker ends with exit code 0", worked.code == Some(0), &worked)?;
        let events = self.player.ask(&["events", SESSION, "--json"]).await?;
        expect("a run took the session over", events.output.contains(r#""found":"active""#), &events.output)?;
        self.check_results().await?;
        let now_written_at = self.written_at("NOTES.md")?;
        expect("NOTES.md was not written again", now_written_at == written_at, &now_written_at)?;
        let told = self.player.ask(&["sessions", "messages", SESSION]).await?;
        self.out.line("");
        self.out.line(format!("   $ holdover sessions messages {SESSION}"));
        let lines: Vec<&str> = told.output.lines().collect();
        let from = lines.iter().position(|line| line.contains("in doubt")).unwrap_or(0).saturating_sub(1);
        self.out.line("   │ …");
        for line in &lines[from..] {
            self.out.line(format!("   │ {line}"));
        }
        self.say(&[
            "run_command promises at most once, so it was not sent again: it ended in doubt, and the model was",
            "told. It looked at the log before it acted. NOTES.md was not written a second time, and no word of",
            "the conversation was lost or said twice.",
        ]);
        Ok(())
    }

    /// Checks that every call has exactly one result, that the call that was running when the process died is in doubt,
    /// and that no text was said twice.
    async fn check_results(&self) -> Result<(), Failure> {
        let told = self.player.ask(&["sessions", "messages", SESSION, "--json"]).await?;
        let (mut calls, mut results, mut in_doubt) = (Vec::new(), Vec::new(), Vec::new());
        let mut said = Vec::new();
        for line in told.output.lines() {
            let entry: Value = serde_json::from_str(line)
                .map_err(|error| Failure::failed(format!("demo: sessions messages: {error}")))?;
            let message = &entry["message"];
            let parts = message["parts"].as_array().cloned().unwrap_or_default();
            calls.extend(parts.iter().filter(|part| part["type"] == "call").map(|part| part["id"].clone()));
            let texts = parts.iter().filter(|part| part["type"] == "text").map(|part| part["text"].clone());
            said.extend(texts.chain(message["text"].is_string().then(|| message["text"].clone())));
            if message["role"] == "tool" {
                results.push(message["call"].clone());
                if message["status"] == "in_doubt" {
                    in_doubt.push(message["tool"].clone());
                }
            }
        }
        expect("there are calls", !calls.is_empty(), &told.output)?;
        expect("every call has exactly one result, in order", calls == results, &told.output)?;
        // There is one user message, and seven turns of the script.
        let said_once =
            said.len() == 8 && said.iter().enumerate().all(|(at, text)| !said[..at].contains(text));
        expect("everything was said once", said_once, &said)?;
        expect("the killed command alone is in doubt", in_doubt == ["run_command"], &told.output)
    }

    async fn end(&self) -> Result<(), Failure> {
        self.title("5. The end");
        let shown = self.show().await?;
        expect("the turn is completed", shown["outcome"]["kind"] == "completed", &shown)?;
        expect("three runs worked on it", shown["runs"].as_array().map(Vec::len) == Some(3), &shown)?;
        let log = self.file("publish.log")?;
        expect("the upload began once", log.matches("began").count() == 1, &log)?;
        expect("the upload finished once", log.matches("finished").count() == 1, &log)?;
        for name in ["CHANGES.md", "NOTES.md", "publish.log"] {
            self.out.line("");
            self.out.line(format!("   project/{name}"));
            for line in self.file(name)?.lines() {
                self.out.line(format!("   │ {line}"));
            }
        }
        self.say(&[
            "Three processes, one of them killed, one session: completed. Durable: all of it, in holdover.db.",
        ]);
        Ok(())
    }

    async fn show(&self) -> Result<Value, Failure> {
        let shown = self.player.ask(&["sessions", "show", SESSION, "--json"]).await?;
        serde_json::from_str(&shown.output)
            .map_err(|error| Failure::failed(format!("demo: sessions show: {error}: {}", shown.output)))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join("project").join(name)
    }

    fn file(&self, name: &str) -> Result<String, Failure> {
        let path = self.path(name);
        std::fs::read_to_string(&path).map_err(|error| in_file(&path, &error))
    }

    fn written_at(&self, name: &str) -> Result<SystemTime, Failure> {
        let path = self.path(name);
        let found = std::fs::metadata(&path).and_then(|found| found.modified());
        found.map_err(|error| in_file(&path, &error))
    }

    fn title(&self, title: &str) {
        self.out.line("");
        self.out.line(self.out.bold(title));
    }

    fn say(&self, lines: &[&str]) {
        self.out.line("");
        for line in lines {
            self.out.line(format!("   {line}"));
        }
    }
}

/// Returns an error unless `holds`.
fn expect(what: &str, holds: bool, seen: &impl std::fmt::Debug) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(broken(what, seen)) }
}

fn broken(what: &str, seen: &impl std::fmt::Debug) -> Failure {
    Failure::failed(format!("demo: it was claimed that {what}, but: {seen:?}"))
}

async fn wait_for(what: &str, holds: impl Fn() -> bool) -> Result<(), Failure> {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > PATIENCE {
            return Err(Failure::failed(format!("demo: waited {} s until {what}", PATIENCE.as_secs())));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

fn contains(path: &Path, text: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|found| found.contains(text))
}

fn in_file(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{}: {error}", path.display()))
}
