//! Finds out whether a request used a kept connection, and whether the connection was closed before the answer began.

use std::cell::Cell;
use std::error::Error as StdError;
use std::io;
use std::task::{Context, Poll};

use reqwest::{RequestBuilder, Response};
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    /// True if a new connection is made for the request that this task sends.
    static CONNECTS: Cell<bool>;
}

/// The reason why a request got no answer.
pub(super) struct Unanswered {
    /// The error of the HTTP client.
    pub(super) error: reqwest::Error,
    /// True if the request used a kept connection, and the server closed it or reported that it had not processed the
    /// request. In that case, nothing indicates that the server is out of order or has seen the request.
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

/// Returns true if the connection was closed before the head of an answer came, or if the server reported that it had
/// not processed the request.
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

/// Returns true if the server reports that it has not processed the request, or if the connection is gone.
fn closed_http2(error: &h2::Error) -> bool {
    let unseen = error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && unseen || error.get_io().is_some_and(|error| closed(error.kind()))
}

fn closed(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    [BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof].contains(&kind)
}

/// A layer that notes for [`send`] that a new connection is made.
#[derive(Clone)]
pub(super) struct NoteConnections;

impl<S> Layer<S> for NoteConnections {
    type Service = Noting<S>;

    fn layer(&self, connector: S) -> Noting<S> {
        Noting(connector)
    }
}

/// A connector that notes that it was called.
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
        // Outside of `send`, the flag is not read.
        let _ = CONNECTS.try_with(|connects| connects.set(true));
        self.0.call(request)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use reqwest::Client;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const HEADERS: u8 = 1;
    const RESET: u8 = 3;
    const SETTINGS: u8 = 4;
    const GO_AWAY: u8 = 7;

    /// The length of the preface that begins each HTTP/2 connection, in bytes.
    const PREFACE_BYTES: usize = 24;
    /// The flag that acknowledges a settings frame.
    const ACK: u8 = 1;
    /// The flags that end the headers and the stream.
    const WHOLE: u8 = 5;
    /// The header `:status: 200`, encoded.
    const OK: &[u8] = &[0x88];

    /// The reaction of the server to a request that it does not answer.
    #[derive(Debug, Clone, Copy)]
    enum Instead {
        /// The server sends a GOAWAY frame: it has processed only the requests that it answered.
        GoesAway,
        Resets(h2::Reason),
        /// The server closes the connection and sends nothing.
        Closes,
    }

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        frame
    }

    /// Serves one connection: answers the first `answers` requests, and reacts to the next one with `instead`.
    async fn serve(mut client: TcpStream, answers: u32, instead: Instead) -> std::io::Result<()> {
        client.read_exact(&mut [0; PREFACE_BYTES]).await?;
        client.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
        let mut asked = 0;
        loop {
            let mut head = [0; 9];
            client.read_exact(&mut head).await?;
            let [size @ .., kind, flags, a, b, c, d] = head;
            let bytes = size.into_iter().fold(0, |bytes, byte| bytes << 8 | u64::from(byte));
            tokio::io::copy(&mut (&mut client).take(bytes), &mut tokio::io::sink()).await?;
            let stream = u32::from_be_bytes([a, b, c, d]);
            let said = match kind {
                SETTINGS if flags & ACK == 0 => frame(SETTINGS, ACK, 0, &[]),
                HEADERS if asked < answers => {
                    asked += 1;
                    frame(HEADERS, WHOLE, stream, OK)
                }
                HEADERS => match instead {
                    // Streams of clients have odd numbers.
                    Instead::GoesAway => {
                        let looked_at = (2 * answers).saturating_sub(1);
                        let why = u32::from(h2::Reason::NO_ERROR);
                        frame(GO_AWAY, 0, 0, &[looked_at.to_be_bytes(), why.to_be_bytes()].concat())
                    }
                    Instead::Resets(why) => frame(RESET, 0, stream, &u32::from(why).to_be_bytes()),
                    Instead::Closes => return Ok(()),
                },
                _ => continue,
            };
            client.write_all(&said).await?;
        }
    }

    /// Returns true if the unanswered request is reported as stale.
    async fn is_stale(answers: u32, instead: Instead) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, answers, instead));
            }
        });
        crate::wire::http::choose_cryptography();
        let client = Client::builder()
            .http2_prior_knowledge()
            .no_proxy()
            .connector_layer(NoteConnections)
            .retry(reqwest::retry::never());
        let client = client.build().unwrap();
        for _ in 0..answers {
            assert!(send(client.post(&url)).await.is_ok_and(|answer| answer.status().is_success()));
        }
        send(client.post(&url)).await.err().unwrap().is_stale
    }

    #[tokio::test]
    async fn a_kept_http2_connection_is_stale_where_the_server_has_not_looked_at_the_request() {
        for instead in [Instead::GoesAway, Instead::Resets(h2::Reason::REFUSED_STREAM), Instead::Closes] {
            assert!(is_stale(1, instead).await, "{instead:?}");
            assert!(!is_stale(0, instead).await, "on a fresh connection: {instead:?}");
        }
        for why in [h2::Reason::INTERNAL_ERROR, h2::Reason::ENHANCE_YOUR_CALM] {
            assert!(!is_stale(1, Instead::Resets(why)).await, "it has looked at it: {why:?}");
        }
    }
}
