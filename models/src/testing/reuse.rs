//! Tests of requests over a connection that the server has just closed, for the adapters of all APIs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdover_core::model::{ModelErrorKind, ModelEvent};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::server::read_request;
use super::{Open, ask, one_error, request, settings, user};

/// The maximum number of requests that may use new connections before one uses a kept connection.
const REQUESTS_MAX: usize = 1000;

/// The way in which a server closes a connection after reading a request.
#[derive(Debug, Clone, Copy)]
enum Closes {
    /// With a clean end of the connection.
    Cleanly,
    /// With a reset, like a server that has crashed.
    WithReset,
}

/// Tests every way to close a connection with the adapter that `open` makes. `whole` is a stream with a complete
/// answer.
pub(crate) async fn check(open: Open, whole: &str) {
    for closes in [Closes::Cleanly, Closes::WithReset] {
        a_used_connection(open, whole, closes).await;
        a_used_connection_and_then_every_other(open, whole, closes).await;
        a_fresh_connection(open, closes).await;
    }
}

/// The counts of the requests that the server received.
#[derive(Default)]
struct Counts {
    requests: AtomicUsize,
    /// Requests over a connection that had served another request before.
    reused: AtomicUsize,
    /// Requests after which the server closed the connection without an answer.
    unanswered: AtomicUsize,
}

impl Counts {
    fn reused(&self) -> usize {
        self.reused.load(Ordering::SeqCst)
    }

    fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::SeqCst)
    }
}

/// A function that decides whether the server answers, by the number of requests that the connection has served and by
/// the counts so far.
type Answers = fn(served: usize, counts: &Counts) -> bool;

/// Starts a server that keeps its connections open. If `answers` returns false, it closes the connection instead of
/// answering.
async fn serve(whole: &str, closes: Closes, answers: Answers) -> (String, Arc<Counts>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let counts = Arc::new(Counts::default());
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{whole}",
        whole.len()
    );
    let seen = Arc::clone(&counts);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (seen, reply) = (Arc::clone(&seen), reply.clone());
            tokio::spawn(async move {
                for served in 0.. {
                    if read_request(&mut socket).await.is_none() {
                        return;
                    }
                    seen.requests.fetch_add(1, Ordering::SeqCst);
                    seen.reused.fetch_add(usize::from(served > 0), Ordering::SeqCst);
                    if !answers(served, &seen) {
                        seen.unanswered.fetch_add(1, Ordering::SeqCst);
                        if let Closes::WithReset = closes {
                            socket.set_zero_linger().unwrap();
                        }
                        return;
                    }
                    socket.write_all(reply.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (base_url, counts)
}

/// Tests that a request over a kept connection is sent again at once, and that the caller sees no failure.
async fn a_used_connection(open: Open, whole: &str, closes: Closes) {
    let (base_url, counts) = serve(whole, closes, |served, _| served == 0).await;
    let model = open(settings(&base_url));
    let mut asked = 0;
    while counts.reused() == 0 {
        assert!(asked < REQUESTS_MAX, "no connection is used again");
        let events = ask(&*model, request(vec![user("Hello")])).await;
        assert!(matches!(events.last(), Some(Ok(ModelEvent::Finished(_)))), "{closes:?}: {events:?}");
        asked += 1;
    }
    assert_eq!((counts.unanswered(), counts.requests.load(Ordering::SeqCst)), (1, asked + 1), "{closes:?}");
}

/// Tests that a request is sent again only once.
async fn a_used_connection_and_then_every_other(open: Open, whole: &str, closes: Closes) {
    let (base_url, counts) = serve(whole, closes, |_, counts| counts.reused() == 0).await;
    let model = open(settings(&base_url));
    let failed = async {
        loop {
            let events = ask(&*model, request(vec![user("Hello")])).await;
            if counts.reused() > 0 {
                return events;
            }
            assert!(counts.requests.load(Ordering::SeqCst) < REQUESTS_MAX, "no connection is used again");
        }
    };
    one_error(failed.await, &[], ModelErrorKind::Network);
    assert_eq!(counts.unanswered(), 2, "{closes:?}");
}

/// Tests that a request fails if the server closes a new connection.
async fn a_fresh_connection(open: Open, closes: Closes) {
    let (base_url, counts) = serve("", closes, |_, _| false).await;
    let events = ask(&*open(settings(&base_url)), request(vec![user("Hello")])).await;
    one_error(events, &[], ModelErrorKind::Network);
    assert_eq!(counts.unanswered(), 1, "{closes:?}");
}
