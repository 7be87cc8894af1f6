//! The connection that a request goes over: whether it was used before, and whether it was closed before anything of an
//! answer came.

use std::cell::Cell;
use std::error::Error as StdError;
use std::io;
use std::task::{Context, Poll};

use reqwest::{RequestBuilder, Response};
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    /// Whether a connection is made for the request that this task sends.
    static CONNECTS: Cell<bool>;
}

/// Why a request got no answer.
pub(super) struct Unanswered {
    /// What went wrong.
    pub(super) error: reqwest::Error,
    /// The request went over a connection that had been used before, and the server closed it: nothing says that the server
    /// is out of order, or that it has seen the request.
    pub(super) is_stale: bool,
}

/// Sends a request of a client that [notes its connections](NoteConnections), and waits for the head of the answer.
pub(super) async fn send(request: RequestBuilder) -> Result<Response, Unanswered> {
    let sent = CONNECTS.scope(Cell::new(false), async {
        let answer = request.send().await;
        (answer, CONNECTS.with(Cell::get))
    });
    let (answer, connects) = sent.await;
    answer.map_err(|error| Unanswered { is_stale: !connects && was_closed(&error), error })
}

/// Whether the connection was closed before the head of an answer was there.
fn was_closed(error: &reqwest::Error) -> bool {
    let mut next = error.source();
    while let Some(cause) = next {
        if cause.downcast_ref::<hyper::Error>().is_some_and(closed_http1)
            || cause.downcast_ref::<h2::Error>().is_some_and(closed_http2)
            || cause.downcast_ref::<io::Error>().is_some_and(|error| closed(error.kind()))
        {
            return true;
        }
        next = cause.source();
    }
    false
}

fn closed_http1(error: &hyper::Error) -> bool {
    error.is_incomplete_message() || error.is_canceled() || error.is_closed()
}

/// The server says so of a request that it has not looked at, or its end is gone.
fn closed_http2(error: &h2::Error) -> bool {
    let unseen = error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && unseen || error.get_io().is_some_and(|error| closed(error.kind()))
}

fn closed(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    [BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof].contains(&kind)
}

/// Notes for [`send`] that a connection is made.
#[derive(Clone)]
pub(super) struct NoteConnections;

impl<S> Layer<S> for NoteConnections {
    type Service = Noting<S>;

    fn layer(&self, connector: S) -> Noting<S> {
        Noting(connector)
    }
}

/// A connector that notes that it was asked.
#[derive(Clone)]
pub(super) struct Noting<S>(S);

impl<S: Service<Request>, Request> Service<Request> for Noting<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> S::Future {
        // Where nobody sends, nobody asks.
        let _ = CONNECTS.try_with(|connects| connects.set(true));
        self.0.call(request)
    }
}
