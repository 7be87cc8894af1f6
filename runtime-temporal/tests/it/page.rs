//! The commands of `docs/how-to/temporal.md`, against a server that is not prepared.

use std::io::Write;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use holdover_core::gate::{ApprovalRule, RuleAction};
use holdover_core::store::OutcomeKind;
use holdover_core::tool::EffectClass;

use crate::bench::{Server, Serving, begin, ends, file_store, key, pending, runtime, until};
use crate::cast::{Caller, Pay, agent};

const PAGE: &str = include_str!("../../../docs/how-to/temporal.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_page_work_and_before_them_sessions_are_served_without_the_attribute() {
    let (server, log) = (Server::with(&[]), log());
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let store = file_store(folder.path()).await;
    let tool = Pay::new(EffectClass::AtMostOnce);
    let before = agent("before", Caller::default(), &tool, vec![]);
    let unprepared = runtime(&store, &before, &temporal);
    let serving = Serving::begin(&unprepared, &temporal);
    let unseen = key("acme", "unseen");
    begin(&unprepared, &before, &unseen).await;
    assert_eq!(ends(&unprepared, &unseen).await, OutcomeKind::Completed);
    server.becomes(&unseen, "COMPLETED").await;
    serving.end().await;
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let says_so =
        |line: &str| line.contains("create the search attribute") && line.contains(&temporal.address());
    assert!(logged.lines().any(says_so), "{logged}");

    let mut commands = PAGE.lines().filter(|line| line.starts_with("temporal "));
    let [create, list, count, cancel] = std::array::from_fn(|_| commands.next().unwrap());
    assert_eq!(commands.next(), None);
    play(&server, create);
    until("the attribute", async || play(&server, list).is_empty().then_some(())).await;
    let after = agent("after", Caller::default(), &tool, vec![ApprovalRule::new("pay", RuleAction::Ask)]);
    let prepared = runtime(&store, &after, &temporal);
    let serving = Serving::begin(&prepared, &temporal);
    let shown = key("acme", "order-7");
    begin(&prepared, &after, &shown).await;
    pending(&prepared, &shown).await;
    until("the listed session", async || play(&server, list).contains("holdover:acme/order-7").then_some(()))
        .await;
    assert!(play(&server, count).contains("Total: 0"));
    play(&server, cancel);
    server.becomes(&shown, "CANCELED").await;
    serving.end().await;
}

/// Runs a command of the page against the server. Returns its output.
fn play(server: &Server, command: &str) -> String {
    let words =
        Command::new("sh").args(["-c", &format!("printf '%s\\n' {command}")]).output().unwrap().stdout;
    let words = String::from_utf8(words).unwrap();
    let mut client = server.temporal.client();
    let output =
        client.args(words.lines().skip(1)).args(["--address", &server.temporal.address()]).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Returns the log of this process. A log of one thread would miss messages: each place in the code asks only once
/// whether somebody listens.
fn log() -> &'static Log {
    static LOG: LazyLock<Log> = LazyLock::new(|| {
        let log = Log::default();
        let writer = log.clone();
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).init();
        log
    });
    &LOG
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
