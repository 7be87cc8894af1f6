//! Tests of keys that customers choose, new versions, failed starts, and quick stops.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;

use crate::service::{Folder, PATIENCE, Pace, Service, eventually};

const AT_ONCE: Pace = Pace { word_ms: 0, bank_ms: 0 };

/// A customer sends messages under the id of the approval, which must stay decidable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_of_a_customers_makes_an_approval_undecidable() {
    let folder = Folder::new();
    let service = folder.start(AT_ONCE).await;
    assert_eq!(service.begin("a", "Please refund order 7.").await.0, StatusCode::CREATED);
    service.scan("a").await;
    let asked = service.waits_for("a", "refund").await;
    for key in [asked["id"].as_str().unwrap(), "first", "first message"] {
        let taken = service.post_once("/v1/sessions/a/messages", key, json!({ "text": "Hurry." })).await;
        assert_eq!(taken.0, StatusCode::ACCEPTED, "{key}");
    }
    assert_eq!(service.begin("a", "Please refund order 7.").await.0, StatusCode::OK, "begun before");
    // The model may have read the messages, so this may be a new approval.
    let asked = service.waits_for("a", "refund").await;
    assert_eq!(service.approve(&asked, "ada", &json!({})).await.0, StatusCode::ACCEPTED);
    service.completes("a").await;
    assert_eq!(folder.ledger(), ["7 1250"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_stays_with_the_version_that_it_began_with() {
    let folder = Folder::new();
    let mut before = folder.start_with(AT_ONCE, &folder.script(0), &["--clerk", "1"]);
    before.begin("old", "Please refund order 7.").await;
    before.waits_for("old", "scan_receipt").await;
    before.kill();

    let service = folder.start(AT_ONCE).await;
    service.begin("new", "Please refund order 8.").await;
    for (session, agent) in [("old", "clerk@1"), ("new", "clerk@2")] {
        service.scan(session).await;
        let asked = service.waits_for(session, "refund").await;
        assert_eq!(service.approve(&asked, "ada", &json!({})).await.0, StatusCode::ACCEPTED);
        service.completes(session).await;
        assert_eq!(service.session(session).await["agent"], agent);
    }
    let again = service.begin("old", "Please refund order 7.").await;
    assert_eq!(again.0, StatusCode::OK, "begun before, by another version");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_a_session_waits_for_is_shown() {
    let folder = Folder::new();
    let call = r#"{ tool = "scan_receipt", arguments = { order = 7 } }"#;
    let script = folder.write_script(&format!("[[turns]]\ncalls = [{}]\n", [call; 60].join(", ")));
    let service = folder.start_with(AT_ONCE, &script, &[]);
    service.begin("a", "Sixty receipts.").await;
    service.waits_for("a", "scan_receipt").await;
    assert_eq!(service.session("a").await["pending"]["items"].as_array().unwrap().len(), 60);
}

/// Returns a client that has sent a part of its request.
fn half_way(service: &Service) -> TcpStream {
    let mut client = TcpStream::connect(service.url().strip_prefix("http://").unwrap()).unwrap();
    client
        .write_all(b"POST /v1/sessions HTTP/1.1\r\nHost: desk\r\nContent-Type: application/json\r\n")
        .unwrap();
    client.write_all(b"Content-Length: 100\r\n\r\n{").unwrap();
    client
}

/// This test takes as long as the service waits for a body.
#[test]
fn a_body_that_does_not_come_is_given_up() {
    let folder = Folder::new();
    let service = folder.start_with(AT_ONCE, &folder.script(0), &[]);
    let mut answer = String::new();
    let mut client = half_way(&service);
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(&mut client).read_line(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_half_way_through_a_request_holds_up_no_stop() {
    let folder = Folder::new();
    let mut service = folder.start(AT_ONCE).await;
    let _client = half_way(&service);
    // A later client gets an answer, so the service has accepted the first one.
    service.approvals().await;
    service.terminate();
    assert!(
        service.ended_within(Duration::from_secs(9)).await,
        "ends well, and before it tires of the client"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_stops_at_once_what_a_first_one_waits_for() {
    let folder = Folder::new();
    let mut service = folder.start(Pace { word_ms: 60_000, bank_ms: 0 }).await;
    service.begin("talk", "What are the rules?").await;
    eventually("a model speaks", async || service.session("talk").await["status"] == "active").await;
    service.terminate();
    // The service no longer listens, so it has received the first signal.
    eventually("it was told", async || service.client().get(service.url()).send().await.is_err()).await;
    service.terminate();
    let code = service.exit_code_within(Duration::from_secs(5)).await;
    assert_eq!(code, Some(1), "it says that it was hasty");
}

#[test]
fn a_start_that_fails_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let below = file.join("desk").display().to_string();
    let here = folder.path().display().to_string();
    for (folder, address, clerk, why) in [
        (&below, "127.0.0.1:0", "2", &below),
        (&here, &address, "2", &address),
        (&here, "127.0.0.1:0", "9", &"clerk 9".to_owned()),
    ] {
        let program = env!("CARGO_BIN_EXE_holdover-example-embed");
        let ended = Command::new(program)
            .args(["--folder", folder, "--listen", address, "--clerk", clerk])
            .output()
            .unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.lines().count() == 1 && said.contains(why), "{why}: {said}");
    }
}
