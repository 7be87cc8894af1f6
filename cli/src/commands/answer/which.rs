//! Which calls the words of a command line name.

use holdover_core::ids::SessionId;
use holdover_core::store::{PendingCall, PendingKind, Session};

use crate::exit::Failure;
use crate::front::Front;
use crate::owed::all_pending;

/// A call of a session that is answered.
pub(super) struct Asked {
    /// The session, as it was before.
    pub(super) session: Session,
    /// The call, by its own id or that of the question.
    pub(super) call: String,
}

/// What `which` names: a session and calls of it (the one that waits, if none is named), or questions of any
/// sessions by their ids. All of them, or why one of them is nothing: then nothing was done yet.
pub(super) async fn asked(front: &Front, which: &[String], kind: PendingKind) -> Result<Vec<Asked>, Failure> {
    let Some((first, calls)) = which.split_first() else { return Ok(Vec::new()) };
    if let Some(session) = existing(front, first).await? {
        let calls = match calls {
            [] => vec![only_call(front, &session, kind).await?],
            calls => calls.to_vec(),
        };
        return Ok(calls.into_iter().map(|call| Asked { session: session.clone(), call }).collect());
    }
    let open = all_pending(front, None).await?;
    let mut asked = Vec::new();
    for id in which {
        let Some(pending) = open.iter().find(|pending| pending.id.as_str() == id) else {
            let line = format!("session {id}: there is no such session, and no call waits under this id");
            return Err(Failure::failed(line));
        };
        let session = front.session(&pending.key.id).await?;
        asked.push(Asked { session, call: id.clone() });
    }
    Ok(asked)
}

async fn existing(front: &Front, word: &str) -> Result<Option<Session>, Failure> {
    // What is no id at all names no session.
    let Ok(id) = SessionId::new(word) else { return Ok(None) };
    Ok(front.runtime.session(&front.key(&id)).await?)
}

/// The one call that waits for such an answer.
async fn only_call(front: &Front, session: &Session, kind: PendingKind) -> Result<String, Failure> {
    let open = all_pending(front, Some(&session.key.id)).await?;
    let waiting: Vec<&PendingCall> =
        open.iter().filter(|pending| pending.answered < pending.needed).collect();
    let fitting: Vec<&str> =
        waiting.iter().filter(|pending| pending.kind == kind).map(|pending| pending.call.as_str()).collect();
    let what = match kind {
        PendingKind::Approval => "approval",
        PendingKind::ClientTool => "an answer",
    };
    let why = match (fitting.as_slice(), waiting.first()) {
        ([call], _) => return Ok((*call).to_owned()),
        ([], None) => format!("no call waits for {what}"),
        ([], Some(other)) => match other.kind {
            PendingKind::Approval => {
                format!("no call waits for {what}; call {} waits for approval", other.call)
            }
            PendingKind::ClientTool => {
                format!("no call waits for {what}; call {} waits for an answer", other.call)
            }
        },
        (calls, _) => format!("{} calls wait for {what}, name one: {}", calls.len(), calls.join(", ")),
    };
    Err(Failure::failed(format!("session {}: {why}", session.key.id)))
}
