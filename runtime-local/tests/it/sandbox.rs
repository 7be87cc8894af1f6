//! The first call that needs a sandbox boots it, and every exit of its turn frees it. Commands are real, and run under
//! bubblewrap where that works, so time is real here too.
//!
//! Requirements: C11, C44, C45, H14.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::agent::{Limits, LoopDetection, StopCondition};
use holdover_core::error::ErrorInfo;
use holdover_core::event::Event;
use holdover_core::gate::{ApprovalRule, RuleAction, RuleGate};
use holdover_core::ids::{SessionKey, ToolName, TurnNumber};
use holdover_core::machine::DoneReason;
use holdover_core::message::ResultStatus;
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::provision::Provisioner;
use holdover_core::store::{EventCursor, OutcomeKind};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{AgentBuilder, Follow, Runtime};
use holdover_tools::{LocalSandboxes, SandboxOptions, Sandboxes};

use crate::bench::{agent, finish, only_result, runtime, say, store, tool_results};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// A directory of its own for the sandboxes of one test.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn options(&self) -> SandboxOptions {
        SandboxOptions::default().root(Some(self.0.path().join("root")))
    }

    fn sandboxes(&self) -> Sandboxes {
        Sandboxes::new(LocalSandboxes::open(&self.options()).unwrap())
    }

    /// Returns the number of entries in the root of the sandboxes.
    fn left(&self) -> usize {
        fs::read_dir(self.0.path().join("root")).unwrap().count()
    }

    /// Returns the number of processes on this machine that belong to a sandbox with its workspace in this root.
    fn processes(&self) -> usize {
        let own = fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(|entry| {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let root = self.0.path().to_str().unwrap();
            [environment, arguments].iter().any(|text| String::from_utf8_lossy(text).contains(root))
        });
        own.count()
    }

    /// Returns the number of files and locks of a sandbox that this process has open.
    fn open(&self) -> usize {
        let own =
            fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        own.filter(|file| file.starts_with(self.0.path())).count()
    }

    async fn is_bare(&self) {
        assert_eq!(self.left(), 0, "nothing is left of a sandbox");
        // A killed process may still be dying.
        until(|| self.processes() == 0).await;
    }
}

async fn until(mut is: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if is() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it never came");
}

/// Returns an agent with sandboxes that runs every command without approval.
fn equipped(model: &Script, sandboxes: &Sandboxes) -> AgentBuilder {
    let gate = RuleGate::new(vec![ApprovalRule::new("run_command", RuleAction::Allow)]);
    agent(model).gate(gate).tools(sandboxes.tools()).provisioner(sandboxes.provisioner())
}

