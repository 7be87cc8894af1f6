//! Requests between Holdover and Restate, without a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use holdover_core::ids::{Incarnation, QueueLabel};
use holdover_core::store::SessionStatus;
use holdover_launcher::free_port;
use holdover_runtime_local::{Agents, CancellationToken, Engine, Known, Runtime, RuntimeOptions, WakeUp};
use holdover_runtime_restate::{RestateEngine, RestateError, RestateOptions, RestateWorker};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::bench::{PATIENCE, memory, session, until};
use crate::clerk::Desk;

fn wake() -> WakeUp {
    let life = Incarnation::derived([7; 16]);
    let known = Known::new(QueueLabel::new("clerk@2").unwrap(), life, SessionStatus::Idle);
    WakeUp::new(session("a/b"), Some(known))
}

/// Answers one request with `status`, and returns the request.
async fn answer(listener: TcpListener, status: &str) -> String {
    answer_all(listener, vec![(status, "{}".to_owned())]).await.remove(0)
}

/// Answers each request with a status and a body, in this order, and returns the requests.
async fn answer_all(listener: TcpListener, answers: Vec<(&str, String)>) -> Vec<String> {
    let mut requests = Vec::new();
    for (status, body) in answers {
        let (mut stream, _) = timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
        let mut request = String::new();
        // The bodies of the requests are JSON objects.
        while !request.ends_with('}') {
            let mut part = vec![0; 4096];
            let read = stream.read(&mut part).await.unwrap();
            assert!(read > 0, "{request}");
            request += std::str::from_utf8(&part[..read]).unwrap();
        }
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await.unwrap();
        requests.push(request);
    }
    requests
}

#[tokio::test]
async fn a_wake_up_names_the_service_and_the_object_and_carries_the_token() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/base", listener.local_addr().unwrap());
    let options = RestateOptions::default().ingress_url(url).token("s3cret".to_owned());
    let engine = RestateEngine::new(&options).unwrap();
    let (request, woken) =
        tokio::join!(answer(listener, "202 Accepted"), async { engine.wake(&wake()).await });
    woken.unwrap();
    assert!(
        request.starts_with("POST /base/holdover.clerk_402/acme%2Fa%2Fb/wake/send HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("authorization: Bearer s3cret\r\n"), "{request}");
}

#[tokio::test]
async fn an_error_names_the_request_and_not_the_token() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let options = RestateOptions::default().ingress_url(&url).token("s3cret".to_owned());
    let engine = RestateEngine::new(&options).unwrap();
    assert_eq!(engine.name(), format!("restate://{}", url.trim_start_matches("http://")));
    let (_, woken) = tokio::join!(answer(listener, "404 Not Found"), async { engine.wake(&wake()).await });
    let path = "holdover.clerk_402/acme%2Fa%2Fb/wake/send";
    assert_eq!(woken.unwrap_err().to_string(), format!("POST {url}/{path}: 404 Not Found: {{}}"));
    let unreachable = engine.wake(&wake()).await.unwrap_err().to_string();
    assert!(unreachable.starts_with(&format!("POST {url}/{path}: ")), "{unreachable}");
    assert!(!unreachable.contains("s3cret") && !unreachable.contains('\n'), "{unreachable}");
}

/// The service of an agent that nobody has any more does not keep a deletion away from the others.
#[tokio::test]
async fn the_deletion_of_a_session_is_told_to_all_its_objects() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let engine = RestateEngine::new(&RestateOptions::default().ingress_url(&url).admin_url(&url)).unwrap();
    let rows = |services: &[&str]| {
        let rows: Vec<_> = services.iter().map(|service| json!({ "service": service })).collect();
        ("200 OK", json!({ "rows": rows }).to_string())
    };
    let answers = vec![
        rows(&["holdover.c", "other.d"]),
        rows(&["holdover.a", "holdover.b"]),
        ("404 Not Found", "{}".to_owned()),
        ("202 Accepted", "{}".to_owned()),
        ("403 Forbidden", "{}".to_owned()),
    ];
    let deleted = WakeUp::new(session("42"), None);
    let (requests, woken) = tokio::join!(answer_all(listener, answers), engine.wake(&deleted));
    for (request, service) in requests[2..].iter().zip(["a", "b", "c"]) {
        assert!(request.starts_with(&format!("POST /holdover.{service}/acme%2F42/wake/send ")), "{request}");
    }
    let error = woken.unwrap_err().to_string();
    assert_eq!(error, format!("POST {url}/holdover.a/acme%2F42/wake/send: 404 Not Found: {{}}"));
}

