//! Sessions as resources.

use std::num::NonZeroU32;

use axum::http::StatusCode;
use holdover_core::ids::{MessageSeq, SessionId};
use holdover_core::store::{PageRequest, SessionQuery};
use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResponse, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate,
};
use serde::Serialize;

use super::host::Host;
use super::tools::bounded_transcript;
use crate::access::May;
use crate::problem::Problem;
use crate::wire::{Details, SessionView};

const SCHEME: &str = "holdover://sessions/";
const TRANSCRIPT: &str = "/transcript";
const JSON: &str = "application/json";
/// The number of sessions on a page of the list.
const PAGE: NonZeroU32 = NonZeroU32::new(50).unwrap();

/// Lists the sessions of the caller's tenant, newest first.
pub(super) async fn list(host: &Host, cursor: Option<String>) -> Result<ListResourcesResult, Problem> {
    host.caller.needs(May::Read)?;
    let after = cursor.map(|cursor| serde_json::from_value(cursor.into())).transpose();
    let after = after.map_err(|why| Problem::invalid(format!("cursor: {why}")))?;
    let query = SessionQuery {
        page: PageRequest { after, limit: Some(PAGE) },
        ..SessionQuery::all(host.caller.tenant().clone())
    };
    let page = host.desk.runtime.list(&query).await?;
    let resources = page.items.into_iter().map(|session| {
        let id = session.key.id.clone();
        let view = SessionView::from(session);
        Resource::new(format!("{SCHEME}{id}"), id.to_string())
            .with_description(view.described())
            .with_mime_type(JSON)
    });
    let next_cursor = page.next.map(|next| next.to_string());
    Ok(ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources.collect()) })
}

pub(super) fn templates() -> ListResourceTemplatesResult {
    let session = ResourceTemplate::new(format!("{SCHEME}{{id}}"), "session")
        .with_title("Session")
        .with_description("A session: its status, its result, and the calls that wait for an answer.")
        .with_mime_type(JSON);
    let transcript = ResourceTemplate::new(format!("{SCHEME}{{id}}{TRANSCRIPT}"), "transcript")
        .with_title("Transcript of a session")
        .with_description(
            "The messages of a session, oldest first. read_transcript reads on if there are more.",
        )
        .with_mime_type(JSON);
    ListResourceTemplatesResult::with_all_items(vec![session, transcript])
}

pub(super) async fn read(host: &Host, uri: &str) -> Result<ReadResourceResponse, Problem> {
    host.caller.needs(May::Read)?;
    let unknown = || Problem::not_found("no_resource", format!("{uri:?}: there is no such resource"));
    let id = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
    let (id, transcript) = id.strip_suffix(TRANSCRIPT).map_or((id, false), |id| (id, true));
    let key = host.caller.key(SessionId::new(id).map_err(|_| unknown())?);
    let runtime = &host.desk.runtime;
    let text = if transcript {
        json(bounded_transcript(runtime, &key, MessageSeq(0), None).await?)
    } else {
        json(Details::read(runtime, &key).await?)
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(JSON)]).into())
}

/// Returns the JSON of a view. All maps in views have text keys, so they can be written.
fn json(view: impl Serialize) -> String {
    serde_json::to_string(&view).unwrap_or_default()
}

/// Returns a problem as an error of the protocol.
pub(super) fn error(problem: &Problem) -> ErrorData {
    let line = problem.line();
    match problem.status() {
        StatusCode::NOT_FOUND => ErrorData::resource_not_found(line, None),
        StatusCode::UNPROCESSABLE_ENTITY => ErrorData::invalid_params(line, None),
        status if status.is_server_error() => ErrorData::internal_error(line, None),
        _ => ErrorData::invalid_request(line, None),
    }
}
