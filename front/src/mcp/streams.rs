//! MCP over a pair of streams, such as standard input and output.

use std::sync::Arc;

use holdover_runtime_local::Runtime;
use rmcp::ServiceExt;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};

use super::host::Host;
use crate::access::{Access, Caller, Held};
use crate::desk::Desk;
use crate::options::FrontOptions;

/// The error for a connection over MCP that did not end by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MCP: {0}")]
pub struct McpEnded(String);

/// Answers the requests of one caller over MCP, until the client closes `reader` or the
/// [token](FrontOptions::stop) is cancelled. Runs no sessions; workers do. The [access](FrontOptions::new) of the options is not
/// asked.
///
/// # Errors
/// The client does not speak the protocol, or a task of the connection ended early.
pub async fn serve_mcp<R, W>(
    runtime: Runtime,
    options: FrontOptions,
    caller: Caller,
    reader: R,
    writer: W,
) -> Result<(), McpEnded>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let options = FrontOptions { access: Access::Anyone(caller.clone()), ..options };
    let stop = options.stop.clone();
    let host = Host::new(Arc::new(Desk::new(runtime, options)), caller, Held::nothing(), None);
    let serving = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        serving = host.serve((reader, writer)) => match serving {
            Ok(serving) => serving,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(McpEnded(one_line(&error))),
        },
    };
    let ends = serving.cancellation_token();
    let mut over = std::pin::pin!(serving.waiting());
    let ended = tokio::select! {
        ended = over.as_mut() => ended,
        () = stop.cancelled() => {
            ends.cancel();
            over.await
        }
    };
    match ended {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(McpEnded(one_line(&error))),
        Ok(_) => Ok(()),
    }
}

fn one_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().replace(['\n', '\r'], " ")
}