/// Another program with other agents listens on the same address, and answers Restate instead of the worker.
#[tokio::test]
async fn a_worker_registers_itself_until_restate_has_found_its_agents() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let options = RestateOptions::default().listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let options = options.admin_url(format!("http://{}", listener.local_addr().unwrap()));
    let agent = Arc::new(Desk::open().clerk().build().unwrap());
    let worker = RestateWorker::new(runtime(Agents::new().with(agent)), &options).unwrap();
    let found = |service: &str| ("200 OK", json!({ "services": [{ "name": service }] }).to_string());
    let (other, own) = ("holdover.other", "holdover.clerk");
    let answers = vec![found(other), found(other), found(other), found(own)];
    let stop = CancellationToken::new();
    let answered = async {
        let requests = answer_all(listener, answers).await;
        stop.cancel();
        requests
    };
    let (requests, ended) = tokio::join!(answered, worker.run(stop.clone()));
    assert_eq!(ended.unwrap(), 0);
    let forced: Vec<bool> = requests.iter().map(|request| request.contains("\"force\":true")).collect();
    assert_eq!(forced, [false, true, false, true]);
}

fn runtime(agents: Agents) -> Runtime {
    Runtime::new(
        memory(),
        Arc::new(agents),
        RuntimeOptions::default().effects_override(Some("memory".into())),
    )
}

#[tokio::test]
async fn settings_that_are_not_valid_are_refused_when_the_worker_is_created() {
    let clerk = || runtime(Agents::new().with(Arc::new(Desk::open().clerk().build().unwrap())));
    let refused = |runtime, options: RestateOptions| {
        let Err(RestateError::Setting { setting, .. }) = RestateWorker::new(runtime, &options) else {
            panic!("{options:?}")
        };
        setting
    };
    let options = RestateOptions::default;
    assert_eq!(refused(runtime(Agents::new()), options()), "queues");
    assert_eq!(refused(clerk(), options().service("a.b")), "service");
    assert_eq!(refused(clerk(), options().admin_url("restate")), "admin_url");
    assert_eq!(refused(clerk(), options().advertised_url("restate:9080".to_owned())), "advertised_url");
    assert_eq!(refused(clerk(), options().identity_key("key".to_owned())), "identity_key");
    assert!(RestateWorker::new(clerk(), &options()).is_ok());
}

#[tokio::test]
async fn a_worker_with_a_key_refuses_requests_that_restate_did_not_sign() {
    let agent = Arc::new(Desk::open().clerk().build().unwrap());
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    for (key, status) in
        [(None, 200), (Some("publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f".to_owned()), 401)]
    {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        // Nobody is at the admin URL: the worker listens all the same.
        let options = RestateOptions::default().listen(address).identity_key(key);
        let options = options.admin_url(format!("http://127.0.0.1:{}", free_port().unwrap()));
        let worker = RestateWorker::new(runtime(Agents::new().with(Arc::clone(&agent))), &options).unwrap();
        let stop = CancellationToken::new();
        let running = tokio::spawn({
            let stop = stop.clone();
            async move { worker.run(stop).await }
        });
        let url = format!("http://{address}/discover");
        let accept = "application/vnd.restate.endpointmanifest.v4+json";
        let answer = until(async || client.get(&url).header("accept", accept).send().await.ok()).await;
        assert_eq!(answer.status().as_u16(), status);
        stop.cancel();
        assert_eq!(running.await.unwrap().unwrap(), 0);
    }
}
