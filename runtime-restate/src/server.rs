//! The HTTP/2 server at which Restate calls the handlers.

use std::io;
use std::time::Duration;

use holdover_runtime_local::CancellationToken;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use restate_sdk::endpoint::Endpoint;
use restate_sdk::hyper::HyperEndpoint;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The pause after a connection could not be accepted, for example because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A connection is closed if Restate does not answer a ping, for example because its machine is gone.
const PING_EVERY: Duration = Duration::from_secs(40);
const PING_WITHIN: Duration = Duration::from_secs(20);

/// The time for answers that are ready when the runs have ended.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Serves connections until `shutdown` is cancelled. Then accepts none, tells Restate to use others, and waits for
/// `leave`, which ends the runs. After it, open calls have a few seconds to answer.
pub(crate) async fn serve(
    listener: TcpListener,
    endpoint: Endpoint,
    shutdown: CancellationToken,
    leave: impl Future<Output = usize>,
) -> usize {
    let endpoint = HyperEndpoint::new(endpoint);
    let graceful = GracefulShutdown::new();
    // Dropped at the end, with the connections that are left.
    let mut connections = JoinSet::new();
    while let Some(accepted) = shutdown.run_until_cancelled(accept(&listener)).await {
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok(stream) => {
                let mut http = http2::Builder::new(TokioExecutor::new());
                http.timer(TokioTimer::new())
                    .keep_alive_interval(Some(PING_EVERY))
                    .keep_alive_timeout(PING_WITHIN);
                let served = http.serve_connection(TokioIo::new(stream), endpoint.clone());
                let served = graceful.watch(served);
                connections.spawn(async move {
                    if let Err(error) = served.await {
                        tracing::debug!(%error, "a connection of Restate broke");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection of Restate was not accepted");
                shutdown.run_until_cancelled(tokio::time::sleep(ACCEPT_PAUSE)).await;
            }
        }
    }
    drop(listener);
    let closed = graceful.shutdown();
    let mut closed = std::pin::pin!(closed);
    // Polled meanwhile, so that Restate learns at once that it should use other connections.
    let (left, all_closed) = {
        let mut leave = std::pin::pin!(leave);
        tokio::select! {
            left = &mut leave => (left, false),
            () = &mut closed => (leave.await, true),
        }
    };
    if !all_closed && tokio::time::timeout(LAST_ANSWERS, closed).await.is_err() {
        tracing::warn!("Restate did not take the last answers in time");
    }
    left
}

async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
