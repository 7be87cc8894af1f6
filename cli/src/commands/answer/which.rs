//! Finds the calls that the words of a command line name.

use holdover_core::ids::{CallId, Incarnation, PendingId, SessionId, SessionKey};
use holdover_core::phrases;
use holdover_core::store::{Labels, PendingCall, PendingKind, Session, SessionQuery};

use crate::exit::Failure;
use crate::front::{Front, check_decoded};
use crate::owed::{all_pending, reads_like_an_asking};

/// A call of a session that will be answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// The session to continue, as it was before the answer: the named session, else the root of the tree that waits
    /// for the answer, else the session of the call.
    pub(super) session: Session,
    pub(super) asker: SessionKey,
    pub(super) call: String,
    /// The pending call that is answered. `None` if the call has no open pending call and the command line names none.
    pub(super) pending: Option<PendingId>,
}

impl Asked {
    fn open(session: &Session, open: &PendingCall) -> Self {
        Self {
            session: session.clone(),
            asker: open.key.clone(),
            call: open.call.to_string(),
            pending: Some(open.id.clone()),
        }
    }
}

/// Returns the calls that `which` names, each once: a session and calls of it (the only waiting call, if none is
/// named), or pending calls of any sessions by their ids, open or closed. A word in the form of a pending call's id
/// never names a session. Returns all calls or an error; in either case, nothing was done yet.
pub(super) async fn asked(front: &Front, which: &[String], kind: PendingKind) -> Result<Vec<Asked>, Failure> {
    let Some((first, calls)) = which.split_first() else { return Ok(Vec::new()) };
    let named = match existing(front, first).await? {
        Some(session) => of_session(front, &session, calls, kind).await?,
        None => of_any_session(front, which).await?,
    };
    let mut asked: Vec<Asked> = Vec::new();
    for one in named {
        let is_same = |known: &Asked| {
            (&known.asker, &known.call, &known.pending) == (&one.asker, &one.call, &one.pending)
        };
        if !asked.iter().any(is_same) {
            asked.push(one);
        }
    }
    Ok(asked)
}

async fn existing(front: &Front, word: &str) -> Result<Option<Session>, Failure> {
    if reads_like_an_asking(word) {
        return Ok(None);
    }
    // A word that is not a valid id names no session.
    let Ok(id) = word.parse::<SessionId>() else { return Ok(None) };
    let session = front.runtime.session(&front.key(&id)).await?;
    session.as_ref().map_or(Ok(()), check_decoded)?;
    Ok(session)
}

async fn of_session(
    front: &Front,
    session: &Session,
    calls: &[String],
    kind: PendingKind,
) -> Result<Vec<Asked>, Failure> {
    let open = all_pending(front, Some(&session.key.id)).await?;
    if calls.is_empty() {
        return Ok(vec![Asked::open(session, only_call(session, &open, kind)?)]);
    }
    let mut named = Vec::new();
    for word in calls {
        named.push(call_of(front, session, &open, word).await?);
    }
    Ok(named)
}

/// Returns the call that `word` names: a call of the session by its id, or a pending call of the session or its
/// children by the pending id. Calls of different sessions may have the same id.
async fn call_of(
    front: &Front,
    session: &Session,
    open: &[PendingCall],
    word: &str,
) -> Result<Asked, Failure> {
    let is_own = |open: &&PendingCall| open.key == session.key && open.call.as_str() == word;
    if let Some(open) = open.iter().find(|open| open.id.as_str() == word).or_else(|| open.iter().find(is_own))
    {
        return Ok(Asked::open(session, open));
    }
    let pending = PendingId::new(word).ok().filter(|id| life_and_call(id, session).is_some());
    if pending.is_none()
        && let Some(closed) = asking(front, word).await?
        && is_below(front, &closed.asker, session).await?
    {
        return Ok(Asked { session: session.clone(), ..closed });
    }
    let call = pending.as_ref().and_then(|id| life_and_call(id, session));
    Ok(Asked {
        session: session.clone(),
        asker: session.key.clone(),
        call: call.map_or_else(|| word.to_owned(), |call| call.to_string()),
        pending,
    })
}

/// Returns true if a session belongs to the tree of `root`, according to its labels.
async fn is_below(front: &Front, key: &SessionKey, root: &Session) -> Result<bool, Failure> {
    let session = front.runtime.session(key).await?;
    let of = session.as_ref().and_then(|session| session.labels.0.get(Labels::ROOT));
    Ok(of.is_some_and(|of| of == root.key.id.as_str()))
}

