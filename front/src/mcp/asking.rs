//! Asks the person at the client for a decision (elicitation).

use std::time::Duration;

use holdover_core::ids::{PendingId, SessionId};
use holdover_core::payload::Digest;
use holdover_runtime_local::PendingEntry;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema, InputRequest, InputRequiredResult, ProtocolVersion, StringSchema,
};
use rmcp::service::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::offer::Call;
use crate::problem::Problem;

/// The time within which a person must answer. After it, the call still waits.
const PERSON_TIME: Duration = Duration::from_secs(10 * 60);
/// The most decisions for which one request asks. Clients give up a request that asks too often.
const ASKED_MAX: u32 = 8;
/// The most bytes of arguments that a form shows. Nobody is asked to approve what is not shown whole.
const ARGUMENTS_BYTES_MAX: usize = 8 << 10;
/// The name of the question in an answer that needs input.
const QUESTION: &str = "decision";

/// A call on which the person at the client was asked to decide. It travels through the client, which may change it: it gives
/// no right that the caller does not have.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// The session that is waited for.
    pub(super) session: SessionId,
    pub(super) pending: PendingId,
    /// The digest of the arguments that the person saw.
    pub(super) digest: Digest,
    /// The number of questions so far.
    pub(super) count: u32,
}

/// The decision of the person at the client.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Verdict {
    pub(super) decision: Word,
    /// The reason.
    #[serde(default)]
    pub(super) reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    Approve,
    Deny,
}

/// What came of a question.
pub(super) enum Answered {
    Decided(Asked, Verdict),
    /// The person did not decide. The call still waits.
    Left,
    /// The client asks the person, and sends the request again with the answer.
    Later(CallToolResponse),
}

/// The way in which a client can be asked.
enum Way {
    /// With a request to the client, while its own request waits.
    Request,
    /// With the answer to its request, which it then repeats. It needs no connection that lasts.
    Result,
}

/// Returns the question that this call answers, with the answer, if it is a repeat.
pub(super) fn repeated(call: &Call) -> Result<Option<(Asked, Option<Verdict>)>, Problem> {
    let Some(state) = &call.request.request_state else { return Ok(None) };
    let asked: Asked =
        serde_json::from_str(state).map_err(|why| Problem::invalid(format!("requestState: {why}")))?;
    let answer = call.request.input_responses.as_ref().and_then(|answers| answers.get(QUESTION));
    let Some(answer) = answer else { return Ok(Some((asked, None))) };
    let answer: ElicitResult = serde_json::from_value(answer.clone())
        .map_err(|why| Problem::invalid(format!("inputResponses: {QUESTION}: {why}")))?;
    Ok(Some((asked, verdict(answer)?)))
}

/// Asks the person at the client for a decision, if the client can and has not asked too often.
pub(super) async fn ask(
    context: &RequestContext<RoleServer>,
    session: &SessionId,
    entry: PendingEntry,
    asked: u32,
) -> Result<Answered, Problem> {
    let Some(way) = way(context).filter(|_| asked < ASKED_MAX) else { return Ok(Answered::Left) };
    let Some(form) = form(&entry) else { return Ok(Answered::Left) };
    let asked = Asked {
        session: session.clone(),
        pending: entry.call.id.clone(),
        digest: entry.body.digest,
        count: asked + 1,
    };
    match way {
        Way::Result => {
            // All maps in it have text keys, so it can be written.
            let state = serde_json::to_string(&asked).unwrap_or_default();
            let question = InputRequest::Elicitation(ElicitRequest::new(form));
            let questions = [(QUESTION.to_owned(), question)].into_iter().collect();
            Ok(Answered::Later(InputRequiredResult::new(Some(questions), Some(state)).into()))
        }
        Way::Request => {
            let answer = tokio::select! {
                answer = context.peer.create_elicitation_with_timeout(form, Some(PERSON_TIME)) => answer,
                () = context.ct.cancelled() => return Ok(Answered::Left),
            };
            match answer {
                Ok(answer) => {
                    Ok(verdict(answer)?.map_or(Answered::Left, |said| Answered::Decided(asked, said)))
                }
                Err(error) => {
                    tracing::debug!(%error, "a person was not asked");
                    Ok(Answered::Left)
                }
            }
        }
    }
}

fn way(context: &RequestContext<RoleServer>) -> Option<Way> {
    let can = context.client_capabilities()?.elicitation?;
    if can.form.is_none() && can.url.is_some() {
        return None;
    }
    let version = context.protocol_version()?;
    // Versions are dates, which compare as texts do.
    let repeats = version.as_str() >= ProtocolVersion::V_2026_07_28.as_str();
    Some(if repeats { Way::Result } else { Way::Request })
}

/// Reads the answer of a person. Returns `None` if it is no decision.
fn verdict(answer: ElicitResult) -> Result<Option<Verdict>, Problem> {
    match answer.action {
        ElicitationAction::Accept => {
            let said: Verdict = serde_json::from_value(answer.content.unwrap_or(Value::Null))
                .map_err(|why| Problem::invalid(format!("the answer of the form: {why}")))?;
            let reason = said.reason.filter(|reason| !reason.trim().is_empty());
            Ok(Some(Verdict { reason, ..said }))
        }
        ElicitationAction::Decline | ElicitationAction::Cancel => Ok(None),
        _ => Ok(None),
    }
}

/// Returns the form for a decision, or `None` if it cannot show the whole arguments.
fn form(entry: &PendingEntry) -> Option<ElicitRequestParams> {
    let body = entry.body.clone().redacted();
    if body.arguments.len() > ARGUMENTS_BYTES_MAX {
        return None;
    }
    let reason = body.prompt.map(|why| format!("\nReason for asking: {}", visible(&why))).unwrap_or_default();
    let message = format!(
        "Session {} asks for an approval.\nTool: {}\nArguments: {}{reason}",
        entry.call.key.id,
        body.tool,
        visible(&body.arguments)
    );
    let choice = EnumSchema::builder(vec!["approve".to_owned(), "deny".to_owned()]).title("Decision").build();
    let why = StringSchema::new().title("Reason").description("The model reads the reason of a denial.");
    let schema = ElicitationSchema::builder()
        .required_enum_schema("decision", choice)
        .string_property("reason", |_| why)
        .build()
        .ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema })
}

/// Shows characters that break lines, are invisible or change the direction of text, so that a text cannot pretend to be another
/// part of the form.
fn visible(text: &str) -> String {
    let hides = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        match hides(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_pretend_to_be_another_line_of_the_form() {
        assert_eq!(visible("ok\nArguments: {}"), "ok\\u{a}Arguments: {}");
        assert_eq!(visible("a\u{202e}b\u{200b}c é 日"), "a\\u{202e}b\\u{200b}c é 日");
    }
}
