//! What Restate shows of the sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdover_core::image::{Image, Images};
use holdover_core::store::{Deletion, OutcomeKind};
use holdover_launcher::Launcher;
use holdover_runtime_local::{Approval, EDIT_BYTES_MAX, Execute};
use holdover_runtime_restate::{RestateOptions, object_key};
use serde_json::{Value, json};

use crate::bench::{Program, at, begin, front, memory, pending, session, shared, sql, until, until_outcome};
use crate::clerk::{Desk, SECRET};

/// A word that only an edit contains.
const EDITED: &str = "glockenspiel";

/// A word that only a picture contains, also as Base64.
const DRAWN: &str = "xylophone";
const DRAWN_BASE64: &str = "eHlsb3Bob25l";

/// The guide, whose examples are played here.
const PAGE: &str = include_str!("../../../docs/how-to/restate.md");

/// Returns the queries of the guide, for a service of another name: suspended, failed and interrupted sessions, and running ones.
fn queries(service: &str) -> [String; 2] {
    let queries = PAGE.split("```sql\n").skip(1).map(|rest| {
        let query = rest.split("```").next().unwrap();
        query.replace("'holdover.%'", &format!("'{service}.%'"))
    });
    queries.collect::<Vec<_>>().try_into().unwrap()
}

/// Returns the status of each session that Restate shows: from the state of its object, or `active` if its handler runs.
async fn shown(restate: &RestateOptions) -> BTreeMap<String, String> {
    let service = &restate.service;
    let text = |row: &Value, column: &str| row[column].as_str().unwrap().to_owned();
    let [states, running] = queries(service);
    let rest = sql(restate, &states).await;
    let rest = rest.iter().map(|row| {
        (text(row, "service_key"), serde_json::from_str(row["value_utf8"].as_str().unwrap()).unwrap())
    });
    let active = sql(restate, &running).await;
    let active = active.iter().map(|row| (text(row, "target_service_key"), "active".to_owned()));
    rest.chain(active).collect()
}

#[tokio::test]
async fn restate_shows_the_sessions_that_are_parked_running_and_failed() {
    let (restate, store, desk) = (shared(), memory(), Desk::shut());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let mut keys = Vec::new();
    for (name, message) in [("ended", "say"), ("parked", "pay"), ("failed", "fail"), ("running", "send")] {
        keys.push(begin(&front, &agent, name, message).await);
    }
    until(async || (desk.sent() == ["send"]).then_some(())).await;
    until_outcome(&front, &keys[0], OutcomeKind::Completed).await;
    until_outcome(&front, &keys[1], OutcomeKind::SuspendedClientTool).await;
    until_outcome(&front, &keys[2], OutcomeKind::Failed).await;
    let mut stored = BTreeMap::new();
    for key in &keys[1..] {
        let status = front.session(key).await.unwrap().unwrap().status;
        stored.insert(object_key(key), status.as_str().to_owned());
    }
    assert_eq!(stored.values().collect::<Vec<_>>(), ["failed", "suspended", "active"], "{stored:?}");
    // Restate learns it from the handlers, a moment later.
    until(async || (shown(&restate).await == stored).then_some(())).await;

    // The shared handler answers while the other one runs.
    let status = |key| {
        let service = format!("{}.clerk", restate.service);
        let path = object_key(key).replace('/', "%2F");
        let url = format!("{}/{service}/{path}/status", restate.ingress_url);
        async move { reqwest::Client::new().post(url).send().await.unwrap().text().await.unwrap() }
    };
    assert_eq!(status(&keys[0]).await, "null");
    assert_eq!(status(&keys[1]).await, "\"suspended\"");
    assert_eq!(status(&keys[3]).await, "null");

    desk.release();
    until_outcome(&front, &keys[3], OutcomeKind::Completed).await;
    for key in &keys {
        front.delete(key, Deletion::UNLESS_ACTIVE).await.unwrap();
    }
    until(async || shown(&restate).await.is_empty().then_some(())).await;
    let state = format!("SELECT key FROM state WHERE service_name LIKE '{}.%'", restate.service);
    assert_eq!(sql(&restate, &state).await, Vec::<Value>::new(), "nothing is left of a deleted session");
}

