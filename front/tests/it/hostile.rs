//! Clients that mean no good, and pages of other sites.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use holdover_front::{Access, Caller, FrontOptions, Guard, Server as Listening, router};
use holdover_runtime_local::{Agents, CancellationToken};
use holdover_store_memory::MemoryStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::bench::{PATIENCE, clerk, runtime, tenant};

/// A server on this machine for one caller, with these bounds. Returns its address, and the token that stops it.
async fn served(server: Listening, guard: Guard) -> (String, CancellationToken) {
    let stop = CancellationToken::new();
    let access = Access::Anyone(Caller::of(tenant("acme")).named("ann"));
    let options = FrontOptions::new(access).agents(Agents::new().with(clerk())).stop(stop.clone());
    let app: Router = guard.layer(router(runtime(MemoryStore::new()), options));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(server.serve(listener, app, stop.clone()));
    (address, stop)
}

/// Sends bytes, and reads until the server closes the connection.
async fn exchange(address: &str, bytes: &[u8]) -> String {
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A connection that the server cuts off may be reset.
    let closed = timeout(PATIENCE, connection.read_to_end(&mut answer)).await;
    assert!(closed.is_ok(), "the server keeps the connection");
    String::from_utf8_lossy(&answer).into_owned()
}

fn request(line: &str, headers: &str) -> Vec<u8> {
    format!("{line} HTTP/1.1\r\n{headers}connection: close\r\n\r\n").into_bytes()
}

#[tokio::test]
async fn a_request_names_a_host_that_is_served() {
    let guard = Guard::this_machine().host("agents.example");
    let (address, stop) = served(Listening::default(), guard).await;
    let port = address.rsplit(':').next().unwrap();
    let cases = [
        (address.clone(), 200),
        (format!("localhost:{port}"), 200),
        (format!("LOCALHOST:{port}"), 200),
        ("[::1]:80".to_owned(), 200),
        ("agents.example".to_owned(), 200),
        ("Agents.Example:8443".to_owned(), 200),
        ("evil.example".to_owned(), 403),
        ("localhost.evil.example".to_owned(), 403),
        ("agents.example.evil.example".to_owned(), 403),
        ("127.0.0.1.evil.example".to_owned(), 403),
        ("10.0.0.1".to_owned(), 403),
        (String::new(), 403),
    ];
    for (host, status) in cases {
        let answer = exchange(&address, &request("GET /v1/sessions", &format!("host: {host}\r\n"))).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host:?}: {answer}");
    }
    stop.cancel();
}

#[tokio::test]
async fn pages_of_other_sites_send_nothing() {
    let guard = Guard::this_machine().origin("https://app.example").unwrap();
    let (address, stop) = served(Listening::default(), guard).await;
    let ask = async |line: &str, origin: &str| {
        let headers = format!("host: {address}\r\norigin: {origin}\r\n");
        exchange(&address, &request(line, &headers)).await
    };
    let own = format!("http://{address}");
    for (origin, status) in [
        (own.as_str(), 200),
        ("https://app.example", 200),
        ("https://evil.example", 403),
        ("https://app.example.evil.example", 403),
        ("http://app.example", 403),
        ("null", 403),
    ] {
        let answer = ask("GET /v1/sessions", origin).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{origin}: {answer}");
        let may_read = answer.to_lowercase().contains("access-control-allow-origin: https://app.example");
        assert_eq!(may_read, origin == "https://app.example", "{origin}: {answer}");
    }
    let asked = "access-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n";
    let headers = format!("host: {address}\r\norigin: https://app.example\r\n{asked}");
    let allowed = exchange(&address, &request("OPTIONS /v1/sessions", &headers)).await;
    assert!(allowed.to_lowercase().contains("access-control-allow-headers: authorization"), "{allowed}");
    for wrong in ["", "app.example", "ftp://x", "https://", "https://x/y", "https://*", "https://a b"] {
        assert!(Guard::this_machine().origin(wrong).is_err(), "{wrong:?}");
    }
    stop.cancel();
}

