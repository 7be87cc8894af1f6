//! Environments that cannot be prepared: retries, fallbacks, and the end of the turn.
//!
//! Requirements: C53.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::Retries;
use holdover_core::engine::RunOutcome;
use holdover_core::error::ErrorInfo;
use holdover_core::event::Event;
use holdover_core::ids::{SessionKey, TurnNumber};
use holdover_core::provision::Provisioner;
use holdover_core::store::{EventCursor, OutcomeKind, SessionStatus};
use holdover_runtime_local::{AgentError, Follow, Runtime};
use tokio::time::Instant;

use crate::bench::{agent, finish, runtime, say, store};
use crate::script::{Say, Script};

/// The actions of provisioners, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// A provisioner that fails a number of times before it succeeds.
struct Room {
    name: &'static str,
    failures: Mutex<usize>,
    code: &'static str,
    log: Log,
}

impl Room {
    fn failing(name: &'static str, failures: usize, log: &Log) -> Arc<Self> {
        Self::with_code(name, failures, "room.busy", log)
    }

    fn with_code(name: &'static str, failures: usize, code: &'static str, log: &Log) -> Arc<Self> {
        Arc::new(Self { name, failures: Mutex::new(failures), code, log: Arc::clone(log) })
    }

    fn did(&self, what: &str) {
        self.log.lock().unwrap().push(format!("{what} {}", self.name));
    }
}

#[async_trait]
impl Provisioner for Room {
    async fn provision(&self, _: &SessionKey, _: TurnNumber) -> Result<(), ErrorInfo> {
        self.did("prepares");
        let mut left = self.failures.lock().unwrap();
        if *left == 0 {
            return Ok(());
        }
        *left -= 1;
        Err(ErrorInfo::new(self.code, self.name))
    }

    fn describe(&self) -> Option<String> {
        Some(self.name.to_owned())
    }

    fn is_transient(&self, error: &ErrorInfo) -> bool {
        error.code == "room.busy"
    }

    async fn tear_down(&self, _: &SessionKey, _: TurnNumber) -> Result<(), ErrorInfo> {
        self.did("frees");
        Ok(())
    }
}

fn model() -> Script {
    Script::new(|_| Say::Text("ok"))
}

/// Returns the descriptions in the event that reports the prepared environment.
async fn told(runtime: &Runtime, key: &SessionKey) -> Vec<String> {
    use futures::StreamExt;
    let all = runtime.session(key).await.unwrap().unwrap().last_event.0;
    let follow = runtime.events(key, EventCursor::START, Follow::Forever);
    let events: Vec<_> = follow.take(usize::try_from(all).unwrap()).collect().await;
    let what = events.into_iter().find_map(|seen| {
        let Event::Provisioned { what } = seen.unwrap().event else { return None };
        Some(what)
    });
    what.unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn c53_an_environment_is_retried_after_2_and_4_seconds_then_prepared_by_a_fallback_then_the_turn_fails()
{
    for (first, second, seconds, did, outcome) in [
        (0, 0, 0, &["prepares first"][..], None),
        (2, 0, 6, &["prepares first"; 3], None),
        (3, 0, 6, &["prepares first", "prepares first", "prepares first", "prepares second"], None),
        (
            3,
            1,
            8,
            &["prepares first", "prepares first", "prepares first", "prepares second", "prepares second"],
            None,
        ),
        (
            9,
            9,
            12,
            &[
                "prepares first",
                "prepares first",
                "prepares first",
                "prepares second",
                "prepares second",
                "prepares second",
            ],
            Some("second"),
        ),
    ] {
        let log = Log::default();
        let rooms = (Room::failing("first", first, &log), Room::failing("second", second, &log));
        let last = Room::failing("last", 0, &log);
        let fallbacks: [Arc<dyn Provisioner>; 1] = [rooms.1];
        let agent = agent(&model()).provisioner_with_fallbacks(rooms.0, fallbacks).provisioner(last);
        let agent = Arc::new(agent.build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let began = Instant::now();
        let (key, ended) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(began.elapsed().as_secs(), seconds, "{first} {second}");
        let mut expected: Vec<&str> = did.to_vec();
        let what = told(&runtime, &key).await;
        match outcome {
            None => {
                assert_eq!(ended.kind(), OutcomeKind::Completed);
                expected.push("prepares last");
                let by_fallback = first == 3;
                assert_eq!(what[0], if by_fallback { "second" } else { "first" });
                assert_eq!(what.last().unwrap(), "last");
                let noted = what.iter().any(|line| line.contains("room.busy: first"));
                assert_eq!(noted, first > 0, "{what:?}");
            }
            Some(detail) => {
                let RunOutcome::Ended(ending) = &ended else { panic!("{ended:?}") };
                assert_eq!(ending.error, Some(ErrorInfo::new("room.busy", detail)));
                assert!(what.is_empty(), "{what:?}");
            }
        }
        expected.extend(["frees last", "frees second", "frees first"]);
        assert_eq!(*log.lock().unwrap(), expected, "{first} {second}");
    }
}

#[tokio::test(start_paused = true)]
async fn c53_an_error_that_will_not_pass_is_not_retried_and_waits_can_be_set() {
    for (code, waits, seconds, tries) in [
        ("room.gone", None, 0, 1),
        ("room.busy", Some(vec![]), 0, 1),
        ("room.busy", Some(vec![1_000, 3_000]), 4, 3),
    ] {
        let log = Log::default();
        let room = Room::with_code("first", 9, code, &log);
        let retries =
            waits.map_or_else(Retries::default, |waits| Retries::default().provision_waits_ms(waits));
        let agent = Arc::new(agent(&model()).provisioner(room).retries(retries).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let began = Instant::now();
        let (_, ended) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!((ended.kind(), began.elapsed().as_secs()), (OutcomeKind::Failed, seconds));
        let tried = log.lock().unwrap().iter().filter(|did| *did == "prepares first").count();
        assert_eq!(tried, tries, "{code}");
    }
    let long = Retries::default().provision_waits_ms(vec![10_001]);
    let refused = agent(&model()).retries(long).build().unwrap_err();
    assert!(matches!(refused, AgentError::Retries { .. }), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn c53_a_stop_ends_the_wait_for_an_environment_and_frees_what_is_there() {
    let log = Log::default();
    let retries = Retries::default().provision_waits_ms(vec![10_000; 10]);
    let room = Room::failing("first", 99, &log);
    let spare: [Arc<dyn Provisioner>; 1] = [Room::failing("second", 0, &log)];
    let agent = agent(&model()).provisioner_with_fallbacks(room, spare).retries(retries);
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while log.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    runtime.interrupt(&key, "never mind").await.unwrap();
    finish(run).await;
    let session = runtime.session(&key).await.unwrap().unwrap();
    assert_eq!(session.status, SessionStatus::Interrupted);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(*log.lock().unwrap(), ["prepares first", "prepares first", "frees second", "frees first"]);
}
