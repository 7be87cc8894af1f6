//! A summariser of results outside of this process.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use super::{IN_SHORT_MS_MAX, ResultSummariser};
use crate::words::error::ErrorInfo;
use crate::words::hook::{Answer, Carrier, request};
use crate::words::ids::SessionKey;
use crate::words::message::ToolResult;

/// The point that a request for a summary of a result names.
pub const SUMMARISE_RESULT: &str = "summarise_result";

/// A summariser of results outside of this process, such as a program or a server. It is asked in the format of
/// [`OutsideHook`](crate::words::hook::OutsideHook), at the point [`SUMMARISE_RESULT`]: the request has the session and
/// the whole result, as it is stored. The answer is an object with one field, `text`. An empty answer means that there is
/// no summary.
pub struct OutsideSummariser<C> {
    carrier: C,
}

#[derive(Serialize)]
struct Asked<'a> {
    session: &'a SessionKey,
    result: &'a ToolResult,
}

impl<C: Carrier> OutsideSummariser<C> {
    /// Creates a summariser whose requests this carrier carries.
    pub fn new(carrier: C) -> Self {
        Self { carrier }
    }
}

impl<C> fmt::Debug for OutsideSummariser<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutsideSummariser").finish_non_exhaustive()
    }
}

#[async_trait]
impl<C: Carrier> ResultSummariser for OutsideSummariser<C> {
    async fn summarise(&self, session: &SessionKey, result: &ToolResult) -> Result<String, ErrorInfo> {
        let asked = async {
            let request = request(SUMMARISE_RESULT, None, Asked { session, result })?;
            let answer = self.carrier.carry(request, Duration::from_millis(IN_SHORT_MS_MAX)).await?;
            Answer::read(&answer)?.map_or(Ok(String::new()), Answer::text)
        };
        asked.await.map_err(|error| ErrorInfo::new("summary.not_made", error.0))
    }
}