/// A command that leaves a file and a process that never ends.
const BOOT: (&str, &str) =
    ("run_command", r#"{"command":"echo x >file; setsid sleep 1000 >/dev/null 2>/dev/null &"}"#);
/// A command that leaves a file and never ends.
const STAY: (&str, &str) = ("run_command", r#"{"command":"echo x >file; sleep 1000"}"#);

fn boots_then(then: impl Fn() -> Say + Send + Sync + 'static) -> Script {
    Script::new(move |request| if results(request).is_empty() { Say::Calls(vec![BOOT]) } else { then() })
}

fn refused() -> Say {
    Say::Fail(ModelError::new(ModelErrorKind::Auth, "no key"))
}

async fn events(runtime: &Runtime, key: &SessionKey) -> Vec<Event> {
    let events = runtime.events(key, EventCursor::START, Follow::UntilRest);
    events.map(|entry| entry.unwrap().event).collect().await
}

/// Runs a turn that boots a sandbox, and asserts that the turn ends for the reason `expect` and that nothing of the
/// sandbox is left.
async fn check_freed(
    what: &str,
    build: impl FnOnce(AgentBuilder) -> AgentBuilder,
    model: Script,
    expect: DoneReason,
) {
    let ground = Ground::new();
    let agent = Arc::new(build(equipped(&model, &ground.sandboxes())).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let first = tool_results(&runtime, &key).await.remove(0);
    assert_eq!(first.status, ResultStatus::Done, "{what}: {first:?}");
    assert!(
        first.content.starts_with("[the sandbox is new: nothing is in it]\nexit code 0"),
        "{what}: {first:?}"
    );
    let events = events(&runtime, &key).await;
    let ended = events
        .iter()
        .find_map(|event| if let Event::AgentEnd { reason, .. } = event { *reason } else { None });
    assert_eq!(ended, Some(expect), "{what}");
    assert!(!events.iter().any(|event| matches!(event, Event::TeardownFailed { .. })), "{what}: {events:?}");
    ground.is_bare().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_c45_a_sandbox_is_freed_on_every_way_out_of_a_turn() {
    let done = || boots_then(|| Say::Text("done"));
    check_freed("final text", |agent| agent, done(), DoneReason::ModelStop).await;

    let stop =
        Fake::new("stop", |_| async { Ok(ToolOutput { stop: true, ..ToolOutput::text("enough") }.into()) });
    let model = boots_then(|| Say::Calls(vec![("stop", "{}")]));
    check_freed("stop signal", |agent| agent.tool(stop), model, DoneReason::ToolStop).await;

    let name = ToolName::new("run_command").unwrap();
    let condition = StopCondition::ToolDone(name);
    check_freed("stop condition", |agent| agent.stop_when(condition), done(), DoneReason::ToolStop).await;

    let limits = Limits::default().max_steps(1);
    check_freed("max_turns", |agent| agent.limits(limits), done(), DoneReason::MaxTurns).await;

    let limits = Limits::default().max_tokens(Some(1));
    check_freed("budget", |agent| agent.limits(limits), done(), DoneReason::BudgetExceeded).await;

    let model = Script::new(|_| Say::Calls(vec![("list_files", "{}")]));
    let ground = Ground::new();
    let looping =
        Arc::new(equipped(&model, &ground.sandboxes()).loops(LoopDetection::default()).build().unwrap());
    let runtime = runtime(&store(), &looping);
    finish(runtime.execute(say(&looping, "go")).await.unwrap()).await;
    ground.is_bare().await;

    check_freed("the model fails", |agent| agent, boots_then(refused), DoneReason::Error).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_a_turn_that_is_stopped_in_the_middle_of_a_command_frees_its_sandbox() {
    for abort in [false, true] {
        let ground = Ground::new();
        let model = Script::calling(vec![STAY]);
        let agent = Arc::new(equipped(&model, &ground.sandboxes()).build().unwrap());
        let runtime = runtime(&store(), &agent);
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        let key = run.key().clone();
        until(|| ground.left() > 1 && ground.processes() > 0).await;
        let expect = if abort {
            runtime.abort(&key, "no more").await.unwrap();
            OutcomeKind::Aborted
        } else {
            runtime.interrupt(&key, "enough").await.unwrap();
            OutcomeKind::Interrupted
        };
        assert_eq!(finish(run).await.1.kind(), expect);
        ground.is_bare().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_a_parked_turn_keeps_its_sandbox_and_frees_it_when_it_is_aborted() {
    let ground = Ground::new();
    let model = boots_then(|| Say::Calls(vec![("pay", "{}")]));
    let gate = RuleGate::new(vec![
        ApprovalRule::new("run_command", RuleAction::Allow),
        ApprovalRule::new("pay", RuleAction::Ask),
    ]);
    let agent = equipped(&model, &ground.sandboxes()).tool(Fake::echo("pay")).gate(gate);
    let agent = Arc::new(agent.build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    assert_eq!(ground.left(), 2, "the folder and its lock");
    runtime.abort(&key, "no more").await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Aborted);
    ground.is_bare().await;
}

/// A session that waits keeps the files of its sandbox and nothing else. One task of the process sweeps for all
/// sandboxes. It belongs to the program, not to a session.
#[tokio::test(flavor = "multi_thread")]
async fn h14_a_suspended_session_leaves_no_process_no_task_and_nothing_open_of_its_sandbox() {
    let ground = Ground::new();
    let leaves = ("run_command", r#"{"command":"echo x >file; sleep 1000 >/dev/null 2>/dev/null &"}"#);
    let model = Script::new(move |request| match results(request).len() {
        0 => Say::Calls(vec![leaves]),
        1 => Say::Calls(vec![("pay", "{}")]),
        _ => Say::Text("done"),
    });
    let gate = RuleGate::new(vec![
        ApprovalRule::new("run_command", RuleAction::Allow),
        ApprovalRule::new("pay", RuleAction::Ask),
    ]);
    let agent = equipped(&model, &ground.sandboxes()).tool(Fake::echo("pay")).gate(gate);
    let agent = Arc::new(agent.build().unwrap());
    let runtime = runtime(&store(), &agent);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for waiting in 1..=3 {
        let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
        assert_eq!(tool_results(&runtime, &key).await[0].status, ResultStatus::Done);
        assert_eq!(ground.left(), 2 * waiting, "the folder and the lock of each");
        assert_eq!(ground.open(), 0);
        // A killed process may still be dying, and a task that has ended may not be counted off yet.
        until(|| ground.processes() == 0).await;
        until(|| tasks() <= before + 1).await;
    }
}

/// A provisioner that writes into the sandbox and then fails.
struct HalfReady(Sandboxes);

#[async_trait]
impl Provisioner for HalfReady {
    async fn provision(&self, session: &SessionKey, _: TurnNumber) -> Result<(), ErrorInfo> {
        let sandbox = self.0.enter(session).await?;
        fs::write(sandbox.workspace().join("seed"), "x").unwrap();
        Err(ErrorInfo::new("seeds.missing", "there is no more"))
    }

    fn is_transient(&self, _: &ErrorInfo) -> bool {
        false
    }

    async fn tear_down(&self, _: &SessionKey, _: TurnNumber) -> Result<(), ErrorInfo> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_a_turn_that_fails_while_it_is_provisioned_frees_the_sandbox_that_was_booted() {
    let ground = Ground::new();
    let (model, sandboxes) = (Script::new(|_| Say::Text("never asked")), ground.sandboxes());
    let agent = equipped(&model, &sandboxes).provisioner(Arc::new(HalfReady(sandboxes.clone())));
    let agent = Arc::new(agent.build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (_, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!((outcome.kind(), model.asked().len()), (OutcomeKind::Failed, 0));
    ground.is_bare().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c44_a_boot_that_fails_half_way_is_told_to_the_model_and_leaves_nothing() {
    let ground = Ground::new();
    // This stand-in passes the test for bubblewrap, and fails when a sandbox boots.
    let stand_in = ground.0.path().join("stand-in");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--bind*) echo >{}/seen; exit 1;; esac\n",
        ground.0.path().display()
    );
    fs::write(&stand_in, script).unwrap();
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o700)).unwrap();
    let options = ground.options().bubblewrap(stand_in);
    let sandboxes = Sandboxes::new(LocalSandboxes::open(&options).unwrap());
    let model = Script::calling(vec![BOOT]);
    let agent = Arc::new(equipped(&model, &sandboxes).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    let (status, told) = only_result(&runtime, &key).await;
    assert!(status != ResultStatus::Done && told.contains("could not be booted"), "{status:?} {told}");
    assert!(ground.0.path().join("seen").exists());
    ground.is_bare().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_a_turn_whose_calls_need_no_sandbox_boots_none_and_says_which_it_would_have() {
    let ground = Ground::new();
    let sandboxes = ground.sandboxes();
    let root = ground.0.path().join("root");
    let looked = Fake::new("look", move |_| {
        let left = fs::read_dir(&root).unwrap().count();
        async move { Ok(ToolOutput::text(format!("{left} things")).into()) }
    });
    let model = Script::calling(vec![("look", "{}")]);
    let agent = Arc::new(equipped(&model, &sandboxes).tool(looked).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(only_result(&runtime, &key).await.1, "0 things");
    ground.is_bare().await;
    let said = events(&runtime, &key)
        .await
        .into_iter()
        .find_map(|event| if let Event::Provisioned { what } = event { Some(what) } else { None });
    assert_eq!(said, Some(vec![sandboxes.describe()]));
    assert!(
        sandboxes.describe().starts_with("sandbox: bubblewrap")
            || sandboxes.describe().contains("plain folder")
    );
}