/// A message with a picture, and an approval that edits the arguments to as many bytes as an edit may have: both reach the
/// tool and the model, and nothing of them reaches Restate.
#[tokio::test]
async fn nothing_in_the_journal_or_the_state_contains_text_of_a_session() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.restate().unwrap();
    let (restate, store, desk) = (at(&server), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let key = begin(&front, &agent, "sent", "send").await;
    until_outcome(&front, &key, OutcomeKind::Completed).await;
    let parked = begin(&front, &agent, "parked", "pay").await;
    let _call = pending(&front, &parked).await;

    let edited = session("edited");
    let message = Execute::new(edited.tenant.clone(), Arc::clone(&agent), format!("pay {SECRET}"));
    let picture = Image::new(&[b"\x89PNG\r\n\x1a\n.", DRAWN.as_bytes()].concat()).unwrap();
    assert!(picture.base64().contains(DRAWN_BASE64), "{}", picture.base64());
    let message = message.in_session(edited.id.clone()).showing(Images::of([picture]).unwrap());
    front.execute(message).await.unwrap().detach();
    let call = pending(&front, &edited).await;
    let for_what = "x".repeat(EDIT_BYTES_MAX - EDITED.len() - r#"{"for":" "}"#.len());
    let edit = format!(r#"{{"for":"{EDITED} {for_what}"}}"#);
    assert_eq!(edit.len(), EDIT_BYTES_MAX);
    front.approve(&edited, &call, Approval::by("ada").editing(edit)).await.unwrap();
    until_outcome(&front, &edited, OutcomeKind::Completed).await;
    let paid = desk.calls().pop().unwrap();
    assert_eq!(paid.arguments["for"].as_str().unwrap().len(), EDITED.len() + 1 + for_what.len());
    assert!(desk.pictures().ends_with(&[1]), "the model sees the picture: {:?}", desk.pictures());

    let journal = "SELECT id, entry_json, raw FROM sys_journal";
    let ended = "SELECT id FROM sys_invocation WHERE status = 'completed'";
    // The beginnings, and the approval.
    until(async || (sql(&restate, ended).await.len() >= 4).then_some(())).await;
    let entries = sql(&restate, journal).await;
    assert!(entries.iter().any(|entry| entry.to_string().contains("serve")), "{entries:?}");
    let everything = format!("{entries:?} {:?}", sql(&restate, "SELECT key, value_utf8 FROM state").await);
    let hex = |word: &str| word.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(everything.contains("suspended") && everything.contains(&hex("suspended")), "{everything}");
    for word in [SECRET, "done", EDITED, DRAWN, DRAWN_BASE64] {
        assert!(!everything.contains(word) && !everything.contains(&hex(word)), "{everything}");
    }
}

#[tokio::test]
async fn parked_sessions_hold_no_invocation_and_no_task() {
    const SESSIONS: usize = 1_000;
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let program = Program::start(&store, &agent, &restate).await;
    let before = program.tasks();
    let mut keys = Vec::new();
    for number in 0..SESSIONS {
        keys.push(begin(&front, &agent, &format!("parked-{number}"), "pay").await);
    }
    for key in &keys {
        until_outcome(&front, key, OutcomeKind::SuspendedClientTool).await;
    }
    let count = |what: &str| {
        let query = format!(
            "SELECT id FROM sys_invocation WHERE target_service_name LIKE '{}.%' AND {what}",
            restate.service
        );
        let restate = restate.clone();
        async move { sql(&restate, &query).await.len() }
    };
    // Each approval has a deadline, and so each session a timer in Restate.
    until(async || (count("status = 'scheduled'").await == SESSIONS).then_some(())).await;
    until(async || (count("status NOT IN ('scheduled', 'completed')").await == 0).then_some(())).await;
    assert_eq!(shown(&restate).await.len(), SESSIONS);
    // Restate keeps some connections.
    until(async || (program.tasks() < before + SESSIONS / 20).then_some(())).await;
}

/// The command of the guide that wakes a session by hand.
#[tokio::test]
async fn anybody_may_wake_a_session_as_the_guide_does() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let _program = Program::start(&store, &agent, &restate).await;
    let command = PAGE.lines().find_map(|line| line.strip_prefix("curl -X POST ")).unwrap();
    let (url, body) = command.split_once(" --json ").unwrap();
    let url = url.replace("http://localhost:8080", &restate.ingress_url);
    let url = url.replace("holdover.clerk", &format!("{}.clerk", restate.service));
    let request = reqwest::Client::new().post(url).header("content-type", "application/json");
    let answer = request.body(body.trim_matches('\'').to_owned()).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    let ended = format!(
        "SELECT completion_result, journal_retention, completion_retention FROM sys_invocation WHERE status = 'completed' AND target_service_key = 'acme/42' \
         AND target_service_name = '{}.clerk'",
        restate.service
    );
    // There is no such session, and so nothing to do.
    let rows = until(async || Some(sql(&restate, &ended).await).filter(|rows| !rows.is_empty())).await;
    assert_eq!(rows[0]["completion_result"], "success");
    // The guide says for how long Restate keeps a call that has ended.
    assert_eq!(
        (&rows[0]["journal_retention"], &rows[0]["completion_retention"]),
        (&json!("PT600S"), &json!("PT600S"))
    );
}