#[tokio::test]
async fn a_slow_head_and_an_unused_connection_are_cut_off() {
    let server = Listening::default().header_time(Duration::from_millis(200));
    let (address, stop) = served(server, Guard::this_machine()).await;
    for begun in [&b""[..], b"GET /v1/health HT", b"GET /v1/health HTTP/1.1\r\nhost: localhost\r\nx-slow: "] {
        let answer = exchange(&address, begun).await;
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let answer = exchange(&address, &request("GET /v1/health", "host: localhost\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stop.cancel();
}

/// The routes here wait for a body as long as it takes, so only the server can end them.
#[tokio::test]
async fn a_slow_body_is_cut_off() {
    let stop = CancellationToken::new();
    let app = Router::new().route("/", post(async |body: Bytes| body.len().to_string()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = Listening::default().body_time(Duration::from_millis(300));
    tokio::spawn(server.serve(listener, app, stop.clone()));
    let head = |length: usize| {
        format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{{"
        )
    };
    assert!(exchange(&address, head(1).as_bytes()).await.starts_with("HTTP/1.1 200 "));
    let answer = exchange(&address, head(1_000).as_bytes()).await;
    assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    // One byte after another does not help.
    let mut drip = TcpStream::connect(&address).await.unwrap();
    drip.write_all(head(1_000_000).as_bytes()).await.unwrap();
    let dripping = async {
        while drip.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(timeout(PATIENCE, dripping).await.is_ok(), "the server keeps a client that never ends its body");
    stop.cancel();
}

#[tokio::test]
async fn a_request_that_names_two_hosts_is_refused() {
    let (address, stop) = served(Listening::default(), Guard::this_machine()).await;
    for (line, headers) in [
        ("GET /v1/sessions", "host: localhost\r\nhost: evil.example\r\n"),
        ("GET http://evil.example/v1/sessions", "host: localhost\r\n"),
        ("GET http://evil.example/v1/sessions", ""),
        ("GET http://localhost/v1/sessions", "host: evil.example\r\n"),
    ] {
        let answer = exchange(&address, &request(line, headers)).await;
        assert!(
            answer.starts_with("HTTP/1.1 403 ") || answer.starts_with("HTTP/1.1 400 "),
            "{line}: {answer}"
        );
    }
    stop.cancel();
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off_and_harms_no_other() {
    let server = Listening::default().stall_time(Duration::from_millis(300)).connections_max(2);
    let (address, stop) = served(server, Guard::this_machine()).await;
    // Requests in a row, whose answers nobody reads, until the server cannot write any more.
    let mut deaf = TcpStream::connect(&address).await.unwrap();
    let line = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let cut = async {
        while deaf.write_all(line).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let others = async {
        for _ in 0..20 {
            let answer = exchange(&address, &request("GET /v1/health", "host: localhost\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        }
    };
    let ((), cut) = tokio::join!(others, timeout(PATIENCE, cut));
    assert!(cut.is_ok(), "the server keeps a client that does not read");
    stop.cancel();
}

#[tokio::test]
async fn connections_beyond_the_most_wait_for_their_turn() {
    let server = Listening::default().connections_max(3);
    let (address, stop) = served(server, Guard::this_machine()).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        // One after another, so that these are the ones that are served.
        let mut connection = TcpStream::connect(&address).await.unwrap();
        connection.write_all(b"GET /v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut begun = [0; 15];
        connection.read_exact(&mut begun).await.unwrap();
        held.push(connection);
    }
    let bytes = request("GET /v1/health", "host: localhost\r\n");
    let mut next = std::pin::pin!(exchange(&address, &bytes));
    assert!(timeout(Duration::from_millis(500), &mut next).await.is_err(), "there are three already");
    held.pop();
    let answer = timeout(PATIENCE, next).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stop.cancel();
}

#[tokio::test]
async fn a_server_that_stops_ends_its_streams_and_returns() {
    let stop = CancellationToken::new();
    let access = Access::Anyone(Caller::of(tenant("acme")));
    let options = FrontOptions::new(access).agents(Agents::new().with(clerk())).stop(stop.clone());
    let app = router(runtime(MemoryStore::new()), options);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = tokio::spawn(Listening::default().serve(listener, app, stop.clone()));
    let body = r#"{"agent":"clerk","message":"hello","session":"s1"}"#;
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    assert!(exchange(&address, head.as_bytes()).await.starts_with("HTTP/1.1 201 "));
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(&request("GET /v1/sessions/s1/events", "host: x\r\n")).await.unwrap();
    let mut begun = [0; 15];
    stream.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200 OK");
    stop.cancel();
    let mut rest = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert!(rest.contains("event: end") && rest.contains(r#""reason":"stopping""#), "{rest}");
    timeout(PATIENCE, serving).await.unwrap().unwrap();
    assert!(TcpStream::connect(&address).await.is_err(), "no connection is taken any more");
}
