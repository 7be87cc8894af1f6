//! Sessions over MCP, with the client of the protocol's own library.

mod bench;

use std::sync::Arc;
use std::time::Duration;

use holdover_front::{Access, Caller, May, StoredTokens};
use holdover_store_memory::MemoryStore;
use reqwest::{Method, StatusCode};
use rmcp::model::ReadResourceRequestParams;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use self::bench::{Client, Person, Way, hello};
use crate::bench::{ANN, PATIENCE, READER, STRANGER, Server, callers_and, frames, runtime, tenant, told};

#[tokio::test]
async fn a_session_runs_asks_and_ends() {
    let server = Server::start().await;
    for way in Way::ALL {
        let ann = Client::connect(&server, ANN, Person::without_forms(), way).await;
        let agents = ann.call("list_agents", json!({})).await;
        assert_eq!(agents["items"][0]["name"], "clerk");
        let started = ann.call("start_session", json!({ "agent": "clerk", "message": "refund" })).await;
        let session = started["session"].as_str().unwrap();
        let waits = ann.call("wait", json!({ "session": session })).await;
        assert_eq!((&waits["ended"], &waits["status"]), (&json!("waits"), &json!("suspended")), "{waits}");
        let pending = &waits["pending"]["items"][0];
        assert_eq!(pending["arguments"], r#"{"order":7,"api_key":"[redacted]"}"#, "a secret is not shown");
        let listed = ann.call("list_pending", json!({ "session": session })).await;
        assert_eq!(listed["items"][0], *pending);

        let mut decision = json!({
            "session": session, "pending": pending["id"], "digest": "sha256:00", "decision": "approve", "reason": "she called us"
        });
        assert!(ann.refused("decide", decision.clone()).await.starts_with("invalid: arguments: "));
        decision["digest"] = json!("0".repeat(64));
        assert!(ann.refused("decide", decision.clone()).await.starts_with("not_seen: "));
        decision["digest"] = pending["digest"].clone();
        assert_eq!(ann.call("decide", decision.clone()).await["accepted"], true);
        assert_eq!(ann.call("decide", decision).await["accepted"], false, "a repeat changes nothing");

        let over = ann.call("wait", json!({ "session": session })).await;
        assert_eq!((&over["ended"], &over["status"]), (&json!("over"), &json!("idle")), "{over}");
        assert_eq!(over["result"]["text"], "It says: order 7 is paid back");
        let transcript = ann.call("read_transcript", json!({ "session": session })).await;
        let entries = transcript["items"].as_array().unwrap();
        let roles: Vec<_> = entries.iter().map(|entry| entry["message"]["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "decision", "tool", "assistant"]);
        let decision = &entries[2]["message"]["decision"];
        assert_eq!((&decision["by"], &decision["reason"]), (&json!("ann"), &json!("she called us")));
        assert!(!transcript.to_string().contains("sk-live"), "{transcript}");
    }
}

/// The person is asked once, sees what is decided on, and one session is started, whichever way the client is asked.
#[tokio::test]
async fn the_person_at_the_client_decides() {
    for way in [Way::StreamsOld, Way::StreamsNew, Way::HttpNew] {
        let server = Server::start().await;
        let person = Person::who_says(json!({ "decision": "approve", "reason": "she called us" }));
        let ann = Client::connect(&server, ANN, person.clone(), way).await;
        let start = json!({ "agent": "clerk", "message": "refund", "wait_seconds": 30 });
        let started = ann.call("start_session", start).await;
        assert_eq!(started["state"]["ended"], "over", "{way:?}: {started}");
        assert_eq!(started["state"]["result"]["text"], "It says: order 7 is paid back");
        let asked = person.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        for shown in ["Tool: refund", r#"{"order":7,"api_key":"[redacted]"}"#, "money leaves the house"] {
            assert!(asked[0].contains(shown), "{}", asked[0]);
        }
        assert_eq!(server.get("/v1/sessions").await["items"].as_array().unwrap().len(), 1);
        let path = format!("/v1/sessions/{}/messages", started["session"].as_str().unwrap());
        let decision = server.get(&path).await["items"][2]["message"]["decision"].clone();
        assert_eq!((&decision["by"], &decision["reason"]), (&json!("ann"), &json!("she called us")));
    }
}

/// The question came from one server, and the answer goes to another. What travels through the client gives no right.
#[tokio::test]
async fn any_server_takes_the_answer_of_the_person() {
    let store = MemoryStore::new();
    let one = Server::on(runtime(store.clone()), crate::bench::callers(), |options| options).await;
    let other = Server::on(runtime(store), crate::bench::callers(), |options| options).await;
    let person = || Person::who_says(json!({}));
    let ann = Client::connect(&one, ANN, person(), Way::HttpNew).await;
    let start = json!({ "agent": "clerk", "message": "refund", "wait_seconds": 30 });
    let (state, questions) = ann.question("start_session", start.clone()).await;
    assert_eq!(questions["decision"]["method"], "elicitation/create");
    let says = json!({ "decision": { "action": "accept", "content": { "decision": "approve" } } });
    let forged = |field: &str, value: Value| {
        let mut forged: Value = serde_json::from_str(&state).unwrap();
        forged[field] = value;
        forged.to_string()
    };

    let eve = Client::connect(&other, STRANGER, person(), Way::HttpNew).await;
    let refused = eve.repeat("start_session", start.clone(), &state, says.clone()).await;
    assert_eq!(refused.is_error, Some(true), "{refused:?}");
    let ann = Client::connect(&other, ANN, person(), Way::HttpNew).await;
    let unseen = forged("digest", json!("0".repeat(64)));
    for state in ["{}", "x", &forged("count", json!(-1)), &forged("more", json!(1)), &unseen] {
        let refused = ann.repeat("start_session", start.clone(), state, says.clone()).await;
        assert_eq!(refused.is_error, Some(true), "{state}: {refused:?}");
    }
    let mute =
        ann.repeat("start_session", start.clone(), &state, json!({})).await.structured_content.unwrap();
    assert_eq!(mute["state"]["ended"], "waits", "nobody has decided: {mute}");
    let over = ann.repeat("start_session", start, &state, says).await.structured_content.unwrap();
    assert_eq!(over["state"]["result"]["text"], "It says: order 7 is paid back", "{over}");
    assert_eq!(one.get("/v1/sessions").await["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_person_denies_or_leaves_the_call_waiting() {
    for way in [Way::StreamsOld, Way::HttpNew] {
        let server = Server::start().await;
        let no = Person::who_says(json!({ "decision": "deny", "reason": "not today" }));
        let ann = Client::connect(&server, ANN, no, way).await;
        let start = json!({ "agent": "clerk", "message": "refund", "wait_seconds": 30 });
        let denied = ann.call("start_session", start.clone()).await;
        assert_eq!(denied["state"]["ended"], "over", "{denied}");
        assert!(denied["state"]["result"]["text"].as_str().unwrap().contains("not today"), "{denied}");

        let undecided = Client::connect(&server, ANN, Person::who_declines(), way).await;
        let left = undecided.call("start_session", start).await;
        assert_eq!(left["state"]["ended"], "waits", "{left}");
        assert_eq!(left["state"]["pending"]["items"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn nobody_is_asked_who_may_not_decide() {
    let clerk = Caller::of(tenant("acme")).named("cleo").only([May::Read, May::Send]);
    let server = Server::with(callers_and(clerk), |options| options).await;
    let person = Person::who_says(json!({ "decision": "approve" }));
    let cleo = Client::connect(&server, "token-of-the-engine", person.clone(), Way::HttpNew).await;
    let start = json!({ "agent": "clerk", "message": "refund", "wait_seconds": 30 });
    let left = cleo.call("start_session", start).await;
    assert_eq!((&left["state"]["ended"], person.asked().len()), (&json!("waits"), 0), "{left}");
}

#[tokio::test]
async fn every_tool_needs_its_permission() {
    let server = Server::start().await;
    let rob = Client::connect(&server, READER, Person::without_forms(), Way::HttpOld).await;
    let needs = [
        ("start_session", "send"),
        ("send_message", "send"),
        ("interrupt", "send"),
        ("answer", "send"),
        ("decide", "decide"),
    ];
    let tools = rob.tools().await;
    assert_eq!(tools.len(), 11);
    let bytes = serde_json::to_vec(&tools).unwrap().len();
    assert!(bytes < 64 << 10, "clients may show all schemas to their models: {bytes} bytes");
    for tool in tools {
        let hints = tool.annotations.unwrap();
        let told = (tool.title, tool.description, tool.output_schema);
        assert!(matches!(told, (Some(_), Some(_), Some(_))), "{}", tool.name);
        match needs.iter().find(|(name, _)| *name == tool.name) {
            Some((_, may)) => {
                assert_eq!(hints.read_only_hint, Some(false), "{}", tool.name);
                let line = format!("forbidden: the token does not give the permission to {may}");
                assert_eq!(rob.refused(&tool.name, json!({})).await, line);
            }
            None => assert!(hints.read_only_hint == Some(true) || tool.name == "wait", "{}", tool.name),
        }
    }
    let nobody = Caller::of(tenant("acme")).named("dan").only([May::Send]);
    let server = Server::with(callers_and(nobody), |options| options).await;
    let dan = Client::connect(&server, "token-of-the-engine", Person::without_forms(), Way::HttpOld).await;
    for tool in dan.tools().await {
        if !needs.iter().any(|(name, _)| *name == tool.name) {
            let line = "forbidden: the token does not give the permission to read";
            assert_eq!(dan.refused(&tool.name, json!({})).await, line, "{}", tool.name);
        }
    }
    let start = json!({ "agent": "clerk", "message": "hello", "wait_seconds": 1 });
    assert!(dan.refused("start_session", start).await.ends_with("permission to read"));
    assert!(dan.service.list_resources(None).await.is_err());
}

#[tokio::test]
async fn a_caller_of_another_tenant_sees_nothing() {
    let server = Server::start().await;
    let (path, pending) = server.waiting("refund").await;
    let session = path.rsplit('/').next().unwrap();
    let eve = Client::connect(&server, STRANGER, Person::without_forms(), Way::HttpOld).await;
    for list in ["list_sessions", "list_pending"] {
        assert_eq!(eve.call(list, json!({})).await["items"], json!([]), "{list}");
    }
    assert!(eve.service.list_resources(None).await.unwrap().resources.is_empty());
    for uri in ["", "/transcript"].map(|part| format!("holdover://sessions/{session}{part}")) {
        assert!(eve.service.read_resource(ReadResourceRequestParams::new(uri)).await.is_err());
    }
    let decide = json!({ "pending": pending["id"], "digest": pending["digest"], "decision": "approve" });
    let answer = json!({ "pending": pending["id"], "digest": pending["digest"], "content": "x" });
    let calls = [
        ("wait", json!({})),
        ("list_pending", json!({})),
        ("decide", decide),
        ("answer", answer),
        ("read_transcript", json!({})),
        ("read_events", json!({})),
        ("send_message", json!({ "text": "x" })),
        ("interrupt", json!({ "reason": "x" })),
    ];
    for (tool, mut arguments) in calls {
        arguments["session"] = json!(session);
        let refused = eve.refused(tool, arguments.clone()).await;
        arguments["session"] = json!("nobody");
        assert_eq!(refused.replace(session, "nobody"), eve.refused(tool, arguments).await, "{tool}");
        assert!(refused.starts_with("not_found: "), "{tool}: {refused}");
    }
    assert_eq!(server.get(&path).await["pending"]["items"][0], pending, "nothing was changed");
}

#[tokio::test]
async fn sessions_are_resources() {
    let server = Server::start().await;
    let (path, _) = server.waiting("refund").await;
    let uri = format!("holdover://sessions/{}", path.rsplit('/').next().unwrap());
    let ann = Client::connect(&server, ANN, Person::without_forms(), Way::HttpOld).await;
    let listed = ann.service.list_resources(None).await.unwrap();
    assert_eq!(listed.resources.iter().map(|resource| &resource.uri).collect::<Vec<_>>(), [&uri]);
    assert_eq!(ann.service.list_resource_templates(None).await.unwrap().resource_templates.len(), 2);
    let session = ann.resource(&uri).await;
    assert_eq!(
        (&session["status"], &session["pending"]["items"][0]["tool"]),
        (&json!("suspended"), &json!("refund"))
    );
    assert_eq!(ann.resource(&format!("{uri}/transcript")).await["items"][0]["message"]["text"], "refund");
    for other in ["holdover://sessions/nobody", "holdover://sessions/", "file:///etc/passwd"] {
        assert!(ann.service.read_resource(ReadResourceRequestParams::new(other)).await.is_err(), "{other}");
    }
}

#[tokio::test]
async fn a_client_sees_the_answer_while_it_is_written() {
    let server = Server::start().await;
    for way in Way::ALL {
        let person = Person::without_forms();
        let ann = Client::connect(&server, ANN, person.clone(), way).await;
        let start = json!({ "agent": "clerk", "message": "speak slowly", "wait_seconds": 30 });
        let over = ann.call("start_session", start).await;
        assert_eq!(over["state"]["result"]["text"], "word 0 word 1 word 2 word 3 word 4 word 5 ");
        let seen = async {
            while !person.notes().concat().contains("word 3") {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("{way:?}: {:?}", person.notes()));
    }
}

#[tokio::test]
async fn a_wait_is_bounded() {
    let server = Server::start().await;
    let session = server.session("wait").await;
    server.runs(&session).await;
    let session = session.rsplit('/').next().unwrap();
    let ann = Client::connect(&server, ANN, Person::without_forms(), Way::HttpOld).await;
    let state = ann.call("wait", json!({ "session": session, "seconds": 0 })).await;
    assert_eq!((&state["ended"], &state["status"]), (&json!("time_is_over"), &json!("active")));
    assert!(
        ann.refused("wait", json!({ "session": session, "seconds": 301 })).await.contains("300 is the most")
    );

    let waiting = ann.call("wait", json!({ "session": session, "seconds": 300 }));
    let stopped = async { server.stop.cancel() };
    let (state, ()) = timeout(PATIENCE, async { tokio::join!(waiting, stopped) }).await.unwrap();
    assert_eq!(state["ended"], "stopping");
}

/// Repeats a request of this token until it gets this status. Each request holds the stream of its caller only for a moment.
async fn until(server: &Server, token: &str, status: StatusCode) {
    let accept = "application/json, text/event-stream";
    let request =
        || server.anonymous(Method::POST, "/mcp").bearer_auth(token).header("accept", accept).json(&hello());
    let answered = async {
        while request().send().await.unwrap().status() != status {
            // The client that is to get the stream would not get a turn otherwise.
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, answered).await.unwrap();
}

/// A client that goes away frees its stream, although its session goes on.
#[tokio::test]
async fn a_wait_ends_with_its_client() {
    let server = Server::with(crate::bench::callers(), |options| options.streams_max(1)).await;
    let session = server.session("wait").await;
    let wait = json!({ "session": session.rsplit('/').next().unwrap(), "seconds": 300 });
    for way in [Way::HttpOld, Way::HttpNew] {
        let uri = format!("{}/mcp", server.base);
        let waiting = tokio::spawn(Client::insist(uri, ANN.to_owned(), way, "wait", wait.clone()));
        until(&server, ANN, StatusCode::TOO_MANY_REQUESTS).await;
        waiting.abort();
        until(&server, ANN, StatusCode::OK).await;
    }
}

#[tokio::test]
async fn only_known_tokens_are_answered() {
    let store = MemoryStore::new();
    let tokens = StoredTokens::new(runtime(store.clone()));
    let (token, made) = tokens.create(Caller::of(tenant("acme")).named("ann"), None).await.unwrap();
    let access = Access::Tokens(Arc::new(tokens.clone()));
    let server = Server::on(runtime(store), access, |options| options).await;
    let ann = Client::connect(&server, &token, Person::without_forms(), Way::HttpOld).await;
    assert_eq!(ann.call("list_sessions", json!({})).await["items"], json!([]));
    assert!(tokens.revoke(&tenant("acme"), &made.id).await.unwrap());
    assert!(ann.service.list_all_tools().await.is_err(), "the next request is refused");
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let answer =
            server.anonymous(method, "/mcp").bearer_auth(&token).json(&hello()).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    }
}

#[tokio::test]
async fn a_wait_ends_soon_after_its_token_was_revoked() {
    let store = MemoryStore::new();
    let tokens = StoredTokens::new(runtime(store.clone()));
    let (token, made) = tokens.create(Caller::of(tenant("acme")).named("ann"), None).await.unwrap();
    let server = Server::on(runtime(store), Access::Tokens(Arc::new(tokens.clone())), |options| {
        options.streams_max(1)
    })
    .await;
    let start = server.anonymous(Method::POST, "/v1/sessions").bearer_auth(&token);
    let start = start.json(&json!({ "agent": "clerk", "message": "wait" }));
    let session = told(start.send().await.unwrap()).await.1["session"].clone();
    let wait = json!({ "session": session, "seconds": 300 });
    let uri = format!("{}/mcp", server.base);
    let waiting = tokio::spawn(Client::insist(uri, token.clone(), Way::HttpOld, "wait", wait));
    until(&server, &token, StatusCode::TOO_MANY_REQUESTS).await;
    assert!(tokens.revoke(&tenant("acme"), &made.id).await.unwrap());
    let refused = timeout(PATIENCE, waiting).await.unwrap().unwrap();
    assert_eq!(refused.is_error, Some(true));
    assert!(refused.content[0].as_text().unwrap().text.starts_with("unauthorized: "), "{refused:?}");
}

#[tokio::test]
async fn requests_are_bounded_and_have_no_session_to_follow() {
    let server = Server::with(crate::bench::callers(), |options| options.body_bytes_max(4_096)).await;
    let post = |body: Value| {
        let accept = "application/json, text/event-stream";
        server
            .ask(Method::POST, "/mcp")
            .header("accept", accept)
            .header("host", "elsewhere.example")
            .json(&body)
    };
    // Which hosts are served is decided by the guard, not here.
    assert_eq!(post(hello()).send().await.unwrap().status(), StatusCode::OK);
    let mut large = hello();
    large["params"]["clientInfo"]["name"] = json!("x".repeat(5_000));
    assert_eq!(post(large).send().await.unwrap().status(), StatusCode::PAYLOAD_TOO_LARGE);
    for method in [Method::GET, Method::DELETE] {
        let request = server.ask(method.clone(), "/mcp").header("accept", "text/event-stream");
        assert_eq!(request.send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
    }
}

#[tokio::test]
async fn transcripts_and_events_are_read_a_part_at_a_time() {
    let server = Server::start().await;
    let path = server.session(&"x".repeat(150_000)).await;
    server.parked(&path).await;
    let session = path.rsplit('/').next().unwrap();
    let ann = Client::connect(&server, ANN, Person::without_forms(), Way::HttpOld).await;
    ann.call("send_message", json!({ "session": session, "text": "bye" })).await;
    ann.call("wait", json!({ "session": session })).await;

    let (mut read, mut parts, mut after) = (Vec::new(), 0, json!(0));
    while !after.is_null() {
        let part = ann.call("read_transcript", json!({ "session": session, "after": after })).await;
        assert!(part.to_string().len() < 300_000, "two long messages are two parts");
        read.extend(part["items"].as_array().unwrap().clone());
        (parts, after) = (parts + 1, part["next"].clone());
    }
    assert_eq!(json!(read), server.get(&format!("{path}/messages")).await["items"]);
    assert_eq!((read.len(), parts), (4, 2));

    let (mut read, mut ask) = (Vec::new(), json!({ "session": session, "limit": 3 }));
    loop {
        let part = ann.call("read_events", ask.clone()).await;
        assert!(part["items"].as_array().unwrap().len() <= 3);
        read.extend(part["items"].as_array().unwrap().clone());
        ask["after"] = part["cursor"].clone();
        if part["more"] == false {
            break;
        }
    }
    let all = server.ask(Method::GET, &format!("{path}/events?until=available&deltas=false"));
    let all = frames(&all.send().await.unwrap().text().await.unwrap());
    let all: Vec<_> = all.into_iter().filter(|frame| frame.name == "event").map(|frame| frame.data).collect();
    assert!(all.len() > 8);
    assert_eq!(read, all);
}
