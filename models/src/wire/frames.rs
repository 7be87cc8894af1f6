//! The frames of a stream: the data of each server-sent event.

use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use holdover_core::model::ModelError;
use reqwest::Response;
use sse_stream::SseByteStream;
use tokio::time::{Instant, timeout_at};

use super::bounds::STREAM_BYTES_MAX;
use super::{cut, malformed, stalled};

/// The frames of one answer, with the stall time-out.
pub(crate) struct Frames {
    inner: SseByteStream<BoxStream<'static, Result<Bytes, Broken>>>,
    stall_timeout: Duration,
    until: Instant,
    begun: bool,
}

/// The reason why the stream of bytes failed.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("the connection failed")]
    Connection(#[source] reqwest::Error),
    #[error("a stream of more than {STREAM_BYTES_MAX} bytes")]
    TooLong,
}

impl Frames {
    pub(super) fn of(response: Response, stall_timeout: Duration) -> Self {
        let mut left = STREAM_BYTES_MAX;
        let bytes = response.bytes_stream().map_err(Broken::Connection).map(move |bytes| {
            let bytes = bytes?;
            left = left.checked_sub(bytes.len()).ok_or(Broken::TooLong)?;
            Ok(bytes)
        });
        let inner = SseByteStream::new(bytes.boxed());
        Self { inner, stall_timeout, until: Instant::now() + stall_timeout, begun: false }
    }

    /// Restarts the stall time-out. Called when the next event is requested.
    pub(super) fn wind(&mut self) {
        self.until = Instant::now() + self.stall_timeout;
    }

    /// Notes that a part of the answer has come.
    pub(super) fn begin(&mut self) {
        self.begun = true;
    }

    /// Returns the data of the next frame that has data, or `None` at the end of the stream. Comments have no data.
    pub(super) async fn next(&mut self) -> Result<Option<String>, ModelError> {
        loop {
            let block = match timeout_at(self.until, self.inner.next()).await {
                Err(_) => return Err(stalled(self.begun)),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(self.broken(&error)),
                Ok(Some(Ok(block))) => block,
            };
            if let Some(data) = block.data.filter(|data| !data.trim().is_empty()) {
                return Ok(Some(data));
            }
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the library's enum: what it adds cannot be read either"
    )]
    fn broken(&self, error: &sse_stream::Error) -> ModelError {
        match error {
            sse_stream::Error::Body(body) => match body.downcast_ref::<Broken>() {
                Some(Broken::Connection(error)) => cut(error, self.begun),
                Some(Broken::TooLong) | None => malformed(body.to_string()),
            },
            sse_stream::Error::Utf8Parse(why) => malformed(format!("the stream is not UTF-8: {why}")),
            other => malformed(other.to_string()),
        }
    }
}
