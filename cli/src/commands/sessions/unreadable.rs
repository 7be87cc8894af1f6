//! `sessions show` of a session that this program cannot read: what is known of it, and its dead letter.

use holdover_core::phrases;
use holdover_core::store::Session;
use holdover_runtime_local::{RuntimeError, agent_label};
use serde_json::json;

use crate::exit::Failure;
use crate::front::Front;
use crate::owed::Debt;
use crate::print::{debts, inline, instant, json as print};

/// Shows a session that was set aside because its state cannot be read, with the letters that it left. Returns the error
/// if it has no letter: then it is left to other programs.
pub(super) fn show(
    front: &Front,
    session: &Session,
    error: RuntimeError,
    letters: &[Debt],
) -> Result<(), Failure> {
    if letters.is_empty() {
        return Err(error.into());
    }
    let agent = agent_label(&session.queue, &session.labels);
    front.out.object(&json!({
        "session": session.key.id,
        "status": session.status,
        "unreadable": error.to_string(),
        "agent": agent,
        "queue": session.queue,
        "labels": session.labels,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "alarm": session.alarm,
        "messages": session.last_message,
        "unread": session.unread,
        "dead_letters": letters.iter().map(print::debt).collect::<Vec<_>>(),
    }));
    let row = |name: &str, value: &str| front.out.line(format!("{name:<9} {}", inline(value)));
    row("session", session.key.id.as_str());
    row("status", &format!("{} (dead letter)", phrases::status(session.status)));
    row("state", &format!("it cannot be read: {error}"));
    row("agent", &agent);
    row("created", &instant(session.created_at));
    row("updated", &instant(session.updated_at));
    row("messages", &session.last_message.to_string());
    row("unread", &session.unread.to_string());
    debts::all(&front.out, &session.key.id, letters, front.runtime.now());
    Ok(())
}
