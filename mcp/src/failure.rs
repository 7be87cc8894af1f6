//! Describes errors between client and server without the types of a library.

use std::error::Error;
use std::io;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::connection::one_line;
use crate::server::McpServer;

/// The text for an answer that does not follow the protocol.
const NO_SERVER: &str = "it answers, but not as an MCP server does";

/// The maximum number of characters of a server's message that are shown.
const SAID_MAX: usize = 200;

/// Returns the name of the server's program, or its URL without the parts that may hold a secret.
pub(crate) fn place(server: &McpServer) -> String {
    let Some(url) = &server.url else {
        return format!("program {:?}", server.command.first().map(String::as_str).unwrap_or_default());
    };
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// Describes the reason why a connection to a server could not be opened.
pub(crate) fn of_beginning(server: &McpServer, error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => of_transport(server, error),
        ClientInitializeError::ConnectionClosed(_) => closed(server),
        ClientInitializeError::JsonRpcError(refusal) => refuses(&refusal.message),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<&str> = server_supported.iter().map(|version| version.as_str()).collect();
            format!("it speaks other versions of MCP: {}", versions.join(", "))
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => of_beginning(server, fallback),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(_, _)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => NO_SERVER.to_owned(),
        ClientInitializeError::NoPreferredProtocolVersion | ClientInitializeError::Cancelled | _ => {
            error.to_string()
        }
    }
}

/// Describes the reason why a request got no result.
pub(crate) fn of_request(server: &McpServer, error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(refusal) => refuses(&refusal.message),
        ServiceError::TransportSend(error) => of_transport(server, error),
        ServiceError::TransportClosed => closed(server),
        ServiceError::UnexpectedResponse => NO_SERVER.to_owned(),
        ServiceError::SubscriptionLagged { .. }
        | ServiceError::Cancelled { .. }
        | ServiceError::Timeout { .. }
        | ServiceError::InputRequiredRoundsExceeded { .. }
        | _ => error.to_string(),
    }
}

fn refuses(why: &str) -> String {
    format!("it refuses: {}", cut(why))
}

fn closed(server: &McpServer) -> String {
    match server.url {
        Some(_) => "it closed the connection before it answered".to_owned(),
        None => "it ended, or closed its output, before it answered".to_owned(),
    }
}

fn of_transport(server: &McpServer, error: &DynamicTransportError) -> String {
    let first: &(dyn Error + 'static) = error.error.as_ref();
    let known = causes(first).find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            return Some(of_http(server, error));
        }
        cause.downcast_ref::<io::Error>().map(|error| of_stream(server, error))
    });
    known.unwrap_or_else(|| root(first))
}

fn of_stream(server: &McpServer, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::BrokenPipe { closed(server) } else { of_io(error) }
}

fn of_http(server: &McpServer, error: &StreamableHttpError<reqwest::Error>) -> String {
    match error {
        StreamableHttpError::Client(error) if error.is_timeout() => "it was silent for too long".to_owned(),
        StreamableHttpError::Client(error) if error.is_connect() => {
            format!("it could not be reached: {}", root(error))
        }
        StreamableHttpError::Client(error) => format!("the request failed: {}", root(error)),
        StreamableHttpError::HttpStatus(answer) => format!("it answers HTTP {}", answer.status),
        StreamableHttpError::UnexpectedServerResponse(answer) if answer.starts_with("HTTP ") => {
            format!("it answers {}", cut(answer))
        }
        StreamableHttpError::UnexpectedContentType(Some(kind)) => format!("{NO_SERVER}: with {}", cut(kind)),
        StreamableHttpError::UnexpectedServerResponse(_)
        | StreamableHttpError::UnexpectedContentType(None)
        | StreamableHttpError::Deserialize(_) => NO_SERVER.to_owned(),
        StreamableHttpError::AuthRequired(_) if server.bearer_env.is_some() => {
            "it does not take the token of bearer_env".to_owned()
        }
        StreamableHttpError::AuthRequired(_) => {
            "it wants a token; name its variable in bearer_env".to_owned()
        }
        StreamableHttpError::InsufficientScope(_) => "the token of bearer_env does not allow it".to_owned(),
        StreamableHttpError::TransportChannelClosed | StreamableHttpError::UnexpectedEndOfStream => {
            closed(server)
        }
        StreamableHttpError::Sse(_)
        | StreamableHttpError::Io(_)
        | StreamableHttpError::ServerDoesNotSupportSse
        | StreamableHttpError::ServerDoesNotSupportDeleteSession
        | StreamableHttpError::TokioJoinError(_)
        | StreamableHttpError::MissingSessionIdInResponse
        | StreamableHttpError::ReservedHeaderConflict(_)
        | StreamableHttpError::ResponseBodyTooLarge { .. }
        | StreamableHttpError::SessionExpired
        | StreamableHttpError::SessionRecoveryTimeout
        | StreamableHttpError::ReinitializationFailed(_)
        | StreamableHttpError::ControlRequestTimeout
        | _ => root(error),
    }
}

/// Iterates over an error and its causes, starting with the error itself.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |cause| (**cause).source())
}

/// Describes the innermost cause of an error.
fn root(error: &(dyn Error + 'static)) -> String {
    let last = causes(error).last().unwrap_or(error);
    match last.downcast_ref::<io::Error>() {
        Some(error) => of_io(error),
        None => cut(&last.to_string()),
    }
}

/// Describes an error of the operating system, without its number.
pub(crate) fn of_io(error: &io::Error) -> String {
    let said = error.to_string();
    said.split(" (os error ").next().unwrap_or_default().to_owned()
}

/// Returns the beginning of a text from a server, as one line.
fn cut(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(SAID_MAX) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}