/// Returns the call to which a pending call of this session belongs, or `None` for a pending call of another session.
fn life_and_call(id: &PendingId, session: &Session) -> Option<CallId> {
    id.parts().filter(|(life, _)| *life == session.incarnation).map(|(_, call)| call)
}

async fn of_any_session(front: &Front, which: &[String]) -> Result<Vec<Asked>, Failure> {
    let mut asked = Vec::new();
    for word in which {
        match asking(front, word).await? {
            Some(one) => asked.push(one),
            None => return Err(nothing(front, word).await),
        }
    }
    Ok(asked)
}

/// Describes the reason why `word` names nothing.
async fn nothing(front: &Front, word: &str) -> Failure {
    let no_asking = "no pending call has this id";
    if !reads_like_an_asking(word) {
        return Failure::failed(format!("session {word}: there is no such session, and {no_asking}"));
    }
    let session = match word.parse::<SessionId>() {
        Ok(id) => front.runtime.session(&front.key(&id)).await.ok().flatten(),
        Err(_) => None,
    };
    let hint = session.map_or(String::new(), |_| {
        format!(
            "; a session is called so: name its pending calls by their ids (holdover sessions pending {word})"
        )
    });
    Failure::failed(format!("pending call {word}: {no_asking}{hint}"))
}

/// Returns the pending call with this id, open or closed, if its session still exists. The id contains the incarnation
/// of the session.
async fn asking(front: &Front, word: &str) -> Result<Option<Asked>, Failure> {
    let Ok(id) = PendingId::new(word) else { return Ok(None) };
    let Some((life, call)) = id.parts() else { return Ok(None) };
    let Some(asker) = session_of(front, life).await? else { return Ok(None) };
    let (asker, session) = (asker.key.clone(), root_of(front, asker, &id).await?);
    Ok(Some(Asked { session, asker, call: call.to_string(), pending: Some(id) }))
}

/// Returns the root of the tree that waits for this answer of `session`, or the session itself if no tree waits.
async fn root_of(front: &Front, session: Session, pending: &PendingId) -> Result<Session, Failure> {
    let Some(root) = session.labels.0.get(Labels::ROOT).and_then(|id| SessionId::new(id).ok()) else {
        return Ok(session);
    };
    let Some(root) = front.runtime.session(&front.key(&root)).await? else { return Ok(session) };
    let open = all_pending(front, Some(&root.key.id)).await?;
    Ok(if open.iter().any(|open| open.id == *pending) { root } else { session })
}

/// Returns the session of the tenant with this incarnation.
pub(crate) async fn session_of(front: &Front, life: Incarnation) -> Result<Option<Session>, Failure> {
    let mut query = SessionQuery { life: Some(life), ..SessionQuery::all(front.tenant().clone()) };
    loop {
        let page = front.store.list_sessions(&query).await?;
        if let Some(found) = page.items.first() {
            return Ok(front.runtime.session(&found.key).await?);
        }
        match page.next {
            Some(next) => query.page.after = Some(next),
            None => return Ok(None),
        }
    }
}

/// Returns the only call that waits for an answer of this kind.
fn only_call<'a>(
    session: &Session,
    open: &'a [PendingCall],
    kind: PendingKind,
) -> Result<&'a PendingCall, Failure> {
    let waiting: Vec<&PendingCall> =
        open.iter().filter(|pending| pending.answered < pending.needed).collect();
    let fitting: Vec<&PendingCall> = waiting.iter().copied().filter(|pending| pending.kind == kind).collect();
    let what = phrases::pending(&kind);
    let why = match (fitting.as_slice(), waiting.first()) {
        ([only], _) => return Ok(only),
        ([], None) => format!("no call waits for {what}"),
        ([], Some(other)) => {
            format!(
                "no call waits for {what}; call {} waits for {}",
                other.call,
                phrases::pending(&other.kind)
            )
        }
        (calls, _) => {
            let name = |pending: &&PendingCall| match pending.key == session.key {
                true => pending.call.to_string(),
                // A call of a child may have the same id as a call of the session.
                false => pending.id.to_string(),
            };
            let names: Vec<String> = calls.iter().map(name).collect();
            format!("{} calls wait for {what}, name one: {}", calls.len(), names.join(", "))
        }
    };
    Err(Failure::failed(format!("session {}: {why}", session.key.id)))
}
