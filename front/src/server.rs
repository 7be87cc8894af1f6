//! A server for routers, with bounds that a router cannot have.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::map_request;
use axum::{BoxError, Router};
use hyper::body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};
use tokio_io_timeout::TimeoutWriter;
use tokio_util::sync::CancellationToken;

/// The wait after the system refused a connection, for example because no descriptor is free.
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// A server for HTTP/1.1 without TLS. Put a proxy in front of it where the network is not trusted.
#[derive(Debug, Clone)]
pub struct Server {
    connections_max: usize,
    header_time: Duration,
    body_time: Duration,
    stall_time: Duration,
    last_answers: Duration,
}

impl Default for Server {
    /// At most 4,096 connections; 10 seconds for the head of a request, 30 seconds for its body, 30 seconds for a client that
    /// does not read, and 5 seconds for the last answers.
    fn default() -> Self {
        Self {
            connections_max: 4_096,
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            stall_time: Duration::from_secs(30),
            last_answers: Duration::from_secs(5),
        }
    }
}

impl Server {
    /// Sets the most connections at once. Further ones wait until another is closed.
    #[must_use]
    pub fn connections_max(self, connections_max: usize) -> Self {
        Self { connections_max, ..self }
    }

    /// Sets the time within which the head of a request must come. It also bounds how long an unused connection stays open.
    #[must_use]
    pub fn header_time(self, header_time: Duration) -> Self {
        Self { header_time, ..self }
    }

    /// Sets the time within which the whole body of a request must come, once its head is there.
    #[must_use]
    pub fn body_time(self, body_time: Duration) -> Self {
        Self { body_time, ..self }
    }

    /// Sets the time after which a client that reads nothing of its answer is cut off.
    #[must_use]
    pub fn stall_time(self, stall_time: Duration) -> Self {
        Self { stall_time, ..self }
    }

    /// Answers requests with `router` until `stop` is cancelled. Then takes no more connections, and returns when the answers
    /// that have begun are over, or after a short time.
    ///
    /// The streams of the front end only if its options have [the same token](crate::FrontOptions::stop).
    pub async fn serve(self, listener: TcpListener, router: Router, stop: CancellationToken) {
        let seats = Arc::new(Semaphore::new(self.connections_max));
        let body_time = self.body_time;
        let router = router.layer(map_request(move |request: Request| async move {
            request.map(|body| Body::new(InTime { body, ends: Box::pin(sleep(body_time)) }))
        }));
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = accept(&listener, &seats) => accepted,
            };
            let Some((stream, seat)) = accepted else { continue };
            // Finished connections are not kept.
            while connections.try_join_next().is_some() {}
            let connection = self.connection(stream, router.clone(), stop.clone());
            connections.spawn(async move {
                connection.await;
                drop(seat);
            });
        }
        drop(listener);
        let rest = async { while connections.join_next().await.is_some() {} };
        if timeout(self.last_answers, rest).await.is_err() {
            tracing::warn!("some requests were not answered");
        }
    }

    fn connection(
        &self,
        stream: TcpStream,
        router: Router,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + Send + 'static {
        let mut writes = TimeoutWriter::new(stream);
        writes.set_timeout(Some(self.stall_time));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.header_time);
        let io = TokioIo::new(Box::pin(writes));
        let connection = http.serve_connection(io, TowerToHyperService::new(router));
        async move {
            let mut connection = std::pin::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
        }
    }
}

/// Accepts a connection once one may be open, with the right to it.
async fn accept(
    listener: &TcpListener,
    seats: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    // The semaphore is never closed.
    let seat = Arc::clone(seats).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Events are small, and are to come at once.
            let _ = stream.set_nodelay(true);
            Some((stream, seat))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection was not accepted");
            sleep(AFTER_REFUSAL).await;
            None
        }
    }
}

/// The body of a request that must come in time.
struct InTime {
    body: Body,
    ends: Pin<Box<Sleep>>,
}

impl HttpBody for InTime {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { body, ends } = &mut *self;
        match Pin::new(body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(Into::into))),
            Poll::Pending => {
                ends.as_mut().poll(cx).map(|()| Some(Err("the body did not come in time".into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
